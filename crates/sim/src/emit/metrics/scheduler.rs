//! Levels and counters of the scheduler, the caches and the queue.

use super::{EngineLabels, Family, FamilyKind, Release};
use crate::emit::stats::Stats;

/// Levels.
pub(super) fn levels(release: Release, stats: &Stats) -> Vec<Family<'static>> {
    let (waiting, deferred) = (stats.gauges.waiting as f64, stats.gauges.deferred as f64);
    let mut families = estimates(release);
    families.push(Family::gauge(
        "vllm:num_requests_running",
        "Number of requests in model execution batches.",
        stats.gauges.running as f64,
    ));
    families.push(Family::gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", waiting));
    if release >= Release::V0_20 {
        families.push(Family::by(
            FamilyKind::Gauge,
            (
                "vllm:num_requests_waiting_by_reason",
                "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; \
                 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all \
                 reasons equals vllm:num_requests_waiting.",
            ),
            "reason",
            [("capacity", (waiting - deferred).max(0.0)), ("deferred", deferred)],
        ));
    }
    families.push(Family::by(
        FamilyKind::Gauge,
        (
            "vllm:engine_sleep_state",
            "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; \
             weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.",
        ),
        "sleep_state",
        [("awake", 1.0), ("weights_offloaded", 0.0), ("discard_all", 0.0)],
    ));
    let usage = "KV-cache usage. 1 means 100 percent usage.";
    families.push(Family::gauge("vllm:kv_cache_usage_perc", usage, stats.gauges.kv_usage));
    families
}

/// Estimated arithmetic and traffic: present, and zero, unless the server is asked to estimate them.
fn estimates(release: Release) -> Vec<Family<'static>> {
    if release < Release::V0_20 {
        return Vec::new();
    }
    [
        (
            "vllm:estimated_flops_per_gpu_total",
            "Estimated number of floating point operations per GPU (for Model Flops Utilization calculations).",
        ),
        (
            "vllm:estimated_read_bytes_per_gpu_total",
            "Estimated number of bytes read from memory per GPU (for Model Flops Utilization calculations).",
        ),
        (
            "vllm:estimated_write_bytes_per_gpu_total",
            "Estimated number of bytes written to memory per GPU (for Model Flops Utilization calculations).",
        ),
    ]
    .map(|(name, help)| Family::counter(name, help, 0.0))
    .into()
}

/// Counters.
pub(super) fn counters(release: Release, stats: &Stats) -> Vec<Family<'static>> {
    let mut families = caches(stats);
    families.push(Family::counter(
        "vllm:num_preemptions_total",
        "Cumulative number of preemption from the engine.",
        stats.preemptions as f64,
    ));
    families.extend(tokens(release, stats));
    let mut ended = Family::by(
        FamilyKind::Counter,
        ("vllm:request_success_total", "Count of successfully processed requests."),
        "finished_reason",
        [
            ("stop", stats.finished_stop as f64),
            ("length", stats.finished_length as f64),
            ("abort", stats.finished_abort as f64),
            ("error", stats.finished_error as f64),
            ("repetition", stats.finished_repetition as f64),
        ],
    );
    if release < Release::V0_20 {
        // That release does not know the last reason.
        ended.samples.pop();
    }
    families.push(ended);
    if release >= Release::V0_32 {
        let refused = Family::by(
            FamilyKind::Counter,
            ("vllm:admission_rejections_total", "Number of admission attempts rejected by a queue limit, by reason."),
            "reason",
            [
                ("max_num_queued_reqs", stats.rejected_requests as f64),
                ("max_num_queued_tokens", stats.rejected_tokens as f64),
            ],
        );
        families.push(refused.labelled_by(EngineLabels::Model));
    }
    families
}

fn caches(stats: &Stats) -> Vec<Family<'static>> {
    let (external, multimodal) = (stats.external, stats.multimodal);
    [
        (
            "vllm:prefix_cache_queries_total",
            "Prefix cache queries, in terms of number of queried tokens.",
            stats.prefix_queries,
        ),
        ("vllm:prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.", stats.prefix_hits),
        (
            "vllm:external_prefix_cache_queries_total",
            "External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of \
             queried tokens.",
            external.queries,
        ),
        (
            "vllm:external_prefix_cache_hits_total",
            "External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of cached \
             tokens.",
            external.hits,
        ),
        (
            "vllm:mm_cache_queries_total",
            "Multi-modal cache queries, in terms of number of queried items.",
            multimodal.queries,
        ),
        ("vllm:mm_cache_hits_total", "Multi-modal cache hits, in terms of number of cached items.", multimodal.hits),
    ]
    .map(|(name, help, value)| Family::counter(name, help, value as f64))
    .into()
}

fn tokens(release: Release, stats: &Stats) -> Vec<Family<'static>> {
    let (cached, sources) = (stats.cached_prompt_tokens, stats.cached_by_source);
    let external = sources.external().min(cached);
    let mut families = vec![
        Family::counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.", stats.prompt_tokens as f64),
        Family::by(
            FamilyKind::Counter,
            ("vllm:prompt_tokens_by_source_total", "Number of prompt tokens by source."),
            "source",
            [
                ("local_compute", stats.prompt_tokens.saturating_sub(cached) as f64),
                ("local_cache_hit", (cached - external) as f64),
                ("external_kv_transfer", external as f64),
            ],
        ),
        Family::counter(
            "vllm:prompt_tokens_cached_total",
            "Number of cached prompt tokens (local + external).",
            cached as f64,
        ),
    ];
    if release >= Release::V0_32 {
        families.push(Family::by(
            FamilyKind::Counter,
            (
                "vllm:prompt_tokens_cached_by_source_total",
                "Prefix-cache hit tokens by the cache tier that supplied them: device (local HBM), host (offloaded to \
                 DRAM), disk, p2p (transferred from another vLLM instance) or external_unspecified. Counted at \
                 admission; sums to vllm:prefix_cache_hits + vllm:external_prefix_cache_hits.",
            ),
            "source",
            [
                ("device", stats.prefix_hits as f64),
                ("host", sources.host as f64),
                ("p2p", sources.p2p as f64),
                ("disk", sources.disk as f64),
                ("external_unspecified", sources.unspecified as f64),
            ],
        ));
    } else if release < Release::V0_20 {
        let help = "Number of cached tokens recomputed for forward pass.";
        families.push(Family::counter("vllm:prompt_tokens_recomputed_total", help, 0.0));
    }
    let help = "Number of generation tokens processed.";
    families.push(Family::counter("vllm:generation_tokens_total", help, stats.generation_tokens as f64));
    families
}
