//! Experiments counted.

use super::{
    experiment::{Judgement, OfSlice, name},
    rivals::Rival,
};
use firstcheck_analyze::compare::{Effect, Gate, Policy, SliceMargin, Slices};
use firstcheck_model::{
    metric::{Metric, Stat},
    report::Verdict,
};
use firstcheck_stats::mde;
use std::collections::BTreeMap;

/// Error of the gate's one-sided bounds.
const ALPHA: f64 = 0.05;
/// Confidence of the intervals whose coverage is counted.
const CONFIDENCE: f64 = 0.95;

/// So many of so many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rate {
    /// How often it happened.
    pub hits: u64,
    /// How often it could have.
    pub of: u64,
}

impl Rate {
    /// Counts one more.
    pub fn count(&mut self, hit: bool) {
        self.hits += u64::from(hit);
        self.of += 1;
    }

    /// The share, in percent; `None` of nothing.
    pub fn percent(self) -> Option<f64> {
        (self.of > 0).then(|| 100.0 * self.hits as f64 / self.of as f64)
    }

    /// Standard error of the share, in percent; `None` of nothing.
    pub fn error(self) -> Option<f64> {
        let share = self.percent()? / 100.0;
        Some(100.0 * (share * (1.0 - share) / self.of as f64).sqrt())
    }
}

/// What was counted of one gated statistic.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// Mean true effect over the traces, on the scale of the test.
    pub effect: f64,
    /// The 95 % interval holds the true effect.
    pub covered: Rate,
    /// The one-sided lower bound lies above the true effect: at a margin of that size, a failure.
    pub fails_at_margin: Rate,
    /// The one-sided upper bound lies below it: at a margin of that size, a pass.
    pub passes_at_margin: Rate,
    /// A difference as large as the stated smallest detectable one would have been found.
    pub power_at_mde: Rate,
    /// The 95 % interval leaves out zero.
    pub different: Rate,
}

/// What was counted of the experiments of one regime and effect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// A row a gated statistic, in the order of the policy.
    pub rows: Vec<(String, Row)>,
    /// The verdict by the default margins was a failure.
    pub fail: Rate,
    /// It was a pass.
    pub pass: Rate,
    /// The verdict was a failure with every margin at the true effect.
    pub fail_at_margin: Rate,
    /// It was a pass.
    pub pass_at_margin: Rate,
    /// Other ways to compare that called the sides different.
    pub rivals: Vec<(Rival, Rate)>,
}

impl Tally {
    /// Counts `experiments`. The true effect on each trace is the mean over the experiments on it, whose own error is a
    /// small part of an interval's where there are a hundred.
    pub fn of(experiments: &[Judgement]) -> Self {
        let mut tally = Self::default();
        let truth = truth(experiments);
        let mut rows: Vec<((Metric, Stat), Row)> = Vec::new();
        for experiment in experiments {
            tally.fail.count(experiment.verdict == Verdict::Fail);
            tally.pass.count(experiment.verdict == Verdict::Pass);
            for effect in &experiment.effects {
                let Some(true_effect) = truth.get(&key(experiment.trace, effect)) else { continue };
                let at = match rows.iter().position(|(of, _)| *of == (effect.metric, effect.stat)) {
                    Some(at) => at,
                    None => {
                        rows.push(((effect.metric, effect.stat), Row::default()));
                        rows.len() - 1
                    }
                };
                count(&mut rows[at].1, effect, *true_effect);
            }
            let at_margin = experiment.comparison.held_to(at_the_truth(experiment, &truth)).finish().verdict;
            tally.fail_at_margin.count(at_margin == Verdict::Fail);
            tally.pass_at_margin.count(at_margin == Verdict::Pass);
        }
        tally.rivals = Rival::ALL.map(|rival| (rival, rival_rate(rival, experiments))).into();
        tally.rows = rows.into_iter().map(|((metric, stat), row)| (name(metric, stat), row)).collect();
        tally
    }
}

/// Trace, slice, and metric with its statistic.
type Key = (u64, Option<String>, String);

fn key(trace: u64, effect: &Effect) -> Key {
    (trace, None, name(effect.metric, effect.stat))
}

fn key_of_slice(trace: u64, effect: &OfSlice) -> Key {
    (trace, Some(effect.slice.clone()), name(effect.metric, effect.stat))
}

fn truth(experiments: &[Judgement]) -> BTreeMap<Key, f64> {
    let mut sums: BTreeMap<Key, (f64, f64)> = BTreeMap::new();
    let mut add = |key: Key, delta: f64| {
        let (sum, n) = sums.entry(key).or_default();
        *sum += delta;
        *n += 1.0;
    };
    for experiment in experiments {
        for effect in &experiment.effects {
            add(key(experiment.trace, effect), effect.estimate.effect.delta);
        }
        for effect in &experiment.slices {
            add(key_of_slice(experiment.trace, effect), effect.delta);
        }
    }
    sums.into_iter().map(|(key, (sum, n))| (key, sum / n)).collect()
}

fn count(row: &mut Row, effect: &Effect, true_effect: f64) {
    let estimate = &effect.estimate;
    if estimate.effect.identical {
        // Reports say so, and show no interval to be held to.
        return;
    }
    let bounds = (estimate.effect.lower(ALPHA), estimate.effect.upper(ALPHA), estimate.interval(CONFIDENCE));
    let (Ok(lower), Ok(upper), Ok(interval)) = bounds else { return };
    row.effect += (true_effect - row.effect) / (row.covered.of + 1) as f64;
    row.covered.count((interval.lo..=interval.hi).contains(&true_effect));
    row.fails_at_margin.count(lower > true_effect);
    row.passes_at_margin.count(upper < true_effect);
    row.different.count(interval.lo > 0.0 || interval.hi < 0.0);
    if let Ok(log_mde) = mde::log_mde(estimate.s_d, estimate.pairs, estimate.covariates) {
        row.power_at_mde.count(lower > true_effect - log_mde);
    }
}

/// The policy with the margin of every latency at its true effect, in every slice at that of the slice; what is gated on
/// another scale is left out.
fn at_the_truth(experiment: &Judgement, truth: &BTreeMap<Key, f64>) -> Policy {
    let policy = experiment.comparison.policy();
    let trace = experiment.trace;
    let gates = policy.gates.iter().filter(|gate| gate.metric != Metric::GoodShare).filter_map(|gate| {
        let true_effect = truth.get(&(trace, None, name(gate.metric, gate.stat())))?;
        Some(Gate { margin: true_effect.exp_m1(), ..*gate })
    });
    let margins = experiment.slices.iter().filter_map(|of| {
        let quantile = if let Stat::Quantile(p) = of.stat { Some(p) } else { None };
        let margin = truth.get(&key_of_slice(trace, of))?.exp_m1();
        Some(SliceMargin { slice: of.slice.clone(), metric: of.metric, quantile, margin })
    });
    let slices = Slices { margins: margins.collect(), ..policy.slices.clone() };
    Policy { gates: gates.collect(), slices, ..policy.clone() }
}

fn rival_rate(rival: Rival, experiments: &[Judgement]) -> Rate {
    let mut rate = Rate::default();
    for experiment in experiments {
        let [base, candidate] = &experiment.latencies;
        if let Some(different) = rival.says_different(base, candidate) {
            rate.count(different);
        }
    }
    rate
}
