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

/// Times from the moment at which a request of the window was to be sent until the engine first worked on it: what its
/// prompt takes by itself is not in it. One that was never worked on waited without end, unless it was refused.
fn waits(played: &Played) -> Vec<f64> {
    let waited = |row: usize| {
        let truth = played.simulated.truth.requests.get(row)?.as_ref()?;
        Some((truth.prompt_life().scheduled_ns? - truth.seen.intended_ns) as f64 * 1e-9)
    };
    let rows = run(played).into_iter().flat_map(RunEvidence::window);
    let taken = rows.filter(|(_, request)| request.fate != Fate::Rejected);
    taken.map(|(row, _)| waited(row).unwrap_or(f64::INFINITY)).collect()
}

/// Quantile of those waits.
pub(super) fn wait(played: &Played, p: f64) -> Option<f64> {
    quantile(waits(played).into_iter(), p)
}

/// Share of all waiting of the window's requests during which the head of the queue did not fit the KV pool: a long prompt
/// that is admitted at once holds others up by its computation alone, which is another cause.
pub(super) fn held_up(played: &Played) -> Option<f64> {
    let (mut held, mut waited) = (0.0, 0.0);
    for (row, _) in run(played)?.window() {
        let Some(Some(truth)) = played.simulated.truth.requests.get(row) else { continue };
        let life = truth.prompt_life();
        held += life.held_up_ns as f64;
        waited += life.scheduled_ns.map_or(0.0, |scheduled_ns| (scheduled_ns - truth.seen.intended_ns) as f64);
    }
    (waited > 0.0).then(|| held / waited)
}

pub(super) fn tpot(played: &Played, p: f64) -> Option<f64> {
    latency(played, Request::tpot, p)
}

pub(super) fn e2e(played: &Played, p: f64) -> Option<f64> {
    latency(played, Request::e2e, p)
}

/// Median TTFT of the window's requests a window later, if it goes on as in the last third: a queue that drains is gone by
/// then. A request that was never answered waited for it till it was given up.
pub(super) fn settled_ttft(played: &Played) -> Option<f64> {
    let wait = |request: &Request| {
        let given_up = request.done.since(request.origin()).filter(|_| request.fate != Fate::Completed);
        Some(request.ttft().filter(|ttft| ttft.0.is_finite()).or(given_up)?.0)
    };
    let all: Vec<f64> = requests(played).filter_map(wait).collect();
    let sixth = |number: usize| all.iter().take(all.len() * (number + 1) / 6).skip(all.len() * number / 6).copied();
    let (before, last) = (quantile(sixth(4), 0.5)?, quantile(sixth(5), 0.5)?);
    // Six sixths on.
    Some((last + 6.0 * (last - before).min(0.0)).max(0.0))
}

/// Median wait of the last third of the window's requests until the engine first worked on them: what grows is long by then.
pub(super) fn late_wait(played: &Played) -> Option<f64> {
    let all = waits(played);
    quantile(all.iter().skip(all.len() * 2 / 3).copied(), 0.5)
}

pub(super) fn itl(played: &Played) -> Option<f64> {
    Some(run(played)?.streams.as_ref()?.itl.mean()?.0)
}

/// The usual gap between events of a stream: the median.
fn usual_gap(played: &Played) -> Option<f64> {
    Some(run(played)?.streams.as_ref()?.event_gaps.quantile(0.5)?.0)
}

/// What `of` says of the gaps above `limit`, over the streams' time.
fn over_time(played: &Played, limit: f64, of: impl Fn(f64) -> f64) -> Option<f64> {
    let gaps = &run(played)?.streams.as_ref()?.event_gaps;
    let (mut all, mut slow) = (0.0, 0.0);
    for (gap, count) in gaps.buckets() {
        all += gap.0 * count as f64;
        if gap.0 > limit {
            slow += of(gap.0) * count as f64;
        }
    }
    (all > 0.0).then(|| slow / all)
}

/// Share of their time that streams spend in gaps above three usual ones, of the healthy run or of this one: where all
/// steps are slower, none stands out.
pub(super) fn spent_in_slow_gaps(played: &Played, healthy: &Played) -> Option<f64> {
    let usual = usual_gap(played)?.max(usual_gap(healthy)?);
    over_time(played, 3.0 * usual, |gap| gap)
}

/// Share of their time that streams lose in gaps above one and a half usual ones of the healthy run: what they take beyond
/// a usual one.
pub(super) fn lost_in_slow_gaps(played: &Played, healthy: &Played) -> Option<f64> {
    let usual = usual_gap(healthy)?;
    over_time(played, 1.5 * usual, |gap| gap - usual)
}

/// Share of the window's streams that stand still for so long, seconds, once at least.
pub(super) fn stood_still(played: &Played, seconds: f64) -> Option<f64> {
    let run = run(played)?;
    mean(run.window().filter_map(|(row, _)| run.longest_gap(row)).map(|gap| if gap.0 >= seconds { 1.0 } else { 0.0 }))
}

/// Share of the window's streams that froze: stood still for a quarter of a second and twenty usual gaps.
pub(super) fn froze(played: &Played) -> Option<f64> {
    stood_still(played, (20.0 * usual_gap(played)?).max(0.25))
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

/// Share of the window's prompt tokens that a cache had.
pub(super) fn cached_share(played: &Played) -> Option<f64> {
    let truths = &played.simulated.truth.requests;
    let of_window = || run(played).into_iter().flat_map(RunEvidence::window);
    let served = || of_window().filter_map(|(row, _)| truths.get(row)?.as_ref());
    let sum = |of: fn(&RequestTruth) -> u32| served().map(|truth| u64::from(of(truth))).sum::<u64>() as f64;
    let all = sum(|truth| truth.prompt_tokens);
    (all > 0.0).then(|| sum(|truth| truth.prompt_life().cached_tokens) / all)
}

/// How many times as long requests that a second tier served waited for it as computing what it had would have taken.
pub(super) fn tier_wait(played: &Played) -> Option<f64> {
    let (mut computed, mut computing) = (0.0, 0.0);
    for truth in truths(played) {
        let life = &truth.life;
        computed += f64::from(truth.prompt_tokens.saturating_sub(life.cached_tokens));
        computing +=
            life.first_token_ns.zip(life.scheduled_ns).map_or(0.0, |(first, from)| (first - from) as f64 * 1e-9);
    }
    let served = || truths(played).filter(|truth| truth.life.external_tokens > 0);
    let waits = served().filter_map(|truth| Some((truth.life.scheduled_ns? - truth.life.queued_ns) as f64 * 1e-9));
    let instead: f64 = served().map(|truth| f64::from(truth.life.external_tokens) * computing / computed).sum();
    let times = waits.sum::<f64>() / instead;
    times.is_finite().then_some(times)
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
