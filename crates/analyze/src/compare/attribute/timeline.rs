//! One request's time, painted with the spans of its stages.

use firstcheck_model::{
    metric::Metric,
    request::Request,
    span::{Stage, StageSpan},
};
use std::collections::BinaryHeap;

/// How many stages there are.
pub(super) const STAGES: usize = Stage::ALL.len();

/// A latency of one request and what of it each stage took, in seconds, by the place of the stage in [`Stage::ALL`].
/// What they leave is not explained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Painted {
    pub total: f64,
    pub parts: [f64; STAGES],
}

#[derive(Debug, Clone, Copy)]
struct Slice {
    stage: Stage,
    start: i64,
    end: i64,
}

/// The time behind `metric` of a completed request, each moment given to the span around it that began last, and a moment
/// between spans to what lies there. `None` where the request has no such latency.
///
/// `spans` are those of the request, by their start.
pub(super) fn paint(request: &Request, spans: &[&StageSpan], metric: Metric) -> Option<Painted> {
    let (from, to, weight) = bounds(request, metric)?;
    let slices = slices(spans, metric);
    let tail = tail(&slices);
    let sent = request.sent.get();
    let mut cuts = vec![from, to];
    cuts.extend(sent);
    cuts.extend(slices.iter().flat_map(|slice| [slice.start, slice.end]));
    cuts.retain(|cut| (from..=to).contains(cut));
    cuts.sort_unstable();
    cuts.dedup();
    let mut painted = Painted { total: to.saturating_sub(from) as f64 * weight, parts: [0.0; STAGES] };
    // Places of slices that have begun: the greatest began last.
    let (mut begun, mut next, mut before) = (BinaryHeap::new(), 0, None);
    for pair in cuts.windows(2) {
        while slices.get(next).is_some_and(|slice| slice.start <= pair[0]) {
            begun.push(next);
            next += 1;
        }
        while begun.peek().is_some_and(|place| slices[*place].end <= pair[0]) {
            begun.pop();
        }
        let stage = match begun.peek() {
            Some(place) => {
                before = Some(slices[*place].stage);
                before
            }
            None if sent.is_some_and(|sent| pair[1] <= sent) => Some(Stage::Client),
            None => between(before, slices.get(next).map(|slice| slice.stage), tail),
        };
        if let Some(stage) = stage {
            painted.parts[stage as usize] += pair[1].saturating_sub(pair[0]) as f64 * weight;
        }
    }
    Some(painted)
}

/// Start and end of the latency, nanoseconds, and the seconds that one of them counts.
fn bounds(request: &Request, metric: Metric) -> Option<(i64, i64, f64)> {
    let last = if request.last_token.reached() { request.last_token } else { request.done };
    let (from, to, weight) = match metric {
        Metric::Ttft => (request.origin(), request.first_token, 1e-9),
        Metric::E2e => (request.origin(), last, 1e-9),
        Metric::Tpot => {
            let after_first = request.output_tokens.filter(|tokens| *tokens > 1)? - 1;
            (request.first_token, request.last_token, 1e-9 / f64::from(after_first))
        }
        _ => return None,
    };
    let (from, to) = (from.get()?, to.get()?);
    (from <= to).then_some((from, to, weight))
}

/// The spans that lie in the latency. Of what follows the first token, its own way to the client is all that TTFT holds;
/// and what waits or is computed again after it was thrown out.
fn slices(spans: &[&StageSpan], metric: Metric) -> Vec<Slice> {
    let first = spans.iter().filter(|span| span.stage.follows_first_token()).filter_map(|span| span.start.get()).min();
    let slice = |span: &&StageSpan| {
        let (start, end) = (span.start.get()?, span.end.get()?);
        let late = first.is_some_and(|first| start >= first);
        let stage = match span.stage {
            _ if late && metric == Metric::Ttft => return None,
            Stage::Tokenize | Stage::EngineInput | Stage::FrontEnd | Stage::Queue | Stage::Prefill if late => {
                Stage::Preempted
            }
            stage => stage,
        };
        Some(Slice { stage, start, end })
    };
    spans.iter().filter_map(slice).collect()
}

/// What lies behind the last span. An account of the whole request, as its front end saw it, ends where the server does;
/// slices of a core end before the answer is written.
fn tail(slices: &[Slice]) -> Stage {
    let whole = |slice: &Slice| matches!(slice.stage, Stage::FrontEnd | Stage::Detokenize);
    if slices.iter().any(whole) { Stage::Flush } else { Stage::Delivery }
}

/// What lies between two spans; `None`: nothing that is known.
fn between(before: Option<Stage>, next: Option<Stage>, tail: Stage) -> Option<Stage> {
    let Some(next) = next else { return before.map(|_| tail) };
    match (before, next) {
        (None | Some(Stage::Network), Stage::Network | Stage::Tokenize | Stage::EngineInput) => Some(Stage::Network),
        (None | Some(Stage::Network), Stage::FrontEnd | Stage::PrefillPool) => Some(Stage::Network),
        (None | Some(Stage::Network), _) => Some(Stage::Intake),
        (Some(Stage::Tokenize), Stage::Queue | Stage::Prefill) => Some(Stage::EngineInput),
        (Some(Stage::Prefill | Stage::PrefillPool), Stage::KvTransfer | Stage::HandOver | Stage::DecodePool)
        | (Some(Stage::KvTransfer), _) => Some(Stage::KvTransfer),
        _ => None,
    }
}
