//! What Python's client says of the API server's process.

use super::{EngineLabels, Family, Process};
use crate::{config::EngineConfig, emit::stats::Stats, memory::HostUse};

pub(super) fn families(process: &Process, config: &EngineConfig, stats: &Stats) -> Vec<Family<'static>> {
    let grown = HostUse::of(config, stats).api.resident() - HostUse::at_rest(config).api.resident();
    let resident = process
        .resident_bytes
        .map(|bytes| Family::gauge("process_resident_memory_bytes", "Resident memory size in bytes.", bytes + grown));
    let started = Family::gauge(
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        process.start_unix_seconds,
    );
    let cpu = Family::counter(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
        stats.cpu.api_ns as f64 * 1e-9,
    );
    resident.into_iter().chain([started, cpu]).map(|family| family.labelled_by(EngineLabels::None)).collect()
}
