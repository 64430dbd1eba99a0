//! CPU time, and which core a process runs on.

use rustix::{
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
    time::{ClockId, clock_gettime},
};
use std::time::Duration;

/// CPU time of this process, user and system, all its threads.
pub fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Binds this process to the `nth` of the cores it may use; with one core alone nothing is bound.
pub fn pin(nth: usize) -> std::io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if let Some(core) = cores.get(nth).filter(|_| cores.len() > 1) {
        let mut only = CpuSet::new();
        only.set(*core);
        sched_setaffinity(None, &only)?;
    }
    Ok(())
}

/// What one client achieved in its window.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Figures {
    /// Events received in the window.
    pub events: u64,
    pub elapsed: Duration,
    /// CPU used in the window.
    pub cpu: Duration,
    /// Median gap between tokens, seconds.
    pub itl_p50: Option<f64>,
    /// Median time to the first token, seconds.
    pub ttft_p50: Option<f64>,
    pub notes: String,
}

impl Figures {
    /// CPU microseconds an event.
    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.events as f64
    }

    /// Events a CPU second.
    pub fn per_cpu_second(&self) -> f64 {
        self.events as f64 / self.cpu.as_secs_f64()
    }
}
