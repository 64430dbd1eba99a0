//! What the machine under an engine says: GPU state and topology, memory of processes, pauses of Python's collector.

pub(crate) mod format;
mod gc_log;
mod nvidia_smi;
mod smaps;
pub(crate) mod software;
mod topology;

pub use gc_log::{GcPause, gc_pause};
pub use nvidia_smi::{is_nvidia_smi, read_nvidia_smi};
pub use smaps::{Snapshots, is_smaps_rollup, read_smaps_rollup};
pub use topology::{is_topology, read_topology};
