//! To which request of a run a span belongs.

use firstcheck_model::{request::Requests, trace_span::TraceSpan};
use std::collections::HashMap;

/// Attributes that carry the request id which the client sent (`x-request-id`), as engines, gateways and proxies call them.
const REQUEST_IDS: [&str; 7] = [
    "gen_ai.request.id",
    "llm_d.pd_proxy.request_id",
    "http.request.header.x-request-id",
    "http.request.header.x_request_id",
    "guid:x-request-id",
    "x_request_id",
    "request_id",
];

/// Finds the rows of spans.
pub(super) struct Rows<'s> {
    /// By the trace id that was sent.
    sent: HashMap<&'s str, usize>,
    /// By a trace id that somebody on the way made up; `None`: its spans name several requests.
    made_up: HashMap<&'s str, Option<usize>>,
}

impl<'s> Rows<'s> {
    /// The rows of `requests`, with the traces among `spans` that a request id ties to one.
    pub(super) fn new(requests: &'s Requests, spans: &'s [TraceSpan]) -> Self {
        let sent = requests.0.iter().enumerate();
        let sent: HashMap<&str, usize> =
            sent.filter_map(|(row, request)| Some((request.trace_id.as_deref()?, row))).collect();
        let mut made_up: HashMap<&str, Option<usize>> = HashMap::new();
        for span in spans.iter().filter(|span| !sent.contains_key(span.trace_id.as_str())) {
            let Some(row) = named(span, &sent) else { continue };
            let known = made_up.entry(&span.trace_id).or_insert(Some(row));
            *known = known.filter(|known| *known == row);
        }
        Self { sent, made_up }
    }

    /// The row of `span`: by its trace id, by its request id, or because another span of its trace has one.
    pub(super) fn of(&self, span: &TraceSpan) -> Option<usize> {
        let trace = span.trace_id.as_str();
        let sent = self.sent.get(trace).copied();
        sent.or_else(|| named(span, &self.sent)).or_else(|| *self.made_up.get(trace)?)
    }
}

/// The row whose trace id stands in a request id of the span: engines put their own words around it
/// (`chatcmpl-…-0`).
fn named(span: &TraceSpan, sent: &HashMap<&str, usize>) -> Option<usize> {
    let ids = REQUEST_IDS.iter().filter_map(|name| span.attributes.text(name));
    let mut words = ids.flat_map(|id| id.split(|c: char| !c.is_ascii_hexdigit()));
    words.find_map(|word| sent.get(word).copied())
}
