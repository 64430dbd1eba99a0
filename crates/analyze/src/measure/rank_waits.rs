//! How long each attention rank waits for the slowest, where the engine counts it.

use super::counters::{growth_in, mean_in, means_can_be_told, no_traffic};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    signal::{Part, Series, Signal},
    unit::{Ratio, Seconds},
};
use std::collections::BTreeMap;

/// Waits of ranks in the steps that they take together.
#[derive(Debug, Clone, PartialEq)]
pub struct RankWaits {
    /// Share of the time that ranks with something to compute wait. A rank without waits for the whole of a step, and nobody
    /// with it: those waits are taken off, a mean step each, which is rather too much.
    pub of_time: Measurement<Ratio>,
    /// Mean wait of each rank, by its label.
    pub by_rank: BTreeMap<String, Seconds>,
}

impl RankWaits {
    /// The rank that the others wait for and how its wait compares with theirs: 0 where it never waits, 1 where none waits
    /// more than it. `None` for a single rank.
    pub fn awaited(&self) -> Option<(&str, f64)> {
        let (rank, least) = self.by_rank.iter().min_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        let others: Vec<f64> = self.by_rank.iter().filter(|(name, _)| *name != rank).map(|(_, wait)| wait.0).collect();
        let mean = others.iter().sum::<f64>() / others.len() as f64;
        (mean > 0.0).then(|| (rank.as_str(), least.0 / mean))
    }
}

impl Measure for RankWaits {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        means_can_be_told(side)?;
        let runs = &side.evidence.runs;
        let (sum, count) =
            (growth_in(runs, Signal::RankWait, Part::Sum)?, growth_in(runs, Signal::RankWait, Part::Count)?);
        if count.value <= 0.0 {
            return Err(no_traffic("steps that the ranks took together in the window"));
        }
        let token = mean_in(runs, Signal::Itl)?;
        let step = token.value.0 * tokens_a_step(runs);
        let by_rank = by_rank(runs)?;
        let idle = idle_steps(runs)?.min(count.value);
        let busy = count.value - idle;
        if busy <= 0.0 {
            return Err(no_traffic("steps in which a rank had something to compute"));
        }
        let by =
            "waits of ranks with something to compute / (their steps · time between two tokens · tokens a step)".into();
        let source = Source::Derived { by, from: vec![sum.source, count.source, token.source.clone()] };
        let value = Ratio((sum.value - idle * step).max(0.0) / (busy * step));
        Ok(Self { of_time: Measurement { value, interval: None, n: count.value.round() as u64, source }, by_rank })
    }
}

/// Tokens that a step yields a request: those of a round where the engine speculates, else one. The time between two
/// tokens is the time of a step over these.
fn tokens_a_step(runs: &[RunEvidence]) -> f64 {
    let grown = |signal| growth_in(runs, signal, Part::Value).ok().map(|growth| growth.value);
    let rounds = grown(Signal::Drafts).filter(|rounds| *rounds > 0.0);
    rounds.zip(grown(Signal::GenerationTokens)).map_or(1.0, |(rounds, tokens)| (tokens / rounds).max(1.0))
}

/// Steps in which a rank had nothing to compute, of all ranks.
fn idle_steps(runs: &[RunEvidence]) -> Result<f64, Missing> {
    let mut idle = None;
    for run in runs {
        let all = run.series(Signal::RankSteps, Part::Value);
        for series in all.filter(|series| series.labels.get("rank_state") == Some("idle")) {
            *idle.get_or_insert(0.0) += series.delta(run.info.window)?.value;
        }
    }
    idle.ok_or_else(|| {
        Missing::not_exposed("steps in which a rank had nothing to compute", "an SGLang that counts them")
    })
}

fn by_rank(runs: &[RunEvidence]) -> Result<BTreeMap<String, Seconds>, Missing> {
    let mut waits: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for run in runs {
        let name = |series: &Series| series.labels.get("dp_rank").unwrap_or_default().to_owned();
        for series in run.series(Signal::RankWait, Part::Sum) {
            waits.entry(name(series)).or_default().0 += series.delta(run.info.window)?.value * series.unit_factor();
        }
        for series in run.series(Signal::RankWait, Part::Count) {
            waits.entry(name(series)).or_default().1 += series.delta(run.info.window)?.value;
        }
    }
    let mean = |(rank, (sum, count)): (String, (f64, f64))| (count > 0.0).then(|| (rank, Seconds(sum / count)));
    Ok(waits.into_iter().filter_map(mean).collect())
}
