//! What a result states of all its requests, held against the requests that its lists tell.

use super::{lists::NO_TOKEN, outcome::Outcome};
use firstcheck_model::{
    event::Event,
    moment::Moment,
    request::{Fate, Request},
    run::RunInfo,
};

/// A sum over all requests may differ from the file's own by this share: clients count tokens of some answers twice, once
/// by the server's usage and once by a tokenizer.
const SUM_TOLERANCE: f64 = 0.01;

/// Most failed requests that are added to a file's own: more than any client sends, so that a damaged count fills no memory.
const MOST_WITHOUT_A_ROW: u64 = 1_000_000;

/// A stream may have this many events more than tokens, and this many times as many: events of its role and its end carry
/// none, and a tokenizer may make fewer tokens of a text than the server did.
const EVENTS_MORE: u64 = 4;
const EVENTS_TIMES: f64 = 1.5;

/// Counts and sums that a file states; `None` where it does not.
#[derive(Debug, Default)]
pub(super) struct Stated {
    completed: Option<f64>,
    failed: Option<f64>,
    offered: Option<f64>,
    input_tokens: Option<f64>,
    output_tokens: Option<f64>,
}

impl Stated {
    /// What `result` states.
    pub(super) fn of(result: &Outcome) -> Self {
        Self {
            completed: result.number("completed"),
            failed: result.number("failed"),
            offered: result.number("num_prompts"),
            input_tokens: result.number("total_input_tokens"),
            output_tokens: result.number("total_output_tokens"),
        }
    }

    /// Says in `info` where the requests tell otherwise. Failed requests that have no row of their own are added: they were
    /// offered.
    pub(super) fn hold(&self, requests: &mut Vec<Request>, events: &[Event], info: &mut RunInfo) {
        let tokens = |of: fn(&Request) -> Option<u32>, requests: &[Request]| -> f64 {
            requests.iter().filter_map(of).map(f64::from).sum()
        };
        let (outputs, inputs) = (tokens(|r| r.output_tokens, requests), tokens(|r| r.prompt_tokens, requests));
        let answered = tokens(|r| r.prompt_tokens.filter(|_| r.fate == Fate::Completed), requests);
        self.counts(requests, info);
        let sums = [
            ("output tokens", self.output_tokens, [outputs, outputs]),
            // Some versions add up the answered alone.
            ("prompt tokens", self.input_tokens, [inputs, answered]),
        ];
        for (what, stated, told) in sums {
            if let Some(stated) = stated.filter(|stated| told.iter().all(|told| apart(*stated, *told))) {
                info.contradictions.push(format!(
                    "the file contradicts itself: it counts {stated} {what}, its requests add up to {}",
                    told[0]
                ));
            }
        }
        more_events_than_tokens(requests, events, info);
        self.add_failed(requests, info);
    }

    fn counts(&self, requests: &[Request], info: &mut RunInfo) {
        let completed = requests.iter().filter(|r| r.fate == Fate::Completed).count() as f64;
        let silent = requests.iter().filter(|r| r.error.as_deref() == Some(NO_TOKEN)).count() as f64;
        if let Some(said) = self.completed.filter(|said| *said != completed) {
            let told = format!("it counts {said} completed requests, its rows show {completed}");
            if said > completed && said <= completed + silent {
                // A client may take an answer without a token for a good one: that is a definition.
                info.warnings.push(format!("{told}: {silent} answers hold no token, and count as failed here"));
            } else {
                info.contradictions.push(format!("the file contradicts itself: {told} (by errors and output tokens)"));
            }
        }
        if let (Some(completed), Some(failed), Some(offered)) = (self.completed, self.failed, self.offered)
            && completed + failed > offered
        {
            info.contradictions.push(format!(
                "the file contradicts itself: {completed} completed and {failed} failed requests are more than the \
                 {offered} it offered"
            ));
        }
    }

    /// Adds the failed requests that the file counts and does not list.
    fn add_failed(&self, requests: &mut Vec<Request>, info: &mut RunInfo) {
        let listed = requests.iter().filter(|r| r.fate != Fate::Completed).count();
        let Some(failed) = self.failed.filter(|failed| *failed > listed as f64) else { return };
        let without = failed - listed as f64;
        if without.fract() != 0.0 || without > MOST_WITHOUT_A_ROW as f64 {
            let said =
                format!("the file contradicts itself: it counts {failed} failed requests, its rows show {listed}");
            info.contradictions.push(said);
            return;
        }
        info.warnings.push(format!(
            "the file counts {failed} failed requests, its rows show {listed}: the other {without} count as offered and \
             failed"
        ));
        let lost = Request {
            fate: Fate::Failed,
            error: Some("counted as failed, without a row of its own".into()),
            ..Request::offered(Moment::NEVER)
        };
        requests.extend(std::iter::repeat_n(lost, without as usize));
    }
}

fn apart(stated: f64, told: f64) -> bool {
    (stated - told).abs() > SUM_TOLERANCE * stated.abs().max(told.abs())
}

/// Every event of a stream carries a token, but for a few.
fn more_events_than_tokens(requests: &[Request], events: &[Event], info: &mut RunInfo) {
    let mut of_stream = vec![0_u64; requests.len()];
    for event in events {
        if let Some(count) = of_stream.get_mut(event.request as usize) {
            *count += 1;
        }
    }
    let more = |(request, events): &(&Request, &u64)| {
        request.output_tokens.is_some_and(|tokens| {
            **events > u64::from(tokens) + EVENTS_MORE && **events as f64 > EVENTS_TIMES * f64::from(tokens)
        })
    };
    let found: Vec<_> = requests.iter().zip(&of_stream).filter(more).collect();
    let completed = requests.iter().filter(|r| r.fate == Fate::Completed).count();
    if let Some((request, events)) = found.first() {
        super::contradictions::say(
            format!(
                "{} streams have more events than tokens (the first: {events} events, {} tokens)",
                found.len(),
                request.output_tokens.unwrap_or_default()
            ),
            (found.len(), completed),
            info,
        );
    }
}
