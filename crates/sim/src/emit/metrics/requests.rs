//! Histograms over requests and steps.

use super::{Family, Release};
use crate::emit::{histogram::Histogram, stats::Stats};

pub(super) fn histograms(release: Release, stats: &Stats) -> Vec<Family<'static>> {
    let counts: [(&'static str, &'static str, &Histogram); 6] = [
        ("vllm:request_prompt_tokens", "Number of prefill tokens processed.", &stats.request_prompt_tokens),
        ("vllm:request_generation_tokens", "Number of generation tokens processed.", &stats.request_generation_tokens),
        ("vllm:iteration_tokens_total", "Histogram of number of tokens per engine_step.", &stats.iteration_tokens),
        (
            "vllm:request_max_num_generation_tokens",
            "Histogram of maximum number of requested generation tokens.",
            &stats.request_max_tokens,
        ),
        ("vllm:request_params_n", "Histogram of the n request parameter.", &stats.request_choices),
        ("vllm:request_params_max_tokens", "Histogram of the max_tokens request parameter.", &stats.request_max_tokens),
    ];
    let times: [(&'static str, &'static str, &Histogram); 8] = [
        ("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", &stats.ttft),
        ("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", &stats.itl),
        (
            "vllm:request_time_per_output_token_seconds",
            "Histogram of time_per_output_token_seconds per request.",
            &stats.tpot,
        ),
        ("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &stats.e2e),
        ("vllm:request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", &stats.queue),
        (
            "vllm:request_inference_time_seconds",
            "Histogram of time spent in RUNNING phase for request.",
            &stats.inference,
        ),
        ("vllm:request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", &stats.prefill),
        ("vllm:request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", &stats.decode),
    ];
    let preemptions = (release >= Release::V0_32).then_some((
        "vllm:request_num_preemptions",
        "Histogram of the number of times a request was preempted.",
        &stats.request_preemptions,
    ));
    let computed = (
        "vllm:request_prefill_kv_computed_tokens",
        "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
        &stats.request_computed_tokens,
    );
    let all = counts.into_iter().chain(times).chain(preemptions).chain([computed]);
    all.map(|(name, help, values)| Family::histogram(name, help, values)).collect()
}
