//! The run's clock: monotonic, with the wall clock beside it.

use firstcheck_model::moment::Moment;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// The monotonic clock counted from the run's start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunClock {
    origin_ns: i64,
}

#[inline]
fn read(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

impl RunClock {
    /// A clock whose moment 0 lies `lead_ns` ahead.
    pub fn starting_in(lead_ns: i64) -> Self {
        Self { origin_ns: read(ClockId::Monotonic) + lead_ns }
    }

    /// The monotonic clock itself.
    #[cfg(not(target_os = "linux"))]
    pub fn monotonic() -> Self {
        Self { origin_ns: 0 }
    }

    /// Nanoseconds since the run's start (negative before it).
    #[inline]
    pub fn now_ns(self) -> i64 {
        read(ClockId::Monotonic) - self.origin_ns
    }

    /// The present moment.
    pub fn now(self) -> Moment {
        Moment::at(self.now_ns())
    }

    /// The clock whose moment 0 is this one's moment `ns`.
    pub fn moved(self, ns: i64) -> Self {
        Self { origin_ns: self.origin_ns.saturating_add(ns) }
    }

    /// The moment of `instant`.
    pub fn moment_of(self, instant: Instant) -> Moment {
        let (now, now_ns) = (Instant::now(), self.now_ns());
        let nanoseconds = |d: Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
        let ago = nanoseconds(now.saturating_duration_since(instant));
        let ahead = nanoseconds(instant.saturating_duration_since(now));
        Moment::at(now_ns - ago + ahead)
    }

    /// The system's monotonic time of `ns` on this clock, for absolute timers.
    pub fn monotonic_ns(self, ns: i64) -> i64 {
        self.origin_ns.saturating_add(ns)
    }

    /// Unix time of the run's start, by the wall clock as it goes now.
    ///
    /// The wall clock is steered while the monotonic one runs on, so stamps of the wall clock are mapped by a fresh
    /// reading. Of three readings the one taken in the shortest time is used.
    pub fn origin_unix_ns(self) -> i64 {
        let readings = (0..3).map(|_| {
            let before = self.now_ns();
            let wall = read(ClockId::Realtime);
            let after = self.now_ns();
            (after - before, wall - (before + after) / 2)
        });
        readings.min().map_or(0, |(_, origin)| origin)
    }
}
