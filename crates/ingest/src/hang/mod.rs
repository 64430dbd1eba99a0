//! What hung processes leave: stack dumps of py-spy and gdb, PyTorch's flight recorder, NCCL's log.
//!
//! Several ranks dump at once, each into a file of its own, and no dump says whose it is: the rank is read from the
//! file's name ([`rank_of_name`]).

mod flight_recorder;
pub(crate) mod format;
mod gdb;
mod nccl_log;
mod nccl_network;
pub mod pickle;
mod py_spy;

pub use flight_recorder::{is_flight_record, read_flight_record};
pub use gdb::read_gdb;
pub use nccl_log::{NcclLog, read_nccl_log};
pub use nccl_network::NcclNetwork;
pub use py_spy::{read_py_spy_json, read_py_spy_text};

/// The rank that a file's name states: the last number that follows `rank` (or `rank_`, `rank-`), else the number at the
/// end of its stem (`nccl_trace_3`, `dump.7.txt`).
///
/// # Example: names that people and PyTorch give
/// ```
/// use firstcheck_ingest::hang::rank_of_name;
/// assert_eq!(rank_of_name("pyspy_rank1.json"), Some(1));
/// assert_eq!(rank_of_name("nccl_trace_rank_12"), Some(12));
/// assert_eq!(rank_of_name("fr_trace_0"), Some(0));
/// assert_eq!(rank_of_name("gdb.txt"), None);
/// ```
pub fn rank_of_name(name: &str) -> Option<u32> {
    let lower = name.to_ascii_lowercase();
    let after = lower.rfind("rank").and_then(|at| {
        let rest = lower[at + 4..].trim_start_matches(['_', '-', '.', '=']);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    });
    after.or_else(|| {
        let stem = lower.split('.').rev().find(|part| !matches!(*part, "txt" | "json" | "log" | "pickle" | "pkl"))?;
        let start = stem.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        // A bare number is a date or a process id more often than a rank.
        (start > 0 || lower.contains('.')).then(|| stem[start..].parse().ok()).flatten().filter(|rank| *rank < 100_000)
    })
}
