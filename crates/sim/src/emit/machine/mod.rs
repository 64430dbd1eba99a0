//! What the machine under the engines says of itself: the pages of the GPU exporter and of the container runtime, and
//! snapshots of the processes' memory.

mod container;
mod gpu;
mod smaps;

pub use smaps::smaps_rollup;

use super::metrics::{EngineLabels, Family, FamilyKind, Sample};
use crate::{config::EngineConfig, emit::stats::Stats};
use firstcheck_model::signal::Part;
use std::borrow::Cow;

/// Gauges that need more than one moment: shares of an interval, integrals.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meter {
    at_ns: i64,
    gpu_ns: i64,
    /// Share of the interval in which kernels ran.
    utilisation: f64,
    /// Energy since the meter began, J.
    energy_j: f64,
    /// Time below the clock since the meter began, seconds.
    throttled_s: f64,
    /// Scheduler periods of 100 ms since the meter began.
    periods: f64,
    /// Those in which the quota held the container back.
    throttled_periods: f64,
    /// CPU time of the container's workers, seconds.
    worker_s: f64,
}

/// What a replica shows of itself to the machine's tools.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Its name: that of its pod, and of its host unless that has one.
    pub name: &'a str,
    /// What it is.
    pub config: &'a EngineConfig,
    /// What it has counted.
    pub stats: &'a Stats,
}

impl Meter {
    /// Reads the meter `at_ns`.
    pub fn read(&mut self, seen: Seen<'_>, at_ns: i64) {
        let (config, stats) = (seen.config, seen.stats);
        let machine = &config.machine;
        // Steps last as long as the longer of the two; what the host did alone is not the GPU's.
        let gpu_ns = (stats.busy_ns - stats.cpu.core_ns).max(0);
        let seconds = (at_ns - self.at_ns) as f64 * 1e-9;
        if seconds <= 0.0 {
            return;
        }
        // A process that started anew counts from zero.
        let since = |now: i64, before: i64| if now < before { now } else { now - before };
        self.utilisation = (since(gpu_ns, self.gpu_ns) as f64 * 1e-9 / seconds).clamp(0.0, 1.0);
        self.energy_j += gpu::power(machine, self.utilisation) * seconds;
        if machine.throttle.bit() != 0 {
            self.throttled_s += seconds * self.utilisation;
        }
        self.periods += seconds * 10.0;
        self.throttled_periods += seconds * 10.0 * machine.cpu_throttled;
        // A worker polls its queue: its core is always busy while the engine is.
        self.worker_s += seconds * self.utilisation * f64::from(machine.worker_threads);
        (self.at_ns, self.gpu_ns) = (at_ns, gpu_ns);
    }
}

/// The page of the GPU exporter (`dcgm-exporter`) over all replicas, each with its meter.
pub fn gpu_page<'a>(replicas: &[(Seen<'a>, Meter)]) -> Vec<Family<'a>> {
    gpu::families(replicas)
}

/// The page of the container runtime (cAdvisor) and of the processes in the containers.
pub fn container_page<'a>(replicas: &[(Seen<'a>, Meter)]) -> Vec<Family<'a>> {
    container::families(replicas)
}

/// A family with the samples of all replicas.
fn family<'a>(
    kind: FamilyKind,
    (name, help): (&'static str, &'static str),
    samples: impl Iterator<Item = (Vec<(&'static str, Cow<'a, str>)>, f64)>,
) -> Family<'a> {
    let samples = samples.map(|(labels, value)| Sample { part: Part::Value, labels, value }).collect();
    Family { name, help, kind, engine_labels: EngineLabels::None, samples }
}
