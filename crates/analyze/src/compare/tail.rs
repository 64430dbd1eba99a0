//! Tail asymmetry over pairs: whether a few requests got much slower.

use super::{
    pair::{ASYMMETRIC, Pair},
    paired::{Setting, design},
    rows::annotate,
};
use firstcheck_model::{
    metric::{Metric, Stat},
    report::{MetricRow, Quantity},
};
use firstcheck_stats::paired;

/// The statistic's name in the report.
pub(super) const TAIL_ASYMMETRY: &str = "tail_asymmetry";

/// One row a latency for which every pair gives one C, with whether C is above zero.
///
/// C is the mean of the largest plus the mean of the smallest 1 % of ln(candidate/base) over the same requests; the row
/// shows exp(C) as its ratio. It is never taken from one pair.
pub(super) fn rows(pairs: &[&Pair], setting: &Setting) -> Vec<(MetricRow, bool)> {
    ASYMMETRIC.into_iter().filter_map(|metric| row(metric, pairs, setting)).collect()
}

fn row(metric: Metric, pairs: &[&Pair], setting: &Setting) -> Option<(MetricRow, bool)> {
    if pairs.len() < 2 || pairs.iter().any(|pair| pair.comparable.queue().is_some()) {
        return None;
    }
    let of = |pair: &&Pair| pair.asymmetry.iter().find(|(m, _)| *m == metric).map(|(_, c)| *c);
    let values: Vec<f64> = pairs.iter().map(of).collect::<Option<_>>()?;
    let estimate = paired::estimate(&design(pairs).ok()?, &values).ok()?;
    let confidence = 1.0 - 2.0 * setting.alpha;
    let interval = estimate.interval(confidence).ok()?.exp();
    let n: u64 = pairs.iter().map(|pair| pair.requests()).sum();
    let mut row = MetricRow::shown(metric, Stat::Total, None, None, [Some(n), Some(n)]);
    row.stat = TAIL_ASYMMETRY.into();
    row.unit = "1".into();
    row.ratio = Quantity::of(estimate.effect.delta.exp());
    row.interval = Quantity::of(interval.lo).zip(Quantity::of(interval.hi)).map(|(lo, hi)| [lo, hi]);
    row.confidence = Some(confidence);
    row.pairs = pairs.len() as u64;
    row.exploratory = false;
    let significant = estimate.effect.lower(setting.alpha).ok()? > 0.0;
    if significant {
        annotate(&mut row, "some requests slowed down more than others sped up; a uniform slowdown shows here too");
    }
    Some((row, significant))
}

/// Whether only the tail is slower: C is, and neither the median TPOT nor the latency's own median is, even at twice the
/// usual error.
pub(super) fn tail_only(pairs: &[&Pair], medians: [Option<usize>; 2], alpha: f64) -> Option<bool> {
    let [tpot, own] = medians;
    Some(!slower(pairs, tpot?, alpha)? && !slower(pairs, own?, alpha)?)
}

/// Whether the cell's value is shown to be larger on the candidate, at twice the usual error.
fn slower(pairs: &[&Pair], at: usize, alpha: f64) -> Option<bool> {
    let value = |pair: &&Pair| {
        let (b, c) = (pair.base.cells[at].value?, pair.candidate.cells[at].value?);
        firstcheck_stats::ratio::log_ratio(b, c).finite()
    };
    let values: Vec<f64> = pairs.iter().map(value).collect::<Option<_>>()?;
    let estimate = paired::estimate(&design(pairs).ok()?, &values).ok()?;
    Some(estimate.effect.lower((2.0 * alpha).min(0.5)).ok()? > 0.0)
}
