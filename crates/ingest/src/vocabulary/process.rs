//! What every Prometheus client library says of its process, and a process exporter of any.

use super::{Entry, gauge, only};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    gauge("process_start_time_seconds", Signal::ProcessStart),
    gauge("process_resident_memory_bytes", Signal::ProcessMemory),
    only("memtype", "resident", gauge("namedprocess_namegroup_memory_bytes", Signal::ProcessMemory)),
    only("memtype", "swapped", gauge("namedprocess_namegroup_memory_bytes", Signal::ProcessSwap)),
];
