//! What got worse between two sides: by how much, in which stage, on how many replicas.

use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    first_look::{Affected, Change, StagePart},
    metric::{Metric, Worse},
    report::{MetricRow, Quantity, StageRow},
    unit::Seconds,
};
use firstcheck_stats::quantile::Sample;
use std::collections::BTreeMap;

/// Least relative change that is worth a reader's first look; two runs of one deployment differ by some percent.
const WORTH: f64 = 1.1;
/// Changes that are kept.
const MOST: usize = 5;
/// What a user or an operator sees, with the statistics that a single run can carry.
const HEADLINES: [(Metric, &[&str]); 12] = [
    (Metric::FailedShare, &["total"]),
    (Metric::Ttft, &["p95", "p50"]),
    (Metric::Tpot, &["p50"]),
    (Metric::LongestGap, &["p95"]),
    (Metric::E2e, &["p95"]),
    (Metric::Goodput, &["total"]),
    (Metric::Preemptions, &["total"]),
    (Metric::HitRate, &["total"]),
    (Metric::KvCapacity, &["total"]),
    (Metric::TtftServer, &["mean"]),
    (Metric::ItlServer, &["mean"]),
    (Metric::QueueTime, &["mean"]),
];

/// Changes for the worse among `metrics`, the largest first: the share of requests without an answer before latencies,
/// those before counters. What may not be claimed is among them, and says so: that users notice it is no claim.
pub fn changes(metrics: &[MetricRow], stages: &[StageRow], base: &Evidence, side: &Evidence) -> Vec<Change> {
    let mut found: Vec<(usize, f64, Change)> = Vec::new();
    for row in metrics.iter().filter(|row| row.slice.is_none() && row.cell.is_none()) {
        let Some(place) =
            HEADLINES.iter().position(|(metric, stats)| *metric == row.metric && stats.contains(&row.stat.as_str()))
        else {
            continue;
        };
        let (Some(before), Some(now)) = (row.base, row.candidate) else { continue };
        let times = times_worse(row.metric, before, now);
        // Of two statistics of a metric the one that got worse by more says it.
        let known = found.iter().position(|(_, _, change)| change.metric == row.metric);
        if times < WORTH || known.is_some_and(|known| found[known].1 >= times) {
            continue;
        }
        let change = Change {
            metric: row.metric,
            stat: row.stat.clone(),
            unit: row.unit.clone(),
            base: before,
            candidate: now,
            n: row.n,
            claim: row.claim,
            stage: stage(row, stages),
            replicas: affected(row.metric, times, base, side),
        };
        match known {
            Some(known) => found[known] = (place, times, change),
            None => found.push((place, times, change)),
        }
    }
    let tier = |metric: Metric| match metric {
        Metric::FailedShare => 0,
        Metric::Ttft | Metric::Tpot | Metric::LongestGap | Metric::E2e => 1,
        Metric::Goodput | Metric::TtftServer | Metric::ItlServer => 2,
        _ => 3,
    };
    found.sort_by(|a, b| tier(a.2.metric).cmp(&tier(b.2.metric)).then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0)));
    found.into_iter().map(|(_, _, change)| change).take(MOST).collect()
}

/// How many times worse it is; of two zeros once, of something from nothing without bound.
fn times_worse(metric: Metric, before: Quantity, now: Quantity) -> f64 {
    let number = |quantity: Quantity| quantity.finite().unwrap_or(f64::INFINITY);
    let (before, now) = match metric.worse() {
        Worse::Higher => (number(before), number(now)),
        Worse::Lower => (number(now), number(before)),
    };
    match before == now {
        true => 1.0,
        false => now / before,
    }
}

/// The stage that took most of a row's difference, by the split of the same total, else of another one of its metric.
fn stage(row: &MetricRow, stages: &[StageRow]) -> Option<StagePart> {
    let own = format!("{} {}", row.metric, row.stat);
    let family = format!("{} ", row.metric);
    let grown = |of: &dyn Fn(&StageRow) -> bool| {
        let rows = stages.iter().filter(|stage| of(stage) && !stage.contains.is_empty() && stage.delta > 0.0);
        rows.max_by(|a, b| a.delta.total_cmp(&b.delta))
    };
    let most = grown(&|stage| stage.of == own).or_else(|| grown(&|stage| stage.of.starts_with(&family)))?;
    Some(StagePart { stage: most.stage.clone(), delta: most.delta, share: most.share, basis: most.basis.clone() })
}

/// A latency of a run's row.
type Latency = fn(&RunEvidence, usize) -> Option<Seconds>;

/// Replicas whose median got worse by at least half as much as the whole, as spans tell who served a request.
fn affected(metric: Metric, times: f64, base: &Evidence, side: &Evidence) -> Option<Affected> {
    let latency: Latency = match metric {
        Metric::Ttft => |run, row| run.requests.0.get(row)?.ttft(),
        Metric::Tpot => |run, row| run.requests.0.get(row)?.tpot(),
        Metric::LongestGap => RunEvidence::longest_gap,
        Metric::E2e => |run, row| run.requests.0.get(row)?.e2e(),
        _ => return None,
    };
    let (before, now) = (medians(base, latency), medians(side, latency));
    let both: Vec<(&String, f64)> =
        now.iter().filter_map(|(replica, now)| Some((replica, now / before.get(replica)?))).collect();
    if both.is_empty() {
        return None;
    }
    let least = 1.0 + (times - 1.0).min(1.0) / 2.0;
    let worse = both.iter().filter(|(_, times)| *times >= least).map(|(replica, _)| (*replica).clone());
    Some(Affected { worse: worse.collect(), of: both.len() as u64 })
}

fn medians(evidence: &Evidence, of: Latency) -> BTreeMap<String, f64> {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in &evidence.runs {
        let served = served_by(run);
        for (row, _) in run.window() {
            if let (Some(replica), Some(value)) = (served.get(&(row as u32)), of(run, row)) {
                values.entry((*replica).to_owned()).or_default().push(value.0);
            }
        }
    }
    let median = |values: Vec<f64>| Sample::new(values).ok()?.quantile(0.5);
    values.into_iter().filter_map(|(replica, values)| Some((replica, median(values)?))).collect()
}

/// The replica that answered each request, where spans tell; of two pools the last.
fn served_by(run: &RunEvidence) -> BTreeMap<u32, &str> {
    run.spans.iter().filter_map(|span| Some((span.request, span.replica.as_deref()?))).collect()
}
