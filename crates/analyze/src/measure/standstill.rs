//! How long requests were in flight while nothing moved at all.

use super::counters::runs_of;
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    moment::{Moment, Window},
    request::{Fate, Request},
    run::ClockKind,
    signal::{Part, Signal},
    unit::{Bytes, Count, Seconds, Tokens},
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
    /// Tokens of prompts and answers that the servers counted in its later half: a client that gets nothing does not see
    /// whether others do.
    pub counted: Result<Measurement<Tokens>, Missing>,
    /// Bytes that the servers loaded from a second KV tier in its later half. `None`: not told.
    pub loaded: Option<Measurement<Bytes>>,
    /// Most requests that the servers held at a time in its later half, running or waiting. `None`: not told.
    pub held: Option<Measurement<Count>>,
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
        let believable = |counted: &Measurement<Tokens>| last.is_none() || counted.n > 0;
        let counted = counted(run, Window { start: from, end: to });
        let counted = counted.filter(believable).ok_or_else(not_counted);
        let held = held(run, Window { start: from, end: to });
        let loaded = loaded(run, Window { start: from, end: to });
        Some(Stop { length, ended, usual: ended.then(|| usual(&sent, to)).flatten(), counted, loaded, held })
    };
    match (first, last) {
        (Some(first), Some(last)) => {
            let end = given_up(last).and_then(|end| stop(last.max(pending_since(&sent, last)), end, false));
            Some((stop(start, first, true)?, end))
        }
        _ => Some((stop(start, given_up(start)?, false)?, None)),
    }
}

/// Tokens of prompts and answers that all pages counted from the middle of a window to its end; `n` are those of the whole
/// run. `None` where a page was not read often enough in it, or counts backwards as one does behind which several
/// processes answer.
fn counted(run: &RunEvidence, window: Window) -> Option<Measurement<Tokens>> {
    let (mut sum, mut whole, mut any) = (0.0, 0.0, false);
    for signal in [Signal::GenerationTokens, Signal::PromptTokens] {
        for series in run.series(signal, Part::Value) {
            let values: Vec<f64> = series.inside(Some(window)).map(|(_, value)| value).collect();
            if values.len() < FEWEST_SAMPLES || !values.is_sorted() {
                return None;
            }
            sum += values[values.len() - 1] - values[values.len() / 2];
            whole += series.value.last().copied().unwrap_or(0.0);
            any = true;
        }
    }
    let source =
        Source::Derived { by: "token counters of all servers".into(), from: runs_of(std::slice::from_ref(run)) };
    any.then_some(Measurement { value: Tokens(sum), interval: None, n: whole as u64, source })
}

/// Bytes that all pages counted as loaded from a second KV tier from the middle of a window to its end.
fn loaded(run: &RunEvidence, window: Window) -> Option<Measurement<Bytes>> {
    let grown = run.series(Signal::KvLoadedBytes, Part::Value).filter_map(|series| {
        let values: Vec<f64> = series.inside(Some(window)).map(|(_, value)| value).collect();
        let told = values.len() >= FEWEST_SAMPLES && values.is_sorted();
        told.then(|| (values[values.len() - 1] - values[values.len() / 2]) * series.unit_factor())
    });
    let value = grown.reduce(|sum, one| sum + one)?;
    let source =
        Source::Derived { by: "bytes loaded from a second KV tier".into(), from: runs_of(std::slice::from_ref(run)) };
    Some(Measurement { value: Bytes(value), interval: None, n: 1, source })
}

/// Most requests that a page showed at a time from the middle of a window to its end; `None` where a page was not read
/// often enough in it.
fn held(run: &RunEvidence, window: Window) -> Option<Measurement<Count>> {
    let mut most: Option<f64> = None;
    for signal in [Signal::Running, Signal::Waiting] {
        for series in run.series(signal, Part::Value) {
            let values: Vec<f64> = series.inside(Some(window)).map(|(_, value)| value).collect();
            let later = values.get(values.len() / 2..).filter(|_| values.len() >= FEWEST_SAMPLES)?;
            most = later.iter().copied().chain(most).reduce(f64::max);
        }
    }
    let source = Source::Derived { by: "running and waiting requests of all servers".into(), from: Vec::new() };
    most.map(|value| Measurement { value: Count(value), interval: None, n: 1, source })
}

/// Samples of a page from which it tells whether its server worked: two of them in the later half.
const FEWEST_SAMPLES: usize = 3;

fn not_counted() -> Missing {
    Missing::not_given(
        "the servers' token counters while no token came: an engine that works for others does not hang",
        "scrape /metrics every 5 s meanwhile: firstcheck run --url URL does; or dump every rank: py-spy dump --pid PID",
    )
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
