//! The server of llama.cpp.

use super::{Entry, counter, gauge};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    gauge("llamacpp:requests_processing", Signal::Running),
    gauge("llamacpp:requests_deferred", Signal::Waiting),
    gauge("llamacpp:kv_cache_usage_ratio", Signal::KvCacheUsage),
    counter("llamacpp:prompt_tokens_total", Signal::PromptTokens),
    counter("llamacpp:tokens_predicted_total", Signal::GenerationTokens),
];
