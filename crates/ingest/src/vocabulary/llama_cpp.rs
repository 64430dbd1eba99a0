//! The server of llama.cpp. Its times are totals without a count, and its rates are over the whole life of the server.

use super::{Entry, counter, gauge};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    gauge("llamacpp:requests_processing", Signal::Running),
    gauge("llamacpp:requests_deferred", Signal::Waiting),
    gauge("llamacpp:kv_cache_usage_ratio", Signal::KvCacheUsage),
    counter("llamacpp:prompt_tokens_total", Signal::PromptTokens),
    counter("llamacpp:tokens_predicted_total", Signal::GenerationTokens),
    counter("llamacpp:spec_decode_num_drafts_total", Signal::Drafts),
    counter("llamacpp:spec_decode_num_draft_tokens_total", Signal::DraftTokens),
    counter("llamacpp:spec_decode_num_accepted_tokens_total", Signal::AcceptedTokens),
];
