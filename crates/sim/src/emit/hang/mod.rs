//! What a hung engine leaves when somebody looks at it: a stack dump and a flight record of each rank.

mod flight;
mod stacks;

use super::attachment::Attachment;
use crate::config::{Hang, HangCause};

/// The dumps of all ranks, taken at one time: `pyspy_rank<r>.txt` and `fr_trace_json_rank<r>.json`, and the core's own
/// stack. A rank whose process is gone leaves none, nor one of which none could be taken.
pub fn dumps(hang: &Hang, unix_ns: i64, core_pid: u32) -> Vec<Attachment> {
    let mut files = vec![Attachment::text("pyspy_engine_core.txt", stacks::core(core_pid))];
    for rank in 0..hang.ranks {
        let gone = hang.cause == HangCause::Gone && hang.departs(rank);
        if gone || hang.missing.contains(&rank) {
            continue;
        }
        let pid = core_pid + 136 + rank;
        files.push(Attachment::text(format!("pyspy_rank{rank}.txt"), stacks::worker(hang, rank, pid)));
        files.push(Attachment::text(format!("fr_trace_json_rank{rank}.json"), flight::record(hang, rank, unix_ns)));
    }
    files
}
