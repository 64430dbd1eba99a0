//! Spans joined to the requests of a run.

use super::{
    belongs::Rows,
    clocks::{Offset, offsets},
    stages::{Timed, told},
    traced::Traced,
};
use firstcheck_model::{moment::Moment, request::Requests, run::Clock, span::StageSpan, trace_span::TraceSpan};
use std::collections::{BTreeMap, BTreeSet};

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
    /// Instances whose clock nothing bounds; their times are left as they are. `None`: spans that name no instance.
    pub unplaced: Vec<Option<String>>,
}

/// Joins spans to requests by the trace id that was sent with each request (`traceparent`), or by the request id where
/// somebody on the way made up a trace of his own. Times are moved onto the client's clock: what must come before what
/// bounds the offset of each instance's clock; the middle of the tightest bounds is used, and how far it may be off is
/// stated. Where `clock` has no Unix time nothing can be joined.
pub fn join_spans(spans: &[TraceSpan], requests: &Requests, clock: Clock) -> Joined {
    let mut result = Joined::default();
    let Some(started) = clock.started_unix_ns else {
        result.others = spans.len();
        return result;
    };
    let rows = Rows::new(requests, spans);
    let placed: Vec<(usize, &TraceSpan)> = spans.iter().filter_map(|span| Some((rows.of(span)?, span))).collect();
    (result.joined, result.others) = (placed.len(), spans.len() - placed.len());
    let offsets = offsets(&placed, requests, started);
    let instances: BTreeSet<Option<&str>> = placed.iter().map(|(_, span)| span.instance.as_deref()).collect();
    let unplaced = instances.into_iter().filter(|instance| !offsets.contains_key(instance));
    result.unplaced = unplaced.map(|instance| instance.map(str::to_owned)).collect();
    let mut by_request: BTreeMap<usize, Traced> = BTreeMap::new();
    for (row, span) in placed {
        let offset = offsets.get(&span.instance.as_deref());
        let shift = offset.map_or(0, |offset| (offset.seconds.0 * 1e9).round() as i64);
        by_request.entry(row).or_default().add(told(span), shift.saturating_sub(started), span.instance.as_deref());
    }
    for (row, request) in by_request {
        let stage = |(Timed { stage, start, end }, instance): (Timed, Option<&str>)| StageSpan {
            request: row as u32,
            stage,
            start: Moment::at(start),
            end: Moment::at(end),
            replica: instance.map(str::to_owned),
        };
        result.stages.extend(request.stages().into_iter().map(stage));
    }
    result.offsets = offsets.into_values().collect();
    result.stages.sort_by_key(|span| (span.request, span.start));
    result
}

impl Joined {
    /// What a reader should know of the clocks, in words: each that was moved, how well the others agree.
    pub fn clocks(&self) -> Vec<String> {
        let whose = |instance: &Option<String>| instance.clone().unwrap_or_else(|| "the server".into());
        let mut said = Vec::new();
        let (kept, moved): (Vec<&Offset>, Vec<&Offset>) =
            self.offsets.iter().partition(|offset| offset.seconds.0 == 0.0 && offset.consistent);
        for offset in moved {
            let (by, about) = (offset.seconds.0 * 1e3, offset.uncertainty.0 * 1e3);
            let doubt = if offset.consistent { "" } else { "; no one offset fits all requests, the clock moved" };
            let (whose, requests) = (whose(&offset.instance), offset.requests);
            said.push(format!(
                "spans of {whose} were moved by {by:.3} ms (± {about:.3} ms, from {requests} requests){doubt}"
            ));
        }
        let widest = kept.iter().map(|offset| offset.uncertainty.0).fold(0.0, f64::max) * 1e3;
        match &kept[..] {
            [] => {}
            [one] => said.push(format!(
                "spans of {} were not moved: its clock agrees with the client's within {widest:.3} ms",
                whose(&one.instance)
            )),
            several => said.push(format!(
                "spans of {} instances were not moved: their clocks agree with the client's within {widest:.3} ms",
                several.len()
            )),
        }
        for instance in &self.unplaced {
            said.push(format!("the clock of {} is not known: its spans were not moved", whose(instance)));
        }
        said
    }
}
