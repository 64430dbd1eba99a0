//! vLLM, from 0.6 (engine V0) to 0.33.
//!
//! Left out: swapped requests and the CPU cache of V0, hit rates of V0 (ratios), throughputs (rates), `tokens_total` (a sum
//! of two signals), offload times that are counters without a count, and tiers that no other engine has.

use super::{Entry, counter, gauge, histogram, old, only};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    gauge("vllm:num_requests_running", Signal::Running),
    gauge("vllm:num_requests_waiting", Signal::Waiting),
    gauge("vllm:kv_cache_usage_perc", Signal::KvCacheUsage),
    old(gauge("vllm:gpu_cache_usage_perc", Signal::KvCacheUsage)),
    counter("vllm:num_preemptions_total", Signal::Preemptions),
    counter("vllm:prefix_cache_queries_total", Signal::PrefixQueries),
    counter("vllm:prefix_cache_hits_total", Signal::PrefixHits),
    old(counter("vllm:gpu_prefix_cache_queries_total", Signal::PrefixQueries)),
    old(counter("vllm:gpu_prefix_cache_hits_total", Signal::PrefixHits)),
    counter("vllm:prompt_tokens_total", Signal::PromptTokens),
    counter("vllm:generation_tokens_total", Signal::GenerationTokens),
    counter("vllm:request_success_total", Signal::Finished),
    counter("vllm:admission_rejections_total", Signal::Rejected),
    histogram("vllm:request_prompt_tokens", Signal::PromptLength),
    histogram("vllm:request_generation_tokens", Signal::GenerationLength),
    counter("vllm:spec_decode_num_drafts_total", Signal::Drafts),
    counter("vllm:spec_decode_num_draft_tokens_total", Signal::DraftTokens),
    counter("vllm:spec_decode_num_accepted_tokens_total", Signal::AcceptedTokens),
    counter("vllm:external_prefix_cache_queries_total", Signal::ExternalQueries),
    counter("vllm:external_prefix_cache_hits_total", Signal::ExternalHits),
    histogram("vllm:nixl_xfer_time_seconds", Signal::KvTransferTime),
    histogram("vllm:mooncake_xfer_time_seconds", Signal::KvTransferTime),
    histogram("vllm:nixl_bytes_transferred", Signal::KvTransferBytes),
    histogram("vllm:mooncake_bytes_transferred", Signal::KvTransferBytes),
    histogram("vllm:nixl_post_time_seconds", Signal::KvTransferPost),
    histogram("vllm:nixl_num_descriptors", Signal::KvTransferDescriptors),
    counter("vllm:nixl_num_failed_transfers_total", Signal::KvTransferFailures),
    counter("vllm:mooncake_num_failed_transfers_total", Signal::KvTransferFailures),
    counter("vllm:nixl_num_kv_expired_reqs_total", Signal::KvExpired),
    counter("vllm:mooncake_num_kv_expired_reqs_total", Signal::KvExpired),
    counter("vllm:kv_offload_load_bytes_total", Signal::KvLoadedBytes),
    counter("vllm:kv_offload_store_bytes_total", Signal::KvStoredBytes),
    only("transfer_type", "CPU_to_GPU", old(counter("vllm:kv_offload_total_bytes_total", Signal::KvLoadedBytes))),
    only("transfer_type", "GPU_to_CPU", old(counter("vllm:kv_offload_total_bytes_total", Signal::KvStoredBytes))),
    histogram("vllm:hf3fs_load_duration_seconds", Signal::KvLoadTime),
    histogram("vllm:hf3fs_save_duration_seconds", Signal::KvStoreTime),
    histogram("vllm:time_to_first_token_seconds", Signal::Ttft),
    histogram("vllm:inter_token_latency_seconds", Signal::Itl),
    // Despite its name the gap between outputs; renamed to inter_token_latency_seconds by 0.10.2.
    old(histogram("vllm:time_per_output_token_seconds", Signal::Itl)),
    histogram("vllm:request_time_per_output_token_seconds", Signal::Tpot),
    histogram("vllm:e2e_request_latency_seconds", Signal::E2e),
    histogram("vllm:request_queue_time_seconds", Signal::QueueTime),
    old(histogram("vllm:time_in_queue_requests", Signal::QueueTime)),
    histogram("vllm:request_prefill_time_seconds", Signal::PrefillTime),
    histogram("vllm:request_decode_time_seconds", Signal::DecodeTime),
    histogram("vllm:request_inference_time_seconds", Signal::InferenceTime),
    histogram("vllm:request_prefill_kv_computed_tokens", Signal::PrefillComputedTokens),
    // A histogram in spite of its suffix.
    histogram("vllm:iteration_tokens_total", Signal::IterationTokens),
    gauge("vllm:cache_config_info", Signal::CacheConfig),
];
