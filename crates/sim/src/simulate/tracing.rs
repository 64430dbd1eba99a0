//! Trace ids that the client sends, and the spans that the servers export under them.

use super::truth::{RequestTruth, Truth};
use crate::{
    deployment::Deployment,
    emit::{
        attachment::Attachment,
        calendar::WallClock,
        spans::{RequestSpan, export},
    },
    kv_cache::hash::mix,
};
use firstcheck_model::request::Requests;

/// Spans that an exporter sends at once.
const BATCH: usize = 512;

/// The ids of a request: of its trace, and of the client's span in it.
struct Ids {
    trace: String,
    parent: String,
    span: String,
}

impl Ids {
    fn of(seed: u64, row: usize) -> Self {
        let draw = |salt: u64| mix(seed ^ mix(row as u64 ^ (salt << 56)));
        // An id of zero is invalid.
        Self {
            trace: format!("{:016x}{:016x}", draw(1), draw(2) | 1),
            parent: format!("{:016x}", draw(3) | 1),
            span: format!("{:016x}", draw(4) | 1),
        }
    }
}

/// Gives every request that was sent its trace id.
pub(super) fn mark(requests: &mut Requests, seed: u64) {
    for (row, request) in requests.0.iter_mut().enumerate() {
        if request.sent.reached() {
            request.trace_id = Some(Ids::of(seed, row).trace);
        }
    }
}

/// What the servers export: a line a batch, replica by replica, in order of the requests' ends.
pub(super) fn traces(truth: &Truth, requests: &Requests, deployment: &Deployment, seed: u64) -> Attachment {
    let zero_unix_ns = WallClock::default().unix_ns(0);
    let mut text = String::new();
    for replica in 0..deployment.replicas.len() {
        let told = truth.requests.iter().enumerate().filter_map(|(row, request)| Some((row, request.as_ref()?)));
        let mut own: Vec<(usize, &RequestTruth)> =
            told.filter(|(_, request)| request.replica as usize == replica).collect();
        own.sort_by_key(|(row, request)| (request.life.last_token_ns, *row));
        let span = |(row, request): &(usize, &RequestTruth)| {
            let ids = Ids::of(seed, *row);
            RequestSpan {
                request_id: format!("cmpl-{}-0", ids.trace),
                trace_id: ids.trace,
                parent_id: Some(ids.parent),
                span_id: ids.span,
                prompt_tokens: request.prompt_tokens,
                output_tokens: request.output_tokens,
                max_tokens: requests.0.get(*row).and_then(|request| request.requested_tokens),
                life: request.life,
            }
        };
        for batch in own.chunks(BATCH) {
            let spans: Vec<RequestSpan> = batch.iter().map(span).collect();
            let pid = 2375 + 1000 * replica as u32;
            text.push_str(&export(&deployment.name_of(replica), pid, zero_unix_ns, &spans));
            text.push('\n');
        }
    }
    Attachment::text("traces.jsonl", text)
}
