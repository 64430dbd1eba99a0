//! Requests out of a result's lists, an entry a request.
//!
//! Requests carry no flag of success: one with an error text, or without a single output token, has failed. Lists that
//! hold no send times give requests with their fate and lengths, which stand at no moment: no latency is taken of them.

use super::{contradictions, failure, outcome::Outcome, rows::At, stated::Stated};
use crate::Error;
use firstcheck_model::{
    event::Event,
    metric::Metric,
    moment::Moment,
    recording::Recording,
    request::{Fate, Request, Requests},
    run::{Detail, Reported, RunInfo},
};

/// The requests of a detailed result.
pub(super) struct Lists {
    pub(super) requests: Vec<Request>,
    events: Vec<Event>,
    placed: bool,
    /// Whether gaps are between chunks.
    chunks: bool,
    streaming: Option<bool>,
}

impl Outcome {
    /// Its requests; `None` where it was saved without the lists that tell them.
    ///
    /// # Errors
    /// Where a list is of another length than the others, or an entry is no value of its kind.
    pub(super) fn requests(&self, at: &At<'_>) -> Result<Option<Lists>, Error> {
        let (Some(inputs), Some(outputs), Some(ttfts), Some(itls)) =
            (&self.input_lens, &self.output_lens, &self.ttfts, &self.itls)
        else {
            return Ok(None);
        };
        let starts = self.start_times.as_ref().filter(|starts| !starts.is_empty() || inputs.is_empty());
        let or_all = |list: Option<usize>| list.unwrap_or(inputs.len());
        let lists = [
            ("output_lens", outputs.len()),
            ("ttfts", ttfts.len()),
            ("itls", itls.len()),
            ("start_times", or_all(starts.map(Vec::len))),
            ("latencies", or_all(self.latencies.as_ref().map(Vec::len))),
            ("errors", or_all(self.errors.as_ref().map(Vec::len))),
        ];
        if let Some((name, len)) = lists.into_iter().find(|(_, len)| *len != inputs.len()) {
            return Err(at.error(format!("{name} has {len} entries, input_lens {}", inputs.len())));
        }
        let first = starts.into_iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let mut events = Vec::new();
        let mut requests = Vec::with_capacity(inputs.len());
        for row in 0..inputs.len() {
            let start = starts.and_then(|starts| starts.get(row));
            let sent = start.map(|start| at.nanoseconds("start_times", row, start - first)).transpose()?;
            requests.push(request(self, at, row, sent.map_or(Moment::NEVER, Moment::at), &mut events)?);
        }
        let streaming = streamed(itls, &requests);
        Ok(Some(Lists { requests, events, placed: starts.is_some(), chunks: true, streaming }))
    }
}

impl Lists {
    /// How much the run knows, and the figures that only the file itself can give: `printed` ones where no request stands
    /// at a moment.
    pub(super) fn detail(&self, printed: impl FnOnce() -> Vec<Reported>) -> (Detail, Vec<Reported>) {
        match (self.placed, self.chunks) {
            (true, true) => (Detail::Events, Vec::new()),
            (true, false) => {
                let of_tokens = printed().into_iter().filter(|figure| figure.metric == Metric::Itl);
                (Detail::Requests, of_tokens.collect())
            }
            (false, _) => (Detail::Requests, printed()),
        }
    }

    /// Without moments of chunks: the client divided the gap before a chunk by its tokens, so that none is between chunks.
    pub(super) fn by_token(mut self) -> Self {
        self.events.clear();
        self.chunks = false;
        self
    }

    /// The recording, with what the file states of all requests held against them.
    pub(super) fn into_recording(mut self, mut info: RunInfo, stated: &Stated) -> Recording {
        info.workload.streaming = self.streaming;
        if !self.placed {
            info.warnings.push(
                "the file has no start_times, so its requests cannot be placed in time: their fates and lengths are \
                 read, latencies are those it prints (newer versions of vLLM's client save them)"
                    .into(),
            );
        }
        stated.hold(&mut self.requests, &self.events, &mut info);
        contradictions::of_requests(
            &self.requests,
            ("have latencies and itls that end apart", &ends_elsewhere),
            &mut info,
        );
        Recording {
            info,
            requests: Requests(self.requests),
            events: self.events,
            signals: Vec::new(),
            spans: Vec::new(),
        }
    }
}

fn request(result: &Outcome, at: &At<'_>, row: usize, sent: Moment, events: &mut Vec<Event>) -> Result<Request, Error> {
    let list = |values: &Option<Vec<f64>>| values.as_ref().and_then(|values| values.get(row).copied()).unwrap_or(0.0);
    let mut request = Request { sent, ..Request::offered(Moment::NEVER) };
    request.prompt_tokens = Some(at.tokens("input_lens", row, list(&result.input_lens))?);
    let output = at.tokens("output_lens", row, list(&result.output_lens))?;
    if sent.reached() {
        let ttft = list(&result.ttfts);
        let gaps = result.itls.as_ref().and_then(|itls| itls.get(row)).map_or(&[][..], Vec::as_slice);
        let mut last = None;
        // A request that never saw a token has 0 here.
        if ttft != 0.0 {
            request.first_token = sent.plus_ns(at.nanoseconds("ttfts", row, ttft)?);
            let seconds = at.events(row, ttft, gaps, events)?;
            request.last_token = sent.plus_ns(at.nanoseconds("the last token", row, seconds)?);
            last = Some(seconds);
        }
        // Likewise 0 without an end.
        let latency = Some(list(&result.latencies)).filter(|latency| *latency != 0.0).or(last);
        if let Some(latency) = latency {
            request.done = sent.plus_ns(at.nanoseconds("latencies", row, latency)?);
        }
    }
    let error = result.errors.as_ref().and_then(|errors| errors.get(row)).and_then(Option::as_deref).unwrap_or("");
    if !error.is_empty() {
        request.fate = failure::fate(error);
        request.error = Some(failure::message(error));
    } else if output == 0 {
        request.fate = Fate::Failed;
        request.error = Some(NO_TOKEN.into());
    } else {
        request.fate = Fate::Completed;
        request.output_tokens = Some(output);
    }
    Ok(request)
}

/// The error of a request that has none of its own and no output either.
pub(super) const NO_TOKEN: &str = "no output token";

/// Whether answers were streamed; `None` where no answer tells. That none arrived says nothing of how they were asked for.
fn streamed(itls: &[Vec<f64>], requests: &[Request]) -> Option<bool> {
    if itls.iter().any(|gaps| !gaps.is_empty()) {
        return Some(true);
    }
    requests.iter().any(|r| r.output_tokens.is_some_and(|tokens| tokens > 1)).then_some(false)
}

/// Whether a streamed answer took longer, or shorter, than its gaps add up to. The Rust client's two sums differ by less.
fn ends_elsewhere(request: &Request) -> bool {
    const ALLOWED_NS: u64 = 10_000_000;
    request.done.ns_since(request.last_token).is_some_and(|apart| apart.unsigned_abs() > ALLOWED_NS)
}
