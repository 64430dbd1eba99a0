//! What rows of the report share: values of several runs as one, and the order of reasons why a row may claim nothing.

use super::{
    failed,
    plan::{Key, holds_the_queue, is_gap, is_latency},
    policy::Policy,
    reading::{Cell, Reading},
    view::View,
};
use firstcheck_model::{
    metric::{Metric, Stat, Worse},
    report::{Claim, MetricRow, Quantity},
};
use firstcheck_stats::quantile::{Sample, claimable_from};

/// A row over the cells of one or several runs a side, claiming nothing yet.
pub(super) fn shown(key: Key, base: &[&Cell], candidate: &[&Cell]) -> MetricRow {
    let value = |cells: &[&Cell]| typical(key.metric, cells).and_then(Quantity::of);
    let n = |cells: &[&Cell]| {
        let known: Vec<u64> = cells.iter().filter_map(|cell| cell.n).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    };
    MetricRow::shown(key.metric, key.stat, value(base), value(candidate), [n(base), n(candidate)])
}

/// One value for several runs: the geometric mean, so that the quotient of two is the mean log ratio; the arithmetic mean
/// of counts and of what reaches zero; the middle run where some are unbounded.
fn typical(metric: Metric, cells: &[&Cell]) -> Option<f64> {
    let values: Vec<f64> = cells.iter().filter_map(|cell| cell.value).collect();
    let n = values.len() as f64;
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        // Without the rounding of logarithms: a capacity stays a whole number.
        values.first().copied()
    } else if values.iter().any(|v| v.is_infinite()) {
        Sample::new(values).ok()?.quantile(0.5)
    } else if metric != Metric::Preemptions && values.iter().all(|v| *v > 0.0) {
        Some((values.iter().map(|v| v.ln()).sum::<f64>() / n).exp())
    } else {
        Some(values.iter().sum::<f64>() / n)
    }
}

/// +1 where a larger value is worse, else −1: log ratios times it are worse positive.
pub(super) fn worse_sign(metric: Metric) -> f64 {
    match metric.worse() {
        Worse::Higher => 1.0,
        Worse::Lower => -1.0,
    }
}

/// Why a row claims less than its numbers seem to say.
pub(super) struct Restraint {
    pub claim: Claim,
    pub why: String,
}

/// What keeps a metric of these pairs from any claim, the strongest reason first.
pub(super) fn restraint(key: Key, at: usize, views: &[View], policy: &Policy) -> Option<Restraint> {
    let because = |claim, why: &str| Some(Restraint { claim, why: why.to_owned() });
    if let Some(why) = views.iter().find_map(|view| view.doubt(at)) {
        return because(Claim::NotClaimable, why);
    }
    let queue = holds_the_queue(key.metric);
    if let Some(why) = views.iter().filter(|_| queue).find_map(|view| view.pair.comparable.queue()) {
        return because(Claim::NotComparable, why);
    }
    if views.iter().any(|view| view.only_reported(at)) {
        return because(Claim::Shown, "printed by a result file without the rows behind it: no interval");
    }
    let least = views.iter().map(|view| view.requests()).min().unwrap_or(0);
    if let Some(why) = too_few(key, least) {
        return because(Claim::NotClaimable, &why);
    }
    if let Some(nothing) = failed::too_few(key, views, policy) {
        return Some(nothing);
    }
    if least == 0 && key.metric == Metric::GoodShare {
        return because(Claim::NotClaimable, "a pair has no request of it");
    }
    if let Some(why) = views.iter().find_map(|view| view.jump(at)) {
        return because(Claim::Shown, &format!("shown only: {why}"));
    }
    report_only(key, policy)
}

/// Why a tail of the longest gap is never claimed unless a gate asks for it.
pub(super) fn report_only(key: Key, policy: &Policy) -> Option<Restraint> {
    let tail = key.metric == Metric::LongestGap && matches!(key.stat, Stat::Quantile(p) if p > 0.5);
    (tail && policy.gate(key.metric, key.stat).is_none()).then(|| Restraint {
        claim: Claim::Shown,
        why: "shown only: one pause reaches every running stream, so few events decide it".into(),
    })
}

/// Why a quantile may not be claimed from so few requests.
pub(super) fn too_few(key: Key, requests: u64) -> Option<String> {
    let Stat::Quantile(p) = key.stat else { return None };
    let need = claimable_from(p).filter(|_| is_latency(key.metric) || is_gap(key.metric))?;
    (requests < need).then(|| format!("{} takes {need} offered requests a run, there are {requests}", key.stat))
}

/// A note behind what is there already.
pub(super) fn annotate(row: &mut MetricRow, note: impl AsRef<str>) {
    match &mut row.note {
        Some(there) => {
            there.push_str("; ");
            there.push_str(note.as_ref());
        }
        None => row.note = Some(note.as_ref().to_owned()),
    }
}

/// A run's own rows: `candidate` alone.
pub(super) fn of_one(reading: &Reading, keys: &[Key]) -> Vec<MetricRow> {
    let row = |(cell, key): (&Cell, &Key)| {
        cell.value?;
        let mut row = shown(*key, &[], &[cell]);
        if let Some(doubt) = &cell.doubt {
            row.claim = Claim::NotClaimable;
            annotate(&mut row, doubt);
        } else if cell.basis == super::reading::Basis::Reported {
            annotate(&mut row, "printed by the result file without the rows behind it");
        } else if let Some(why) = too_few(*key, reading.requests()) {
            row.claim = Claim::NotClaimable;
            annotate(&mut row, why);
        }
        Some(row)
    };
    let mut rows: Vec<MetricRow> = reading.cells.iter().zip(keys).filter_map(row).collect();
    drop_repeats(&mut rows);
    rows
}

/// Drops TTFT from the actual send where it says nothing new.
pub(super) fn drop_repeats(rows: &mut Vec<MetricRow>) {
    let values = |rows: &[MetricRow], metric| -> Vec<_> {
        rows.iter().filter(|r| r.metric == metric).map(|r| (r.base, r.candidate)).collect()
    };
    if values(rows, Metric::Ttft) == values(rows, Metric::TtftFromSent) {
        rows.retain(|row| row.metric != Metric::TtftFromSent);
    }
}

/// A row's name in a sentence: `TTFT p95`, `goodput` (a total has no statistic to name).
pub(super) fn name(metric: Metric, stat: &str) -> String {
    if stat == "total" { metric.label().to_owned() } else { format!("{} {}", metric.label(), stat.replace('_', " ")) }
}

/// A ratio as its change in percent, signed, with a decimal below ten: `+52`, `−4.9`.
pub(super) fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let text = if percent.abs() < 10.0 { format!("{percent:+.1}") } else { format!("{percent:+.0}") };
    // A minus sign as the tables print it, which does not read as a dash.
    text.replace('-', "−")
}
