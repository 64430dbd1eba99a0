//! What the host costs beside the GPU: a step's bookkeeping, pauses, a freeze.

use super::error::{ConfigError, seconds, share, within};
use serde::{Deserialize, Serialize};

/// The host beside the GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// Time of a step a sequence in it, seconds; adds to `host_seconds`.
    pub sequence_seconds: f64,
    /// By how much the first step after the engine had nothing to do takes longer, seconds: its process is woken, caches
    /// and clocks are cold, those of the processes before it too.
    pub wake_seconds: f64,
    /// What all host time of a step is multiplied by: a throttled CPU, a noisy neighbour, a slow driver.
    pub slowness: f64,
    /// Pauses of the whole engine process: garbage collection, scrapes, jobs, rebalances.
    pub pauses: Vec<Pause>,
    /// Whether the engine's process stands still: no step begins.
    pub frozen: bool,
}

/// Pauses that come back on one clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// On which clock.
    pub clock: PauseClock,
    /// Length of the first pause, seconds.
    pub seconds: f64,
    /// By how much each pause is longer than the one before, seconds.
    #[serde(default)]
    pub growth_seconds: f64,
    /// Spread of the intervals on the clock, as a share of the period.
    #[serde(default)]
    pub jitter: f64,
}

/// What is counted between two pauses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseClock {
    /// Seconds on the wall: a scrape, a cron job, a probe.
    Wall(f64),
    /// Steps of the engine: a rebalance of experts, a sweep.
    Steps(u32),
    /// Requests taken in: what allocations trigger, such as a collection of the oldest generation.
    Requests(u32),
}

impl Default for Host {
    fn default() -> Self {
        Self { sequence_seconds: 0.0, wake_seconds: 0.0, slowness: 1.0, pauses: Vec::new(), frozen: false }
    }
}

impl Host {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        seconds("host.sequence_seconds", self.sequence_seconds)?;
        seconds("host.wake_seconds", self.wake_seconds)?;
        within("host.slowness", self.slowness, 1e-3, 1e4, "0.001 to 10000")?;
        for pause in &self.pauses {
            seconds("host.pauses.seconds", pause.seconds)?;
            seconds("host.pauses.growth_seconds", pause.growth_seconds)?;
            share("host.pauses.jitter", pause.jitter)?;
            match pause.clock {
                PauseClock::Wall(period) => within("host.pauses.clock.wall", period, 1e-3, 1e6, "0.001 to 1e6 s")?,
                PauseClock::Steps(every) => within("host.pauses.clock.steps", every, 1, u32::MAX, "1 or more")?,
                PauseClock::Requests(every) => within("host.pauses.clock.requests", every, 1, u32::MAX, "1 or more")?,
            }
        }
        Ok(())
    }
}
