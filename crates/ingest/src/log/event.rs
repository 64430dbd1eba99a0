//! Events of operation: retractions, resets, transfers between caches, pauses of the collector.

use super::{
    reader::{At, LogReader},
    scan::{leading_number, number_after},
};
use crate::host::gc_pause;

/// Events by name with what the line contains.
const EVENTS: [(&str, &str); 12] = [
    ("retraction", "Retract requests."),
    ("retraction", "Decode out of memory happened"),
    ("retraction_abort", "retract_decode: aborted"),
    ("preemption", " is preempted by "),
    ("prefix_cache_reset", "Successfully reset prefix cache"),
    ("prefix_cache_reset", "Cache flushed successfully"),
    ("kv_load_recovered", "Recovered from KV load failure"),
    ("kv_blocks_overridden", "Overriding num_gpu_blocks="),
    ("kv_expired", "Releasing expired KV blocks"),
    ("health_check_failed", "Health check failed"),
    ("watchdog", "watchdog timeout"),
    ("stats_off", "disabling stats logging to avoid incomplete stats"),
];

/// Figures that events carry, by name.
const FIGURES: [(&str, &str); 12] = [
    ("requests", "#retracted_reqs: "),
    ("new_tokens", "#new_tokens_gained: "),
    ("new_token_ratio", "#new_token_ratio: "),
    ("requests", "Recovered from KV load failure: "),
    ("cumulative", "total_num_cumulative_preemption="),
    ("total_tokens", "Total tokens "),
    ("hit_tokens", "hit tokens: "),
    ("to_load", "need to load: "),
    ("stored_tokens", "Stored "),
    ("retrieved_tokens", "Retrieved "),
    ("cost_ms", "cost "),
    ("throughput_gb_s", "throughput: "),
];

/// Parts of which every other event has one.
pub(super) const PARTS: &[&str] =
    &["GARBAGE COLLECTION", "gc: done", "GC took ", "LMCache hit tokens: ", "Stored ", "Retrieved "];

/// What the listed events contain.
pub(super) fn listed() -> impl Iterator<Item = &'static str> {
    EVENTS.iter().map(|(_, part)| *part)
}

/// Takes an event; whether the line was one.
pub(super) fn take(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    if let Some(pause) = gc_pause(message) {
        let mut figures = vec![("seconds", pause.length.0)];
        figures.extend(pause.generation.map(|generation| ("generation", f64::from(generation))));
        figures.extend(pause.objects.map(|objects| ("objects", objects as f64)));
        reader.sample("log:gc seconds", None, pause.length.0, at.process, at);
        reader.event("gc_pause", message, figures, at);
        return true;
    }
    // LMCache: `Reqid: r, Total tokens 8192, LMCache hit tokens: 4096, need to load: 4090`, `Stored 256 out of total 256
    // tokens. size: 0.03 gb, cost 1.2 ms, throughput: 26.1 GB/s`, `Retrieved …`.
    let connector =
        [("lmcache_lookup", "LMCache hit tokens: "), ("lmcache_store", "Stored "), ("lmcache_load", "Retrieved ")];
    let connector = connector.iter().find(|(kind, part)| {
        message.contains(part)
            && (*kind == "lmcache_lookup" || (message.contains("tokens") && message.contains("cost ")))
    });
    let known = connector.or_else(|| EVENTS.iter().find(|(_, part)| message.contains(part)));
    let Some((kind, _)) = known else { return false };
    let figures: Vec<_> =
        FIGURES.iter().filter_map(|(name, mark)| Some((*name, number_after(message, mark)?))).collect();
    if kind.starts_with("lmcache") {
        for (name, value) in &figures {
            reader.sample(&format!("log:{kind} {name}"), None, *value, at.process, at);
        }
    }
    let after = message.split_once("-> ").and_then(|(_, after)| leading_number(after));
    let figures = figures.into_iter().chain(after.map(|ratio| ("new_token_ratio_after", ratio))).collect();
    reader.event(kind, message, figures, at);
    true
}
