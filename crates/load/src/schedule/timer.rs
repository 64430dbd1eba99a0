//! Waking an event loop at absolute times, to a few microseconds.
//!
//! A poll's own time-out counts milliseconds on Linux, so each send would be up to one late by construction. There a
//! timerfd on the monotonic clock wakes the loop; it is armed with absolute times, so lateness never adds up. Elsewhere
//! the poll's time-out has to do.

pub(crate) use system::Timer;

#[cfg(target_os = "linux")]
mod system {
    use mio::{Interest, Registry, Token, unix::SourceFd};
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };
    use std::{
        io,
        os::fd::{AsRawFd, OwnedFd},
        time::Duration,
    };

    /// A timerfd in the loop's poll.
    #[derive(Debug)]
    pub(crate) struct Timer {
        descriptor: OwnedFd,
        /// The time it is set to; `i64::MAX`: none.
        set_ns: i64,
    }

    impl Timer {
        /// A timer that is not set and will wake the poll of `registry` with `token`.
        pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            let descriptor = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            registry.register(&mut SourceFd(&descriptor.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Self { descriptor, set_ns: i64::MAX })
        }

        /// Sees to it that the poll wakes at `at_ns` on the monotonic clock, or earlier where it was set to that; gives
        /// the time-out to poll with.
        pub fn set(&mut self, at_ns: Option<i64>) -> io::Result<Option<Duration>> {
            let Some(at_ns) = at_ns.filter(|at_ns| *at_ns < self.set_ns) else { return Ok(None) };
            self.set_ns = at_ns;
            // Zero would disarm the timer.
            let at_ns = at_ns.max(1);
            let once = Itimerspec {
                it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: Timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 },
            };
            timerfd_settime(&self.descriptor, TimerfdTimerFlags::ABSTIME, &once)?;
            Ok(None)
        }

        /// Takes note that the timer has woken the poll. Its count need not be read: each expiry is an edge of its own.
        pub fn fired(&mut self) {
            self.set_ns = i64::MAX;
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::clock::RunClock;
    use mio::{Registry, Token};
    use std::{io, time::Duration};

    /// The poll's time-out in the place of a timerfd.
    #[derive(Debug)]
    pub(crate) struct Timer(RunClock);

    impl Timer {
        pub fn new(_: &Registry, _: Token) -> io::Result<Self> {
            Ok(Self(RunClock::monotonic()))
        }

        pub fn set(&mut self, at_ns: Option<i64>) -> io::Result<Option<Duration>> {
            let left = |at_ns: i64| u64::try_from(at_ns.saturating_sub(self.0.now_ns())).unwrap_or(0);
            Ok(at_ns.map(|at_ns| Duration::from_nanos(left(at_ns))))
        }

        pub fn fired(&mut self) {}
    }
}
