//! Text Generation Inference 3. It counts no tokens of all requests: their growth is the sum of a histogram.

use super::{Entry, counter, gauge, histogram};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    gauge("tgi_batch_current_size", Signal::Running),
    gauge("tgi_queue_size", Signal::Waiting),
    counter("tgi_request_success", Signal::Finished),
    counter("tgi_request_failure", Signal::Failed),
    histogram("tgi_request_input_length", Signal::PromptLength),
    histogram("tgi_request_generated_tokens", Signal::GenerationLength),
    histogram("tgi_request_duration", Signal::E2e),
    histogram("tgi_request_queue_duration", Signal::QueueTime),
    histogram("tgi_request_inference_duration", Signal::InferenceTime),
    histogram("tgi_request_mean_time_per_token_duration", Signal::Tpot),
];
