//! One run of a sweep as a row.

use crate::compare::{Policy, describe, queue_growth};
use firstcheck_model::{evidence::RunEvidence, metric::Metric, report::Quantity, sweep::LevelRow};

/// GPU-seconds of a GPU-hour.
const HOUR: f64 = 3_600.0;

/// A run at `rate`, under the objective of `policy`.
pub fn level(run: &RunEvidence, rate: f64, policy: &Policy) -> LevelRow {
    let report = describe(run, policy);
    let value = |metric, stat: &str| report.metric(metric, stat).and_then(|row| row.candidate);
    let finite = |metric, stat| value(metric, stat).and_then(Quantity::finite);
    let hours = |quantity| match quantity {
        Quantity::Finite(seconds) => Quantity::Finite(seconds / HOUR),
        Quantity::Unbounded => Quantity::Unbounded,
    };
    let good = report.metric(Metric::GoodShare, "total");
    LevelRow {
        rate,
        bundle: run.label.clone(),
        offered: good.and_then(|row| row.n[1]).unwrap_or(run.requests.len() as u64),
        good_share: good.and_then(|row| row.candidate).and_then(Quantity::finite),
        goodput: finite(Metric::Goodput, "total"),
        ttft_p95: value(Metric::Ttft, "p95"),
        tpot_p50: value(Metric::Tpot, "p50"),
        gpu_hours_per_good: value(Metric::GpuTimePerGood, "total").map(hours),
        queue_grew: queue_growth(run, policy).map(|growth| growth >= policy.queue_growth),
        invalid: report.invalid,
    }
}
