//! Trace ids that the client sends, and the spans that the servers export under them.

use super::truth::Truth;
use crate::{
    deployment::Deployment,
    emit::{
        attachment::Attachment,
        calendar::WallClock,
        spans::{RequestSpan, export},
    },
    kv_cache::hash::mix,
    request::Life,
};
use firstcheck_model::request::Requests;

/// Spans that an exporter sends at once.
const BATCH: usize = 512;

/// The ids of a request: of its trace, and of the client's span in it.
struct Ids {
    trace: String,
    parent: String,
    /// Of the server that answers.
    span: String,
    /// Of the server that computes the prompt for another one.
    prefill: String,
}

impl Ids {
    fn of(seed: u64, row: usize) -> Self {
        let draw = |salt: u64| mix(seed ^ mix(row as u64 ^ (salt << 56)));
        // An id of zero is invalid.
        Self {
            trace: format!("{:016x}{:016x}", draw(1), draw(2) | 1),
            parent: format!("{:016x}", draw(3) | 1),
            span: format!("{:016x}", draw(4) | 1),
            prefill: format!("{:016x}", draw(5) | 1),
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

/// A request as one server knows it.
struct Known<'t> {
    row: usize,
    life: &'t Life,
    prompt_tokens: u32,
    output_tokens: u32,
    /// Whether it computed the prompt for another one.
    prefill: bool,
}

/// What replica `replica` knows, in order of the requests' ends.
fn known(truth: &Truth, replica: usize) -> Vec<Known<'_>> {
    let mut all = Vec::new();
    for (row, request) in truth.requests.iter().enumerate().filter_map(|(row, one)| Some((row, one.as_ref()?))) {
        let (prompt_tokens, output_tokens) = (request.prompt_tokens, request.output_tokens);
        if request.replica as usize == replica {
            all.push(Known { row, life: &request.life, prompt_tokens, output_tokens, prefill: false });
        }
        let first = request.handed_over.as_ref().filter(|pools| pools.prefill_replica as usize == replica);
        all.extend(first.map(|pools| Known {
            row,
            life: &pools.prefill,
            prompt_tokens,
            output_tokens: 1,
            prefill: true,
        }));
    }
    all.sort_by_key(|one| (one.life.last_token_ns, one.row));
    all
}

/// What the servers export: a line a batch, replica by replica, in order of the requests' ends.
pub(super) fn traces(truth: &Truth, requests: &Requests, deployment: &Deployment, seed: u64) -> Attachment {
    let zero_unix_ns = WallClock::default().unix_ns(0);
    let mut text = String::new();
    for replica in 0..deployment.replicas.len() {
        let span = |one: &Known| {
            let ids = Ids::of(seed, one.row);
            let asked = requests.0.get(one.row).and_then(|request| request.requested_tokens);
            RequestSpan {
                request_id: format!("cmpl-{}-0", ids.trace),
                trace_id: ids.trace,
                parent_id: Some(ids.parent),
                span_id: if one.prefill { ids.prefill } else { ids.span },
                prompt_tokens: one.prompt_tokens,
                output_tokens: one.output_tokens,
                max_tokens: if one.prefill { Some(1) } else { asked },
                life: *one.life,
            }
        };
        for batch in known(truth, replica).chunks(BATCH) {
            let spans: Vec<RequestSpan> = batch.iter().map(span).collect();
            let pid = 2375 + 1000 * replica as u32;
            text.push_str(&export(&deployment.name_of(replica), pid, zero_unix_ns, &spans));
            text.push('\n');
        }
    }
    Attachment::text("traces.jsonl", text)
}
