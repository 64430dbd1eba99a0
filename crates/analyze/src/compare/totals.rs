//! Rates, shares, counters and stage means: one value a window.

use super::{
    columns::Columns,
    policy::Policy,
    reading::{Cell, Reading},
};
use crate::measure::{
    counters::{growth_in, mean_in},
    prefix_hits::PrefixHits,
};
use firstcheck_model::{
    evidence::RunEvidence,
    fingerprint::field,
    metric::Metric,
    moment::{Moment, Window},
    request::{Fate, Request},
    run::Origin,
    signal::{Part, Signal},
};

/// The cell of a metric that has one value a window; `None` where the source does not give it.
pub(super) fn cell(
    run: &RunEvidence,
    columns: &Columns,
    reading: &Reading,
    metric: Metric,
    policy: &Policy,
) -> Option<Cell> {
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
            let hits = PrefixHits::of(std::slice::from_ref(run)).ok()?.rate;
            Some(Cell::over(Some(hits.value.0), hits.n))
        }
        Metric::KvCapacity => {
            let of = |name| run.info.fingerprint.number(name);
            let stated = of(field::KV_BLOCKS).zip(of(field::KV_BLOCK_SIZE)).map(|(blocks, size)| blocks * size);
            one(stated.or(reading.told.kv_tokens))
        }
        Metric::WeightMemory => one(reading.told.weights),
        Metric::NonKvMemory => one(reading.told.non_kv),
        Metric::StartUpTime => one(reading.told.start_up),
        Metric::GpuTimePerGood => one(gpu_time_per_good(run, reading, policy)),
        Metric::CostPerGood => {
            let hours = gpu_time_per_good(run, reading, policy)? / 3_600.0;
            one(policy.cost_per_gpu_hour.map(|cost| cost * hours))
        }
        Metric::TtftServer => stage_mean(run, Signal::Ttft),
        Metric::ItlServer => stage_mean(run, Signal::Itl),
        Metric::QueueTime => stage_mean(run, Signal::QueueTime),
        Metric::PrefillTime => stage_mean(run, Signal::PrefillTime),
        Metric::DecodeTime => stage_mean(run, Signal::DecodeTime),
        _ => None,
    }
}

/// A value that a run has one of; `None` where it is not known.
fn one(value: Option<f64>) -> Option<Cell> {
    value.map(|value| Cell::over(Some(value), 1))
}

/// GPU-seconds of the window over its good requests: `+∞` where none was good.
fn gpu_time_per_good(run: &RunEvidence, reading: &Reading, policy: &Policy) -> Option<f64> {
    let gpus = policy.gpus.or_else(|| run.info.fingerprint.number(field::GPU_COUNT)).filter(|gpus| *gpus > 0.0)?;
    let seconds = served(run)?.length()?.0;
    let good = reading.good?.share() * reading.offered as f64;
    (seconds > 0.0).then(|| gpus * seconds / good)
}

/// Growth of a counter over the window, over all its series; `None` without one, or where one of them cannot be told: a
/// sum over some of the replicas would be taken for the whole.
pub(super) fn growth(run: &RunEvidence, signal: Signal, part: Part) -> Option<f64> {
    growth_in(std::slice::from_ref(run), signal, part).ok().map(|growth| growth.value)
}

/// Mean of a histogram over the window.
fn stage_mean(run: &RunEvidence, signal: Signal) -> Option<Cell> {
    let mean = mean_in(std::slice::from_ref(run), signal).ok()?;
    Some(Cell::over(Some(mean.value.0), mean.n))
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
    if run.requests.0.iter().any(|r| r.fate == Fate::Completed && !end(r).reached()) {
        return None;
    }
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
