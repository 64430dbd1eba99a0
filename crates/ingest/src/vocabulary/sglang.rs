//! SGLang, from 0.4 to 0.5.
//!
//! Left out on purpose: `cache_hit_rate` and `num_retracted_reqs` are gauges of the last report, no counters;
//! `time_per_output_token_seconds` of 0.4 does not say whether it is a gap or a mean of a request; queues of
//! disaggregation are stages of a request and no queue of the engine; transfers were gauges of the last one before 0.5.10.

use super::{Entry, counter, gauge, histogram, old};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    gauge("sglang:num_running_reqs", Signal::Running),
    gauge("sglang:num_queue_reqs", Signal::Waiting),
    gauge("sglang:token_usage", Signal::KvCacheUsage),
    counter("sglang:num_retracted_requests_total", Signal::Preemptions),
    // Every prompt token is looked up, so `prompt_tokens_total` is the denominator; a series carries one signal only.
    counter("sglang:cached_tokens_total", Signal::PrefixHits),
    counter("sglang:prompt_tokens_total", Signal::PromptTokens),
    counter("sglang:generation_tokens_total", Signal::GenerationTokens),
    counter("sglang:num_requests_total", Signal::Finished),
    histogram("sglang:prompt_tokens_histogram", Signal::PromptLength),
    histogram("sglang:generation_tokens_histogram", Signal::GenerationLength),
    counter("sglang:spec_verify_calls_total", Signal::Drafts),
    histogram("sglang:kv_transfer_latency_ms", Signal::KvTransferTime),
    histogram("sglang:kv_transfer_total_mb", Signal::KvTransferBytes),
    histogram("sglang:prefill_delayer_wait_seconds", Signal::PrefillDelay),
    counter("sglang:dp_attention_steps_total", Signal::RankSteps),
    histogram("sglang:dp_attention_sync_wait_seconds", Signal::RankWait),
    histogram("sglang:grammar_compilation_time_seconds", Signal::GrammarTime),
    counter("sglang:num_transfer_failed_reqs_total", Signal::KvTransferFailures),
    counter("sglang:load_back_tokens_total", Signal::KvLoadedTokens),
    counter("sglang:load_back_bytes_total", Signal::KvLoadedBytes),
    histogram("sglang:load_back_duration_seconds", Signal::KvLoadTime),
    counter("sglang:hicache_backup_tokens_total", Signal::KvStoredTokens),
    counter("sglang:hicache_backup_bytes_total", Signal::KvStoredBytes),
    histogram("sglang:hicache_backup_duration_seconds", Signal::KvStoreTime),
    histogram("sglang:time_to_first_token_seconds", Signal::Ttft),
    histogram("sglang:inter_token_latency_seconds", Signal::Itl),
    histogram("sglang:request_time_per_output_token_seconds", Signal::Tpot),
    histogram("sglang:e2e_request_latency_seconds", Signal::E2e),
    histogram("sglang:queue_time_seconds", Signal::QueueTime),
    old(histogram("sglang:queue_time_s", Signal::QueueTime)),
    histogram("sglang:uncached_prompt_tokens_histogram", Signal::PrefillComputedTokens),
    gauge("sglang:cache_config_info", Signal::CacheConfig),
];
