//! Stages of a request out of the spans of its trace.

use firstcheck_model::{span::Stage, trace_span::TraceSpan};

/// A stage with its times on the span's own clock, nanoseconds of Unix time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) stage: Stage,
    pub(super) start: i64,
    pub(super) end: i64,
}

/// Spans that are a stage by their name: SGLang's slices.
const NAMED: [(&str, Stage); 10] = [
    ("tokenize", Stage::Tokenize),
    ("prefill_waiting", Stage::Queue),
    ("prefill_forward", Stage::Prefill),
    ("chunked_prefill", Stage::Prefill),
    ("prefill_transfer_kv_cache", Stage::KvTransfer),
    ("decode_transferred", Stage::KvTransfer),
    ("decode_waiting", Stage::Queue),
    ("decode_bootstrap", Stage::KvTransfer),
    ("decode_forward", Stage::Decode),
    ("decode_loop", Stage::Decode),
];

/// Whether a span is an engine's own account of a whole request.
pub(super) fn is_request(span: &TraceSpan) -> bool {
    let names = ["gen_ai.latency.time_in_queue", "gen_ai.latency.e2e", "gen_ai.latency.time_to_first_token"];
    names.iter().any(|name| span.attributes.get(name).is_some())
}

/// The stages that a span tells of.
///
/// An engine's account of a request carries durations: they are laid one after another, up to its first token and from
/// there. What lies between arrival and the queue is the wait to be taken in by the engine's core: tokenising and the step
/// in hand.
pub(super) fn of_span(span: &TraceSpan) -> Vec<Timed> {
    if let Some((_, stage)) = NAMED.iter().find(|(name, _)| *name == span.name) {
        return vec![Timed { stage: *stage, start: span.start_unix_ns, end: span.end_unix_ns.max(span.start_unix_ns) }];
    }
    let duration = |name: &str| span.attributes.seconds(name).map(|seconds| (seconds.0 * 1e9).round() as i64);
    let (Some(queue), Some(prefill), Some(decode)) = (
        duration("gen_ai.latency.time_in_queue"),
        duration("gen_ai.latency.time_in_model_prefill"),
        duration("gen_ai.latency.time_in_model_decode"),
    ) else {
        return Vec::new();
    };
    let arrival = span.start_unix_ns;
    // TTFT is taken in the front, the stages in the core: where it is missing the end of the span stands in for it.
    let first = match duration("gen_ai.latency.time_to_first_token") {
        Some(ttft) => arrival.saturating_add(ttft),
        None => span.end_unix_ns.saturating_sub(decode),
    };
    let scheduled = first.saturating_sub(prefill).max(arrival);
    let queued = scheduled.saturating_sub(queue).max(arrival);
    let stages = [
        Timed { stage: Stage::EngineInput, start: arrival, end: queued },
        Timed { stage: Stage::Queue, start: queued, end: scheduled },
        Timed { stage: Stage::Prefill, start: scheduled, end: first },
        Timed { stage: Stage::Decode, start: first, end: first.saturating_add(decode) },
    ];
    stages.into_iter().filter(|timed| timed.end >= timed.start).collect()
}
