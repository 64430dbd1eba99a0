//! Events of operation: retractions, resets, failed transfers, pauses of the collector.

use super::{
    reader::{At, LogReader},
    scan::{leading_number, number_after},
};
use crate::host::gc_pause;

/// Events by name with what the line contains.
const EVENTS: [(&str, &str); 22] = [
    ("retraction", "Retract requests."),
    ("retraction", "Decode out of memory happened"),
    ("retraction_abort", "retract_decode: aborted"),
    ("preemption", " is preempted by "),
    ("prefix_cache_reset", "Successfully reset prefix cache"),
    ("prefix_cache_reset", "Cache flushed successfully"),
    ("kv_load_recovered", "Recovered from KV load failure"),
    ("kv_expired", "Releasing expired KV blocks"),
    ("kv_transfer_failed", "NIXL transfer failure"),
    ("kv_transfer_failed", "pulling kv_caches for "),
    ("kv_transfer_failed", "transfer failed for request "),
    ("kv_transfer_failed", "Failed to transfer KV cache"),
    ("kv_transfer_failed", "handshake failed for request rank="),
    ("kv_transfer_failed", "bootstrap failed for request rank="),
    ("health_check_failed", "Health check failed"),
    ("watchdog", "watchdog timeout"),
    ("profiler", "POST /start_profile "),
    ("profiler", "POST /stop_profile "),
    ("profiler", "Profiler starts..."),
    ("graphs_reserved", " without CUDA graph memory profiling"),
    ("graphs_profiled", "Profiling CUDA graph memory: "),
    ("stats_off", "disabling stats logging to avoid incomplete stats"),
];

/// Figures that events carry, by name.
const FIGURES: [(&str, &str); 8] = [
    ("requests", "#retracted_reqs: "),
    ("new_tokens", "#new_tokens_gained: "),
    ("new_token_ratio", "#new_token_ratio: "),
    ("requests", "Recovered from KV load failure: "),
    ("largest", "(largest="),
    ("utilization", "current --gpu-memory-utilization="),
    ("equivalent", "equivalent to --gpu-memory-utilization="),
    ("cumulative", "total_num_cumulative_preemption="),
];

/// Parts of which every event has one.
pub(super) fn parts() -> Vec<&'static str> {
    let pauses = ["GARBAGE COLLECTION", "gc: done", "GC took "];
    EVENTS.iter().map(|(_, part)| *part).chain(pauses).collect()
}

/// Takes an event; whether the line was one.
pub(super) fn take(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    if let Some(pause) = gc_pause(message) {
        let mut figures = vec![("seconds", pause.length.0)];
        figures.extend(pause.generation.map(|generation| ("generation", f64::from(generation))));
        figures.extend(pause.objects.map(|objects| ("objects", objects as f64)));
        reader.sample("log:gc seconds", |_| None, pause.length.0, at.process, at);
        reader.event("gc_pause", message, figures, at);
        return true;
    }
    let known = EVENTS.iter().find(|(_, part)| message.contains(part));
    let Some((kind, part)) = known else { return false };
    // At DEBUG the same words tell that a transfer went well.
    let well = part.starts_with("pulling ") && !message.contains(" failed: ");
    // A client that went away takes its transfer with it.
    if well || (*kind == "kv_transfer_failed" && message.contains("Aborted by AbortReq")) {
        return false;
    }
    let figures: Vec<_> =
        FIGURES.iter().filter_map(|(name, mark)| Some((*name, number_after(message, mark)?))).collect();
    let after = message.split_once("-> ").and_then(|(_, after)| leading_number(after));
    let figures = figures.into_iter().chain(after.map(|ratio| ("new_token_ratio_after", ratio))).collect();
    reader.event(kind, message, figures, at);
    true
}
