//! The metrics that floors are stated in.

use super::super::Played;
use firstcheck_model::{
    evidence::RunEvidence,
    request::{Fate, Request},
    signal::{Part, Signal},
    unit::Seconds,
};
use firstcheck_sim::simulate::RequestTruth;
use firstcheck_stats::quantile::Sample;

fn run(played: &Played) -> Option<&RunEvidence> {
    played.evidence.runs.first()
}

/// Requests of the window.
fn requests(played: &Played) -> impl Iterator<Item = &Request> {
    run(played).into_iter().flat_map(|run| run.window().map(|(_, request)| request))
}

/// Requests that the engine answered, as it knows them.
fn truths(played: &Played) -> impl Iterator<Item = &RequestTruth> {
    played.simulated.truth.requests.iter().flatten()
}

fn quantile(values: impl Iterator<Item = f64>, p: f64) -> Option<f64> {
    Sample::new(values.collect()).ok()?.quantile(p)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

fn latency(played: &Played, of: fn(&Request) -> Option<Seconds>, p: f64) -> Option<f64> {
    quantile(requests(played).filter_map(of).map(|value| value.0), p)
}

pub(super) fn ttft(played: &Played, p: f64) -> Option<f64> {
    latency(played, Request::ttft, p)
}

/// Quantile of the times to first token of the requests that ask for a schema.
pub(super) fn schema_ttft(played: &Played, p: f64) -> Option<f64> {
    let asked = requests(played).filter(|request| request.schema.is_some());
    quantile(asked.filter_map(Request::ttft).map(|value| value.0), p)
}

/// Quantile of the times per output token of the requests that ask for a schema.
pub(super) fn schema_tpot(played: &Played, p: f64) -> Option<f64> {
    let asked = requests(played).filter(|request| request.schema.is_some());
    quantile(asked.filter_map(Request::tpot).map(|value| value.0), p)
}

/// Time to first token of the request that was to be sent first, warm-up or not.
pub(super) fn first_ttft(played: &Played) -> Option<f64> {
    let first = run(played)?.requests.0.iter().min_by_key(|request| request.origin())?;
    Some(first.ttft()?.0)
}

/// Quantile of the times from the moment at which a request was to be sent until the engine first worked on it: what its
/// prompt takes by itself is not in it. One that was never worked on waited without end.
pub(super) fn wait(played: &Played, p: f64) -> Option<f64> {
    let waited = |row: usize| {
        let truth = played.simulated.truth.requests.get(row)?.as_ref()?;
        Some((truth.prompt_life().scheduled_ns? - truth.seen.intended_ns) as f64 * 1e-9)
    };
    quantile(run(played)?.window().map(|(row, _)| waited(row).unwrap_or(f64::INFINITY)), p)
}

/// Quantile of the time that requests waited while the head of the queue did not fit the KV pool: a long prompt that is
/// admitted at once holds others up by its computation alone, which is another cause.
pub(super) fn held_up(played: &Played, p: f64) -> Option<f64> {
    let waited = |row: usize| {
        let truth = played.simulated.truth.requests.get(row)?.as_ref()?;
        Some(truth.prompt_life().held_up_ns as f64 * 1e-9)
    };
    quantile(run(played)?.window().filter_map(|(row, _)| waited(row)), p)
}

pub(super) fn tpot(played: &Played, p: f64) -> Option<f64> {
    latency(played, Request::tpot, p)
}

pub(super) fn e2e(played: &Played, p: f64) -> Option<f64> {
    latency(played, Request::e2e, p)
}

/// Median TTFT of the last third of the window's requests; one that was never answered waited for it till it was given up.
pub(super) fn late_ttft(played: &Played) -> Option<f64> {
    let wait = |request: &Request| {
        let given_up = request.done.since(request.origin()).filter(|_| request.fate != Fate::Completed);
        Some(request.ttft().filter(|ttft| ttft.0.is_finite()).or(given_up)?.0)
    };
    let all: Vec<f64> = requests(played).filter_map(wait).collect();
    quantile(all.iter().skip(all.len() * 2 / 3).copied(), 0.5)
}

pub(super) fn itl(played: &Played) -> Option<f64> {
    Some(run(played)?.streams.as_ref()?.itl.mean()?.0)
}

/// The event gap up to which streams spend the share `p` of their time.
pub(super) fn gap_by_time(played: &Played, p: f64) -> Option<f64> {
    let gaps = &run(played)?.streams.as_ref()?.event_gaps;
    let all = gaps.mean()?.0 * gaps.count() as f64;
    let mut spent = 0.0;
    let mut cells = gaps.buckets().map(|(gap, times)| (gap.0, gap.0 * times as f64));
    cells
        .find(|(_, time)| {
            spent += time;
            spent >= p * all
        })
        .map(|(gap, _)| gap)
}

pub(super) fn longest_gap(played: &Played, p: f64) -> Option<f64> {
    let run = run(played)?;
    quantile(run.window().filter_map(|(row, _)| run.longest_gap(row)).map(|gap| gap.0), p)
}

pub(super) fn tokens_per_event(played: &Played) -> Option<f64> {
    run(played)?.streams.as_ref()?.tokens_per_event()
}

pub(super) fn coalesced(played: &Played) -> Option<f64> {
    run(played)?.streams.as_ref()?.coalesced_share()
}

/// Share of the prompt tokens that a cache had.
pub(super) fn cached_share(played: &Played) -> Option<f64> {
    let sum = |of: fn(&RequestTruth) -> u32| truths(played).map(|truth| u64::from(of(truth))).sum::<u64>() as f64;
    let all = sum(|truth| truth.prompt_tokens);
    (all > 0.0).then(|| sum(|truth| truth.prompt_life().cached_tokens) / all)
}

/// By how much requests that a second tier served waited longer for it than computing what it had would have taken, a
/// request; 0 where the tier pays.
pub(super) fn tier_loss(played: &Played) -> Option<f64> {
    let (mut computed, mut computing) = (0.0, 0.0);
    for truth in truths(played) {
        let life = &truth.life;
        computed += f64::from(truth.prompt_tokens.saturating_sub(life.cached_tokens));
        computing +=
            life.first_token_ns.zip(life.scheduled_ns).map_or(0.0, |(first, from)| (first - from) as f64 * 1e-9);
    }
    let served = truths(played).filter(|truth| truth.life.external_tokens > 0);
    let loss = mean(served.filter_map(|truth| {
        let waited = (truth.life.scheduled_ns? - truth.life.queued_ns) as f64 * 1e-9;
        Some(waited - f64::from(truth.life.external_tokens) * computing / computed)
    }))?;
    loss.is_finite().then(|| loss.max(0.0))
}

/// Mean time between the first token in the pool of prompts and the first schedule in that of answers.
pub(super) fn hand_over(played: &Played) -> Option<f64> {
    let handed = truths(played).filter_map(|truth| {
        let computed = truth.handed_over.as_ref()?.prefill.first_token_ns?;
        Some((truth.life.scheduled_ns? - computed) as f64 * 1e-9)
    });
    mean(handed)
}

/// Share of the window's requests that got no full answer.
pub(super) fn unanswered(played: &Played) -> Option<f64> {
    mean(requests(played).map(|request| if request.fate == Fate::Completed { 0.0 } else { 1.0 }))
}

/// Share of the window's requests that were taken and got no full answer: one that was refused met no failure.
pub(super) fn lost(played: &Played) -> Option<f64> {
    let is_lost = |fate: Fate| !matches!(fate, Fate::Completed | Fate::Rejected);
    mean(requests(played).map(|request| f64::from(u8::from(is_lost(request.fate)))))
}

/// Preemptions that the engines' pages count in the window, over requests that were answered in it.
pub(super) fn preemptions(played: &Played) -> Option<f64> {
    let run = run(played)?;
    let counted: Vec<_> = run.series(Signal::Preemptions, Part::Value).collect();
    let grown = counted.iter().map(|series| Some(series.delta(run.info.window).ok()?.value));
    // An engine that counts none is no engine without any.
    let all = grown.sum::<Option<f64>>().filter(|_| !counted.is_empty())?;
    let inside = |request: &&Request| run.info.window.is_none_or(|window| window.contains(request.done));
    let finished = run.requests.0.iter().filter(|request| request.fate == Fate::Completed).filter(inside).count();
    (finished > 0).then(|| all / finished as f64)
}

/// KV blocks of the smallest pool, as its page states them.
pub(super) fn blocks(played: &Played) -> Option<f64> {
    let configured = run(played)?.series(Signal::CacheConfig, Part::Value);
    let blocks = configured.filter_map(|series| series.labels.get("num_gpu_blocks")?.parse().ok());
    blocks.reduce(f64::min)
}

/// Growth of the container's memory over the window, MiB a minute, over all containers: its working set, which counts what
/// its processes share as well.
pub(super) fn memory_growth(played: &Played) -> Option<f64> {
    let run = run(played)?;
    let grown = run.series(Signal::ContainerWorkingSet, Part::Value).filter_map(|series| {
        let first = series.inside(run.info.window).next()?;
        let last = series.inside(run.info.window).last()?;
        let minutes = last.0.since(first.0)?.0 / 60.0;
        (minutes > 0.0).then(|| (last.1 - first.1) / f64::from(1 << 20) / minutes)
    });
    grown.reduce(|sum, one| sum + one)
}
