//! Rates, shares, counters and stage means: one value a window.

use super::{
    columns::Columns,
    reading::{Cell, Reading},
};
use crate::measure::counters::growth_in;
use firstcheck_model::{
    evidence::RunEvidence,
    fingerprint::field,
    metric::Metric,
    moment::{Moment, Window},
    request::{Fate, Request},
    run::Origin,
    signal::{Part, Signal},
};
use firstcheck_stats::ratio::ratio_of_sums;

/// The cell of a metric that has one value a window; `None` where the source does not give it.
pub(super) fn cell(run: &RunEvidence, columns: &Columns, reading: &Reading, metric: Metric) -> Option<Cell> {
    let offered = columns.lines.len() as u64;
    let good = reading.good;
    match metric {
        Metric::OutputThroughput => {
            throughput(run, columns, |r| r.output_tokens.map(f64::from)).or_else(|| rate(run, Signal::GenerationTokens))
        }
        Metric::InputThroughput => {
            throughput(run, columns, |r| r.prompt_tokens.map(f64::from)).or_else(|| rate(run, Signal::PromptTokens))
        }
        Metric::RequestThroughput => throughput(run, columns, |_| Some(1.0)).or_else(|| rate(run, Signal::Finished)),
        Metric::Goodput => {
            let seconds = served(run)?.length()?.0;
            let good = good?.share() * offered as f64;
            (seconds > 0.0).then(|| Cell::over(Some(good / seconds), offered))
        }
        Metric::GoodShare => Some(Cell::over(Some(good?.share()), offered)),
        Metric::FailedShare => {
            (offered > 0).then(|| Cell::over(Some(columns.unanswered() as f64 / offered as f64), offered))
        }
        Metric::Preemptions => growth(run, Signal::Preemptions, Part::Value).map(|g| Cell::over(Some(g), 1)),
        Metric::HitRate => {
            let hits = growth(run, Signal::PrefixHits, Part::Value)?;
            let queries = growth(run, Signal::PrefixQueries, Part::Value)?;
            Some(Cell::over(ratio_of_sums([(hits, queries)]), queries as u64))
        }
        Metric::KvCapacity => {
            let blocks = run.info.fingerprint.number(field::KV_BLOCKS)?;
            let size = run.info.fingerprint.number(field::KV_BLOCK_SIZE)?;
            Some(Cell::over(Some(blocks * size), 1))
        }
        Metric::TtftServer => stage_mean(run, Signal::Ttft),
        Metric::ItlServer => stage_mean(run, Signal::Itl),
        Metric::QueueTime => stage_mean(run, Signal::QueueTime),
        Metric::PrefillTime => stage_mean(run, Signal::PrefillTime),
        Metric::DecodeTime => stage_mean(run, Signal::DecodeTime),
        _ => None,
    }
}

/// Growth of a counter over the window, over all its series; `None` without one, or where one of them cannot be told: a
/// sum over some of the replicas would be taken for the whole.
pub(super) fn growth(run: &RunEvidence, signal: Signal, part: Part) -> Option<f64> {
    growth_in(std::slice::from_ref(run), signal, part).ok().map(|growth| growth.value)
}

/// Mean of a histogram over the window: growth of its sum over growth of its count.
pub(super) fn stage_mean(run: &RunEvidence, signal: Signal) -> Option<Cell> {
    let sum = growth(run, signal, Part::Sum)?;
    let count = growth(run, signal, Part::Count)?;
    Some(Cell::over(ratio_of_sums([(sum, count)]), count as u64))
}

/// What a server counted over the window, a second, where no client tells: of what others asked of it.
fn rate(run: &RunEvidence, signal: Signal) -> Option<Cell> {
    let seconds = run.info.window.filter(|_| run.info.origin == Origin::Observed)?.length()?.0;
    let growth = growth(run, signal, Part::Value)?;
    (seconds > 0.0).then(|| Cell::over(Some(growth / seconds), 1))
}

/// The window over which answers are counted: the measured one, else from the first send to the last end.
fn served(run: &RunEvidence) -> Option<Window> {
    if run.info.window.is_some() {
        return run.info.window;
    }
    let start = run.requests.0.iter().map(Request::origin).filter(|t| t.reached()).min()?;
    let end = run.requests.0.iter().map(end).filter(|t| t.reached()).max()?;
    Some(Window { start, end: end.plus_ns(1) })
}

fn end(request: &Request) -> Moment {
    request.done.max(request.last_token)
}

/// What completed within the window, a second. A request counts where it ends, whenever it was offered: in an open loop
/// beyond capacity that is the server's rate and not the offered one.
fn throughput(run: &RunEvidence, columns: &Columns, weight: impl Fn(&Request) -> Option<f64>) -> Option<Cell> {
    if columns.lines.is_empty() {
        return None;
    }
    let window = served(run)?;
    // An imported window ends with the last answer, which may be its own last moment.
    let inside = |r: &&Request| window.start <= end(r) && end(r) <= window.end;
    let (mut sum, mut n) = (0.0, 0);
    for request in run.requests.0.iter().filter(|r| r.fate == Fate::Completed).filter(inside) {
        sum += weight(request)?;
        n += 1;
    }
    let seconds = window.length()?.0;
    (seconds > 0.0).then(|| Cell::over(Some(sum / seconds), n))
}
