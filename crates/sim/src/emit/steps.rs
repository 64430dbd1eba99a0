//! A log of steps: one line of JSON each, as a profiler inside the engine would write it.

use crate::step::{GraphUse, RankStep, StepRecord};
use serde_json::{Value, json};

/// The line of a step. Times are seconds; `start` is on the run's clock. A line of ranks is there only where ranks
/// differ.
pub fn line(record: &StepRecord) -> String {
    let graph = match record.graph {
        GraphUse::Full => "full",
        GraphUse::Piecewise => "piecewise",
        GraphUse::Eager => "eager",
    };
    let mut line = json!({
        "step": record.index,
        "start": record.began_ns as f64 * 1e-9,
        "duration": (record.ends_ns - record.began_ns) as f64 * 1e-9,
        "tokens": record.tokens,
        "padded_tokens": record.padded_tokens,
        "requests": record.rows,
        "prefill_requests": record.prompt_rows,
        "sampled": record.sampled,
        "graph": graph,
        "device": record.device_seconds,
        "host": record.host_seconds,
        "pause": record.pause_seconds,
        "wait": record.wait_seconds,
    });
    if let (false, Some(fields)) = (record.ranks.is_empty(), line.as_object_mut()) {
        let ranks: Vec<Value> = record.ranks.iter().enumerate().map(of_rank).collect();
        fields.insert("ranks".into(), Value::from(ranks));
    }
    line.to_string()
}

fn of_rank((rank, step): (usize, &RankStep)) -> Value {
    json!({
        "rank": rank,
        "phase": if step.prompt { "prefill" } else { "decode" },
        "tokens": step.tokens,
        "context": step.kv_tokens,
        "compute": step.compute_seconds,
        "wait": step.wait_seconds,
    })
}
