//! How long requests were in flight while nothing moved at all.

use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    moment::Moment,
    request::{Fate, Request},
    run::ClockKind,
    unit::Seconds,
};

/// The longest standstills of a side's runs: before their first token, and after their last one.
#[derive(Debug, Clone, PartialEq)]
pub struct Standstill {
    /// From the first request to the first token of any; to the end of the last attempt where none ever came.
    pub at_start: Stop,
    /// From the last token of any request to the end of the last attempt that waited on; absent where none did.
    pub to_end: Option<Stop>,
}

/// One standstill.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// How long; `n` counts the requests that waited.
    pub length: Measurement<Seconds>,
    /// Whether tokens came after it.
    pub ended: bool,
    /// Median time to first token of the requests that were sent after it; `None` where none was answered.
    pub usual: Option<Seconds>,
}

impl Measure for Standstill {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let runs = side.evidence.runs.iter().filter(|run| run.info.clock.kind != ClockKind::Order);
        let (starts, ends): (Vec<_>, Vec<_>) = runs.filter_map(of_run).unzip();
        let longest = |a: &Stop, b: &Stop| a.length.value.0.total_cmp(&b.length.value.0);
        let at_start = starts
            .into_iter()
            .max_by(longest)
            .ok_or_else(|| Missing::not_given("requests with the times of their tokens", "firstcheck run --url URL"))?;
        Ok(Self { at_start, to_end: ends.into_iter().flatten().max_by(longest) })
    }
}

/// The standstills of a run; `None` where no time of a request is known.
fn of_run(run: &RunEvidence) -> Option<(Stop, Option<Stop>)> {
    let sent: Vec<&Request> = run.requests.0.iter().filter(|request| waited(request)).collect();
    let start = sent.iter().map(|request| request.sent).min()?;
    let tokens = || sent.iter().flat_map(|request| [request.first_token, request.last_token]).filter(|at| at.reached());
    let (first, last) = (tokens().min(), tokens().max());
    let given_up = |after: Moment| {
        let waiting = sent.iter().filter(|request| request.fate != Fate::Completed && request.done > after);
        waiting.map(|request| request.done).max()
    };
    let stop = |from: Moment, to: Moment, ended: bool| {
        let waiting =
            sent.iter().filter(|request| request.sent < to && !(request.done.reached() && request.done < from));
        let n = waiting.count() as u64;
        let source = Source::Requests { run: run.info.id.clone(), count: n, rows: Vec::new() };
        let length = Measurement { value: to.since(from)?, interval: None, n, source };
        Some(Stop { length, ended, usual: ended.then(|| usual(&sent, to)).flatten() })
    };
    match (first, last) {
        (Some(first), Some(last)) => {
            let end = given_up(last).and_then(|end| stop(last.max(pending_since(&sent, last)), end, false));
            Some((stop(start, first, true)?, end))
        }
        _ => Some((stop(start, given_up(start)?, false)?, None)),
    }
}

/// Whether a request was in flight at all: one that was refused, or of which no time is known, waited for nothing.
fn waited(request: &Request) -> bool {
    request.sent.reached() && !matches!(request.fate, Fate::NeverSent | Fate::Rejected | Fate::Failed)
}

/// Since when the requests that were given up after `last` waited: traffic may have ended in between.
fn pending_since(sent: &[&Request], last: Moment) -> Moment {
    let pending = sent.iter().filter(|request| request.fate != Fate::Completed && request.done > last);
    pending.map(|request| request.sent).min().unwrap_or(last)
}

fn usual(sent: &[&Request], after: Moment) -> Option<Seconds> {
    let later = sent.iter().filter(|request| request.sent >= after);
    let mut times: Vec<f64> = later.filter_map(|request| Some(request.first_token.since(request.sent)?.0)).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().map(Seconds)
}
