//! The flight record of a rank: the last collectives that it entered, as PyTorch writes them in JSON.

use crate::config::{Hang, HangCause};
use serde_json::{Value, json};

/// Collectives that the record shows before the last.
const SHOWN: u64 = 20;
/// Time between two collectives, nanoseconds.
const APART: i64 = 180_000;
/// The limit after which the watchdog would act, milliseconds.
const LIMIT_MS: u64 = 600_000;
/// The tensor-parallel group, beside the default one.
const GROUP: &str = "2";

/// What a rank has entered.
struct Entered {
    /// Last collective entered; 0: none.
    last: u64,
    /// Whether that one is done.
    done: bool,
}

fn entered(hang: &Hang, rank: u32) -> Entered {
    let departs = hang.departs(rank);
    match hang.cause {
        HangCause::Lock | HangCause::Compile if departs => Entered { last: hang.sequence - 1, done: true },
        HangCause::Skipped if departs => Entered { last: hang.sequence + 1, done: false },
        HangCause::Queue => Entered { last: hang.sequence - 1, done: true },
        _ => Entered { last: hang.sequence, done: false },
    }
}

/// What a collective is: every layer sums twice, every step ends with a gather.
fn operation(hang: &Hang, rank: u32, sequence: u64, current: bool) -> (&'static str, u64) {
    let departs = hang.departs(rank);
    match hang.cause {
        HangCause::NoSource if current => ("nccl:broadcast", hang.elements),
        HangCause::Skipped if current && departs => ("nccl:_all_gather_base", hang.elements / 8),
        HangCause::OtherSize if current && departs => ("nccl:all_reduce", hang.elements / 2),
        _ if sequence.is_multiple_of(65) && !current => ("nccl:_all_gather_base", hang.elements / 8),
        _ => ("nccl:all_reduce", hang.elements),
    }
}

/// The record of a rank, written at `unix_ns`.
pub(super) fn record(hang: &Hang, rank: u32, unix_ns: i64) -> String {
    let Entered { last, done } = entered(hang, rank);
    let first = last.saturating_sub(SHOWN) + 1;
    // The dump is taken a minute after the last progress.
    let entered_ns = unix_ns - 60_000_000_000;
    let entries: Vec<Value> = (first..=last)
        .enumerate()
        .map(|(place, sequence)| {
            let current = sequence == last && !done;
            let created = entered_ns - (last - sequence) as i64 * APART;
            let (name, elements) = operation(hang, rank, sequence, current);
            let finished = if current { 0 } else { created + APART / 2 };
            let sizes = json!([[elements / 4096, 4096]]);
            json!({
                "collective_seq_id": sequence,
                "input_dtypes": ["BFloat16"],
                "input_sizes": sizes,
                "is_p2p": false,
                "op_id": sequence,
                "output_dtypes": ["BFloat16"],
                "output_sizes": sizes,
                "p2p_seq_id": 0,
                "pg_id": 2,
                "process_group": [GROUP, "tp"],
                "profiling_name": name,
                "record_id": place,
                "retired": !current,
                "state": if current { "started" } else { "completed" },
                "thread_id": (139_667_465_378_688_u64 + u64::from(rank)).to_string(),
                "thread_name": "python",
                "time_created_ns": created,
                "time_discovered_completed_ns": finished,
                "time_discovered_started_ns": created + 20_000,
                "timeout_ms": LIMIT_MS,
            })
        })
        .collect();
    let ranks: Vec<String> = (0..hang.ranks).map(|rank| rank.to_string()).collect();
    let number = |value: u64| if value == 0 { "-1".to_owned() } else { value.to_string() };
    let completed = if done { last } else { last.saturating_sub(1) };
    json!({
        "comm_lib_version": "2.27.5",
        "entries": entries,
        "nccl_comm_state": {},
        "pg_config": {GROUP: {"desc": "tp", "name": GROUP, "ranks": format!("[{}]", ranks.join(", "))}},
        "pg_status": {GROUP: {
            "last_completed_collective": number(completed),
            "last_enqueued_collective": number(last),
            "last_started_collective": number(last),
        }},
        "version": "2.10",
    })
    .to_string()
}
