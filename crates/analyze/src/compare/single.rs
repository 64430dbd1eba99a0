//! One run a side, or replicates without pairs: exploratory. Effects are shown, nothing passes, and only what no two runs
//! of one deployment show may fail.

use super::{
    plan::{Key, is_latency},
    policy::Policy,
    reading::Cell,
    rows::{Restraint, annotate},
    same_trace::Trace,
};
use firstcheck_model::{
    metric::{Metric, Stat},
    report::{Claim, MetricRow, Quantity},
};
use firstcheck_stats::{estimate::Estimate, proportion, welch::welch};

/// What the rules for single runs ask of the design.
pub(super) struct Setting {
    pub trace: Trace,
    /// `None`: unknown.
    pub load: Option<f64>,
}

/// Fills in the interval and the claim of an exploratory row.
pub(super) fn judge(
    row: &mut MetricRow,
    key: Key,
    cells: (&[&Cell], &[&Cell]),
    restraint: Option<Restraint>,
    setting: &Setting,
    policy: &Policy,
) {
    row.exploratory = true;
    row.margin = policy.gate(key.metric, key.stat).filter(|gate| gate.metric != Metric::GoodShare).map(|g| g.margin);
    if key.metric == Metric::FailedShare
        && let Some(why) = loses_more(cells, policy)
    {
        row.claim = Claim::Regressed;
        annotate(row, why);
        return;
    }
    if let Some(restraint) = restraint {
        row.claim = restraint.claim;
        annotate(row, restraint.why);
        return;
    }
    if !is_latency(key.metric) {
        return;
    }
    let estimate = estimate(cells.0, cells.1);
    if let Some(interval) = estimate.as_ref().and_then(|e| e.interval(policy.single_confidence).ok()) {
        let ends = interval.exp();
        if let (Some(lo), Some(hi)) = (Quantity::of(ends.lo), Quantity::of(ends.hi)) {
            row.interval = Some([lo, hi]);
            row.confidence = Some(policy.single_confidence);
            let runs = cells.0.len().min(cells.1.len());
            annotate(
                row,
                if runs > 1 {
                    "Welch over replicates"
                } else {
                    "Welch over batches of a single run: what differs from run to run is not in it"
                },
            );
        }
    }
    if estimate.is_none() && cells.0.len() != cells.1.len() && cells.0.len().min(cells.1.len()) == 1 {
        annotate(row, "no interval: it takes two runs a side, or one a side");
    }
    if let Some(why) = fails(row, key, estimate.as_ref(), setting, policy) {
        row.claim = Claim::Regressed;
        annotate(row, why);
    }
}

/// Why the candidate fails by the requests it lost: a count needs no rows behind it and no common trace. The excess is a
/// fault's and no accident's, and the exact bounds of both shares lie apart.
fn loses_more(cells: (&[&Cell], &[&Cell]), policy: &Policy) -> Option<String> {
    let ((b_lost, b_offered), (c_lost, c_offered)) = (lost(cells.0)?, lost(cells.1)?);
    let share = |lost: u64, offered: u64| lost as f64 / offered as f64;
    let alpha = 1.0 - policy.single_bound;
    let most = proportion::upper_bound(b_lost, b_offered, alpha).ok()?;
    let least = 1.0 - proportion::upper_bound(c_offered - c_lost, c_offered, alpha).ok()?;
    let excess = share(c_lost, c_offered) - share(b_lost, b_offered);
    (excess >= policy.single_failed_share && least > most).then(|| {
        format!(
            "base lost {b_lost} of {b_offered} requests, the candidate {c_lost} of {c_offered}: at least {:.1} % against \
             at most {:.1} %",
            least * 100.0,
            most * 100.0
        )
    })
}

/// Lost and offered requests over all runs of a side; `None` where one does not tell, or nothing was offered.
fn lost(cells: &[&Cell]) -> Option<(u64, u64)> {
    let mut sum = (0, 0);
    for cell in cells {
        let (share, offered) = cell.value.filter(|share| (0.0..=1.0).contains(share)).zip(cell.n)?;
        sum = (sum.0 + (share * offered as f64).round() as u64, sum.1 + offered);
    }
    (sum.1 > 0).then_some(sum)
}

/// Welch on the log values of the replicates, or of the batches of one run a side.
fn estimate(base: &[&Cell], candidate: &[&Cell]) -> Option<Estimate> {
    match (base, candidate) {
        ([b], [c]) => welch(b.batches.as_deref()?, c.batches.as_deref()?).ok(),
        _ => welch(&logs(base)?, &logs(candidate)?).ok(),
    }
}

fn logs(cells: &[&Cell]) -> Option<Vec<f64>> {
    cells.iter().map(|cell| cell.value.filter(|v| *v > 0.0 && v.is_finite()).map(f64::ln)).collect()
}

/// By which rule a single run may be called worse.
fn fails(row: &MetricRow, key: Key, estimate: Option<&Estimate>, at: &Setting, policy: &Policy) -> Option<String> {
    let Stat::Quantile(p) = key.stat else { return None };
    let ratio = match row.ratio? {
        Quantity::Finite(ratio) => ratio,
        Quantity::Unbounded => f64::INFINITY,
    };
    match &at.trace {
        Trace::Same => {
            if ratio >= policy.single_ratio {
                return Some(format!("one trace, ratio of at least {}", policy.single_ratio));
            }
            let low_load = at.load.is_some_and(|load| load <= policy.single_load);
            let tail = p == 0.95 || p == 0.99;
            if !(low_load && tail && ratio >= policy.single_tail_ratio) {
                return None;
            }
            let margin = policy.gate(key.metric, key.stat).map_or(policy.single_tail_margin, |gate| gate.margin);
            let lower = estimate?.lower(1.0 - policy.single_bound).ok()?;
            (lower > margin.ln_1p()).then(|| {
                format!(
                    "one trace at load {:.2}, ratio of at least {}, lower bound {:.2} above the margin",
                    at.load.unwrap_or(f64::NAN),
                    policy.single_tail_ratio,
                    lower.exp()
                )
            })
        }
        Trace::Different(_) => {
            let least = match (key.metric, p) {
                (Metric::Itl, 0.99) => policy.single_itl_p99_ratio,
                (Metric::Tpot, 0.5) => policy.single_tpot_p50_ratio,
                _ => return None,
            };
            (ratio >= least).then(|| format!("different traces, ratio of at least {least}"))
        }
        Trace::Unknown => None,
    }
}
