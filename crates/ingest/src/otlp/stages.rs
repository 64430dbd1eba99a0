//! Stages of a request out of the spans of its trace.

use firstcheck_model::{span::Stage, trace_span::TraceSpan};

/// A stage with its times on the span's own clock, nanoseconds of Unix time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) stage: Stage,
    pub(super) start: i64,
    pub(super) end: i64,
}

impl Timed {
    /// The same on a clock that is `by` nanoseconds further.
    pub(super) fn moved(self, by: i64) -> Self {
        Self { start: self.start.saturating_add(by), end: self.end.saturating_add(by), ..self }
    }
}

/// What a span tells of the request that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// A slice of the engine that is a stage.
    Slice(Timed),
    /// An engine's account of the whole request.
    Account(Account),
    /// A hop of a gateway or a sidecar.
    Hop(Timed),
    /// Nothing about stages.
    Nothing,
}

/// Spans that are a stage by their name: SGLang's slices. What it retracts waits and is computed again under the same
/// names; the order tells.
const SLICES: [(&str, Stage); 11] = [
    ("tokenize", Stage::Tokenize),
    ("prefill_waiting", Stage::Queue),
    ("prefill_forward", Stage::Prefill),
    ("chunked_prefill", Stage::Prefill),
    ("prefill_transfer_kv_cache", Stage::KvTransfer),
    ("decode_bootstrap", Stage::KvTransfer),
    ("decode_prepare", Stage::KvTransfer),
    ("decode_transferred", Stage::KvTransfer),
    ("decode_waiting", Stage::Queue),
    ("decode_forward", Stage::Decode),
    ("decode_loop", Stage::Decode),
];

/// Hops of llm-d's gateway, scheduler and sidecar. A hop to a pool holds all that happens there.
const HOPS: [(&str, Stage); 7] = [
    ("gateway.request_orchestration", Stage::Network),
    ("pick_endpoints", Stage::Network),
    ("prepare_disaggregation", Stage::Network),
    ("llm_d.pd_proxy.prefill", Stage::PrefillPool),
    ("llm_d.pd_proxy.decode", Stage::DecodePool),
    ("prefill", Stage::PrefillPool),
    ("decode", Stage::DecodePool),
];

/// Whether a span is an engine's own account of a whole request.
pub(super) fn is_request(span: &TraceSpan) -> bool {
    let names = ["gen_ai.latency.time_in_queue", "gen_ai.latency.e2e", "gen_ai.latency.time_to_first_token"];
    names.iter().any(|name| span.attributes.get(name).is_some())
}

/// What a span tells of its request.
pub(super) fn told(span: &TraceSpan) -> Told {
    let named = |names: &[(&str, Stage)]| {
        let (_, stage) = names.iter().find(|(name, _)| *name == span.name)?;
        Some(Timed { stage: *stage, start: span.start_unix_ns, end: span.end_unix_ns.max(span.start_unix_ns) })
    };
    if let Some(timed) = named(&SLICES) {
        Told::Slice(timed)
    } else if let Some(account) = Account::of(span) {
        Told::Account(account)
    } else {
        named(&HOPS).map_or(Told::Nothing, Told::Hop)
    }
}

/// An engine's account of a request: durations, taken in its front end (first token, whole) and in its core (the rest).
///
/// They are laid backwards from the first token and forwards from it. What they leave between arrival and queue is the
/// front end's: tokenising, the wait for the step in hand, and the first token's way out of the core. vLLM's queue ends at
/// the first scheduling, so that its decode holds the waits of a preempted request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Account {
    arrival: i64,
    queued: i64,
    scheduled: i64,
    first: i64,
    decoded: i64,
    ended: i64,
    /// Tokens of the answer.
    tokens: Option<u64>,
}

impl Account {
    fn of(span: &TraceSpan) -> Option<Self> {
        let duration = |name: &str| span.attributes.seconds(name).map(|seconds| (seconds.0 * 1e9).round() as i64);
        let queue = duration("gen_ai.latency.time_in_queue")?;
        let prefill = duration("gen_ai.latency.time_in_model_prefill")?;
        let decode = duration("gen_ai.latency.time_in_model_decode")?;
        let arrival = span.start_unix_ns;
        // Where the time to the first token is missing, the end of the span stands in for it.
        let first = match duration("gen_ai.latency.time_to_first_token") {
            Some(ttft) => arrival.saturating_add(ttft),
            None => span.end_unix_ns.saturating_sub(decode).max(arrival),
        };
        let scheduled = first.saturating_sub(prefill).max(arrival);
        let decoded = first.saturating_add(decode);
        let whole = duration("gen_ai.latency.e2e").map_or(decoded, |e2e| arrival.saturating_add(e2e));
        let tokens = span.attributes.number("gen_ai.usage.completion_tokens").map(|tokens| tokens as u64);
        Some(Self {
            arrival,
            queued: scheduled.saturating_sub(queue).max(arrival),
            scheduled,
            first,
            decoded,
            ended: whole.max(decoded),
            tokens,
        })
    }

    /// The same on a clock that is `by` nanoseconds further.
    pub(super) fn moved(self, by: i64) -> Self {
        let on = |at: i64| at.saturating_add(by);
        Self {
            arrival: on(self.arrival),
            queued: on(self.queued),
            scheduled: on(self.scheduled),
            first: on(self.first),
            decoded: on(self.decoded),
            ended: on(self.ended),
            ..self
        }
    }

    /// Until its first token.
    fn prompt(&self) -> [Timed; 3] {
        [
            Timed { stage: Stage::FrontEnd, start: self.arrival, end: self.queued },
            Timed { stage: Stage::Queue, start: self.queued, end: self.scheduled },
            Timed { stage: Stage::Prefill, start: self.scheduled, end: self.first },
        ]
    }

    /// From its first token on.
    fn answer(&self) -> [Timed; 2] {
        [
            Timed { stage: Stage::DecodePreempted, start: self.first, end: self.decoded },
            Timed { stage: Stage::Detokenize, start: self.decoded, end: self.ended },
        ]
    }

    /// Its stages, where it is the only one.
    pub(super) fn stages(&self) -> Vec<Timed> {
        self.prompt().into_iter().chain(self.answer()).collect()
    }

    /// Whether a pool that computes prompts gave it: one token, and not the whole answer.
    pub(super) fn computes_prompt_for(&self, other: &Self) -> bool {
        self.tokens.is_some_and(|tokens| tokens <= 1)
            && other.tokens.is_none_or(|tokens| tokens > 1)
            && self.first <= other.first
    }
}

/// The stages of a request that one pool computed the prompt of and another one answered. The wait of the second lies in
/// the hand-over: an engine that pulls KV does so while the request is in its queue.
pub(super) fn handed_over(prefill: &Account, decode: &Account) -> (Vec<Timed>, Vec<Timed>) {
    let scheduled = decode.scheduled.max(prefill.first);
    let mut second = vec![
        Timed { stage: Stage::HandOver, start: prefill.first, end: scheduled },
        Timed { stage: Stage::FirstDecode, start: scheduled, end: decode.first.max(scheduled) },
    ];
    second.extend(decode.answer());
    (prefill.prompt().to_vec(), second)
}
