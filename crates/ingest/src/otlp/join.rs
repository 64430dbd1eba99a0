//! Spans joined to the requests of a run.

use super::stages::{Timed, is_request, of_span};
use firstcheck_model::{
    moment::Moment, request::Requests, run::Clock, span::StageSpan, trace_span::TraceSpan, unit::Seconds,
};
use std::collections::{BTreeMap, HashMap};

/// How far the clock of a service's instance lies from the client's.
#[derive(Debug, Clone, PartialEq)]
pub struct Offset {
    /// The instance; `None`: the spans do not name one.
    pub instance: Option<String>,
    /// What is added to its times.
    pub seconds: Seconds,
    /// How far off the estimate may be.
    pub uncertainty: Seconds,
    /// Requests it rests on.
    pub requests: usize,
    /// Whether every request could be placed between its sending and its end: where not, the clock moved.
    pub consistent: bool,
}

/// What became of the spans.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Joined {
    /// Stages of requests, in order of requests.
    pub stages: Vec<StageSpan>,
    /// Spans that belong to a request of the run.
    pub joined: usize,
    /// Spans that belong to none: of other clients, of the start.
    pub others: usize,
    /// Clock offsets, one an instance.
    pub offsets: Vec<Offset>,
}

/// Joins spans to requests by the trace id that was sent with each request (`traceparent`). Times are moved onto the
/// client's clock: a span that belongs to a request cannot begin before it was sent nor end after its answer did, so
/// each request bounds the offset of an instance's clock from both sides; the middle of the tightest bounds is used, and
/// half their distance is stated as its uncertainty. Where `clock` has no Unix time nothing can be joined.
pub fn join_spans(spans: &[TraceSpan], requests: &Requests, clock: Clock) -> Joined {
    let mut result = Joined::default();
    let Some(started) = clock.started_unix_ns else {
        result.others = spans.len();
        return result;
    };
    let sent = requests.0.iter().enumerate();
    let rows: HashMap<&str, usize> =
        sent.filter_map(|(row, request)| Some((request.trace_id.as_deref()?, row))).collect();
    let mut by_instance: BTreeMap<Option<&str>, Vec<(usize, &TraceSpan)>> = BTreeMap::new();
    for span in spans {
        match rows.get(span.trace_id.as_str()) {
            Some(row) => by_instance.entry(span.instance.as_deref()).or_default().push((*row, span)),
            None => result.others += 1,
        }
    }
    for (instance, spans) in by_instance {
        result.joined += spans.len();
        let offset = offset(instance, &spans, requests, started);
        let shift = offset.as_ref().map_or(0, |offset| (offset.seconds.0 * 1e9).round() as i64);
        result.offsets.extend(offset);
        for (row, span) in spans {
            let moment = |unix: i64| Moment::at(unix.saturating_sub(started).saturating_add(shift));
            result.stages.extend(of_span(span).into_iter().map(|Timed { stage, start, end }| StageSpan {
                request: row as u32,
                stage,
                start: moment(start),
                end: moment(end),
                replica: instance.map(str::to_owned),
            }));
        }
    }
    result.stages.sort_by_key(|span| (span.request, span.start));
    result
}

/// The offset of an instance's clock. Only accounts of whole requests bound it from both sides.
fn offset(instance: Option<&str>, spans: &[(usize, &TraceSpan)], requests: &Requests, started: i64) -> Option<Offset> {
    let (mut lower, mut upper, mut middles) = (i64::MIN, i64::MAX, Vec::new());
    for (row, span) in spans.iter().filter(|(_, span)| is_request(span)) {
        let request = &requests.0[*row];
        let ended = if request.done.reached() { request.done } else { request.last_token };
        let (Some(sent), Some(ended)) = (request.sent.get(), ended.get()) else { continue };
        let least = started.saturating_add(sent).saturating_sub(span.start_unix_ns);
        let most = started.saturating_add(ended).saturating_sub(span.end_unix_ns);
        (lower, upper) = (lower.max(least), upper.min(most));
        middles.push(i64::midpoint(least, most));
    }
    middles.sort_unstable();
    let median = *middles.get(middles.len() / 2)?;
    let consistent = lower <= upper;
    // Bounds that contradict each other say that the clock moved: the median of all is then the better guess. Clocks
    // that agree within the bounds need no correction.
    let value = match consistent {
        true if lower <= 0 && 0 <= upper => 0,
        true => i64::midpoint(lower, upper),
        false => median,
    };
    Some(Offset {
        instance: instance.map(str::to_owned),
        seconds: Seconds(value as f64 * 1e-9),
        uncertainty: Seconds(upper.abs_diff(lower) as f64 * 0.5e-9),
        requests: middles.len(),
        consistent,
    })
}
