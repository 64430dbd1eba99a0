//! All checks, sorted by code. Explicit: fixed order, easy to find, no linker magic.

use crate::{checks, declare::Check};

/// Every check there is, sorted by code. `cargo xtask new-check` adds a line.
pub static CHECKS: &[&Check] = &[
    &checks::first_token::late_after_template::LATE_AFTER_TEMPLATE, // S01
    &checks::first_token::first_token_queues::FIRST_TOKEN_QUEUES,   // S02
    &checks::first_token::hits_collapse::HITS_COLLAPSE,             // S03
    &checks::first_token::lpm_never_recovers::LPM_NEVER_RECOVERS,   // S04
    &checks::first_token::tier_hits_late::TIER_HITS_LATE,           // S05
    &checks::first_token::ranks_wait::RANKS_WAIT,                   // S06
    &checks::stream::stream_stutter::STREAM_STUTTER,                // S07
    &checks::stream::periodic_spikes::PERIODIC_SPIKES,              // S08
    &checks::stream::frozen_streams::FROZEN_STREAMS,                // S09
    &checks::stream::speculation_tail::SPECULATION_TAIL,            // S10
    &checks::stream::structured_stall::STRUCTURED_STALL,            // S11
    &checks::stream::unreadable_chunks::UNREADABLE_CHUNKS,          // S12
    &checks::stream::handover_latency::HANDOVER_LATENCY,            // S13
    &checks::memory::startup_oom::STARTUP_OOM,                      // S14
    &checks::memory::constant_preemption::CONSTANT_PREEMPTION,      // S15
    &checks::memory::graphs_cost_kv::GRAPHS_COST_KV,                // S16
    &checks::memory::memory_grows::MEMORY_GROWS,                    // S17
    &checks::memory::multimodal_oom::MULTIMODAL_OOM,                // S18
    &checks::memory::multi_node_hang::MULTI_NODE_HANG,              // S19
];

/// The check of that code (`S15`, whatever its case) or slug.
pub fn by_code_or_slug(name: &str) -> Option<&'static Check> {
    CHECKS.iter().copied().find(|c| c.code.eq_ignore_ascii_case(name) || c.slug == name)
}

/// The check of that slug.
pub fn by_slug(slug: &str) -> Option<&'static Check> {
    CHECKS.iter().copied().find(|c| c.slug == slug)
}
