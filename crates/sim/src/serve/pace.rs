//! The engine's clock against real time.

use std::time::{Duration, Instant};

/// Maps engine time to real time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    started: Instant,
    /// Engine seconds a real second; infinite: virtual time.
    scale: f64,
    most_behind: Duration,
}

impl Pace {
    pub(super) fn new(scale: f64, most_behind: Duration) -> Self {
        Self { started: Instant::now(), scale, most_behind }
    }

    /// Whether only steps move the clock.
    pub(super) fn is_virtual(&self) -> bool {
        self.scale.is_infinite()
    }

    /// Engine time now; `virtual_ns` where only steps move it.
    pub(super) fn now_ns(&self, virtual_ns: i64) -> i64 {
        if self.scale.is_infinite() {
            return virtual_ns;
        }
        let elapsed = self.started.elapsed().as_nanos() as f64 * self.scale;
        // Saturates after centuries.
        elapsed as i64
    }

    /// Waits until engine time `at_ns`. Returns by how much real time was late.
    pub(super) async fn until(&self, at_ns: i64) -> Duration {
        if self.scale.is_infinite() {
            // Lets connections be read and written between two steps.
            tokio::task::yield_now().await;
            return Duration::ZERO;
        }
        let offset = Duration::try_from_secs_f64(at_ns.max(0) as f64 * 1e-9 / self.scale).unwrap_or(Duration::MAX);
        let Some(deadline) = self.started.checked_add(offset) else {
            // Beyond what the system's clock can tell: never.
            return std::future::pending().await;
        };
        let now = Instant::now();
        if deadline > now {
            tokio::time::sleep_until(deadline.into()).await;
        } else {
            tokio::task::yield_now().await;
        }
        Instant::now().saturating_duration_since(deadline)
    }

    /// Where the next step begins after one that was due to end at `end_ns` and was `late`: there, unless the server
    /// cannot keep up at all.
    pub(super) fn resume_ns(&self, end_ns: i64, late: Duration) -> i64 {
        if late > self.most_behind { self.now_ns(end_ns).max(end_ns) } else { end_ns }
    }
}
