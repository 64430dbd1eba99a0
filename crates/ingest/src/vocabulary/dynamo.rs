//! Dynamo's frontend and components; the engine behind passes its own names through. Times of its router are parts of
//! what the frontend times as a whole, and its requests in flight are those that wait and those that run together.

use super::{Entry, counter, gauge, histogram};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    gauge("dynamo_frontend_queued_requests", Signal::Waiting),
    gauge("dynamo_component_gpu_cache_usage_percent", Signal::KvCacheUsage),
    counter("dynamo_frontend_output_tokens_total", Signal::GenerationTokens),
    counter("dynamo_frontend_requests_total", Signal::Finished),
    histogram("dynamo_frontend_input_sequence_tokens", Signal::PromptLength),
    histogram("dynamo_frontend_output_sequence_tokens", Signal::GenerationLength),
    histogram("dynamo_frontend_time_to_first_token_seconds", Signal::Ttft),
    histogram("dynamo_frontend_inter_token_latency_seconds", Signal::Itl),
    histogram("dynamo_frontend_request_duration_seconds", Signal::E2e),
];
