//! What every Prometheus client library says of its process.

use super::{Entry, gauge};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    gauge("process_start_time_seconds", Signal::ProcessStart),
    gauge("process_resident_memory_bytes", Signal::ProcessMemory),
];
