//! TensorRT-LLM (`trtllm-serve`).
//!
//! Left out: what is said of the last iteration alone (hit rates, occupancy), and what Triton's backend or a Dynamo worker
//! puts under names of its own.

use super::{Entry, counter, gauge, histogram, old};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    gauge("trtllm_num_requests_running", Signal::Running),
    gauge("trtllm_num_requests_waiting", Signal::Waiting),
    gauge("trtllm_kv_cache_utilization", Signal::KvCacheUsage),
    counter("trtllm_prompt_cached_tokens_total", Signal::PrefixHits),
    old(counter("trtllm_prompt_cache_hit_tokens_total", Signal::PrefixHits)),
    counter("trtllm_prompt_tokens_total", Signal::PromptTokens),
    counter("trtllm_generation_tokens_total", Signal::GenerationTokens),
    counter("trtllm_num_requests_completed_total", Signal::Finished),
    counter("trtllm_request_error_total", Signal::Failed),
    counter("trtllm_spec_decode_num_draft_tokens_total", Signal::DraftTokens),
    counter("trtllm_spec_decode_num_accepted_tokens_total", Signal::AcceptedTokens),
    old(counter("trtllm_spec_decode_drafted_tokens_total", Signal::DraftTokens)),
    old(counter("trtllm_spec_decode_accepted_tokens_total", Signal::AcceptedTokens)),
    counter("trtllm_kv_cache_onboard_bytes_total", Signal::KvLoadedBytes),
    counter("trtllm_kv_cache_offload_bytes_total", Signal::KvStoredBytes),
    old(counter("trtllm_request_success_total", Signal::Finished)),
    histogram("trtllm_time_to_first_token_seconds", Signal::Ttft),
    histogram("trtllm_time_per_output_token_seconds", Signal::Tpot),
    histogram("trtllm_e2e_request_latency_seconds", Signal::E2e),
    histogram("trtllm_request_queue_time_seconds", Signal::QueueTime),
    histogram("trtllm_request_prefill_time_seconds", Signal::PrefillTime),
    histogram("trtllm_request_decode_time_seconds", Signal::DecodeTime),
    histogram("trtllm_request_inference_time_seconds", Signal::InferenceTime),
    gauge("trtllm_kv_cache_config_info", Signal::CacheConfig),
];
