//! Families that exist only while their part of the engine is switched on.

use super::{Family, Sample};
use crate::emit::{
    features::{Offload, Residency, Speculation, Transfers},
    stats::Stats,
};
use firstcheck_model::signal::Part;
use std::borrow::Cow;

pub(super) fn families(stats: &Stats) -> Vec<Family<'static>> {
    let mut families = Vec::new();
    families.extend(stats.speculation.iter().flat_map(speculation));
    families.extend(stats.residency.iter().flat_map(residency));
    families.extend(stats.transfers.iter().flat_map(transfers));
    families.extend(stats.offload.iter().flat_map(offload));
    families
}

fn speculation(counts: &Speculation) -> [Family<'static>; 4] {
    let at = |(position, count): (usize, &u64)| Sample {
        part: Part::Value,
        labels: vec![("position", Cow::Owned(position.to_string()))],
        value: *count as f64,
    };
    let name = "vllm:spec_decode_num_accepted_tokens_per_pos_total";
    let by_position = Family {
        samples: counts.accepted_at.iter().enumerate().map(at).collect(),
        ..Family::counter(name, "Accepted tokens per draft position.", 0.0)
    };
    [
        Family::counter("vllm:spec_decode_num_drafts_total", "Number of spec decoding drafts.", counts.drafts as f64),
        Family::counter(
            "vllm:spec_decode_num_draft_tokens_total",
            "Number of draft tokens.",
            counts.draft_tokens as f64,
        ),
        Family::counter(
            "vllm:spec_decode_num_accepted_tokens_total",
            "Number of accepted tokens.",
            counts.accepted as f64,
        ),
        by_position,
    ]
}

fn residency(stays: &Residency) -> [Family<'static>; 3] {
    [
        Family::histogram(
            "vllm:kv_block_lifetime_seconds",
            "Histogram of KV cache block lifetime from allocation to eviction. Sampled metrics (controlled by \
             --kv-cache-metrics-sample).",
            &stays.lifetime,
        ),
        Family::histogram(
            "vllm:kv_block_idle_before_evict_seconds",
            "Histogram of idle time before KV cache block eviction. Sampled metrics (controlled by \
             --kv-cache-metrics-sample).",
            &stays.idle_before_evict,
        ),
        Family::histogram(
            "vllm:kv_block_reuse_gap_seconds",
            "Histogram of time gaps between consecutive KV cache block accesses. Only the most recent accesses are \
             recorded (ring buffer). Sampled metrics (controlled by --kv-cache-metrics-sample).",
            &stays.reuse_gap,
        ),
    ]
}

fn transfers(counts: &Transfers) -> [Family<'static>; 7] {
    [
        Family::histogram(
            "vllm:nixl_xfer_time_seconds",
            "Histogram of transfer duration for NIXL KV Cache transfers.",
            &counts.duration,
        ),
        Family::histogram(
            "vllm:nixl_post_time_seconds",
            "Histogram of transfer post time for NIXL KV Cache transfers.",
            &counts.post,
        ),
        Family::histogram(
            "vllm:nixl_bytes_transferred",
            "Histogram of bytes transferred per NIXL KV Cache transfers.",
            &counts.bytes,
        ),
        Family::histogram(
            "vllm:nixl_num_descriptors",
            "Histogram of number of descriptors per NIXL KV Cache transfers.",
            &counts.descriptors,
        ),
        Family::counter(
            "vllm:nixl_num_failed_transfers_total",
            "Number of failed NIXL KV Cache transfers.",
            counts.failed as f64,
        ),
        Family::counter(
            "vllm:nixl_num_failed_notifications_total",
            "Number of failed NIXL KV Cache notifications.",
            counts.failed_notifications as f64,
        ),
        Family::counter(
            "vllm:nixl_num_kv_expired_reqs_total",
            "Number of requests that had their KV expire. NOTE: This metric is tracked on the P instance.",
            counts.expired as f64,
        ),
    ]
}

fn offload(counts: &Offload) -> [Family<'static>; 7] {
    [
        Family::counter(
            "vllm:kv_offload_load_bytes_total",
            "Total bytes loaded from offload storage to GPU.",
            counts.load_bytes as f64,
        ),
        Family::counter(
            "vllm:kv_offload_load_time_total",
            "Total load time from offload storage to GPU, in seconds.",
            counts.load_ns as f64 * 1e-9,
        ),
        Family::counter(
            "vllm:kv_offload_store_bytes_total",
            "Total bytes stored from GPU to offload storage.",
            counts.store_bytes as f64,
        ),
        Family::counter(
            "vllm:kv_offload_store_time_total",
            "Total store time from GPU to offload storage, in seconds.",
            counts.store_ns as f64 * 1e-9,
        ),
        Family::counter(
            "vllm:kv_offload_allocation_failure_total",
            "Number of KV offload store allocation attempts that failed.",
            counts.allocation_failures as f64,
        ),
        Family::histogram(
            "vllm:kv_offload_load_size",
            "Histogram of KV offload load operation size, in bytes.",
            &counts.load_size,
        ),
        Family::histogram(
            "vllm:kv_offload_lookup_sync_delay_seconds",
            "Histogram of the time spent in a single offload lookup call, in seconds.",
            &counts.lookup,
        ),
    ]
}
