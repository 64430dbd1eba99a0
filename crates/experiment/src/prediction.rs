//! One run a side, held against how much base differs from itself.
//!
//! Batches of a single run do not hold what differs from run to run. Pairs of base with itself do: the log ratio of two runs
//! on one trace lies, where nothing has changed, within `t·s·√(1 + 1/K)` of 1, with s and ν = K − 1 of K such pairs.

use crate::calibration::Calibrations;
use firstcheck_model::{
    evidence::RunEvidence,
    report::{MetricRow, Quantity, Report},
};
use firstcheck_stats::{
    mde::{ALPHA, POWER},
    prediction::from_ledger,
    student,
};

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Whether two runs replayed one trace, as far as their hashes tell.
pub fn is_one_trace(base: &RunEvidence, candidate: &RunEvidence) -> bool {
    let hash = |run: &RunEvidence| run.info.workload.trace_hash.clone();
    hash(base).is_some() && hash(base) == hash(candidate)
}

/// Gives the rows of a comparison of one run a side, which replayed one trace, the intervals that a calibration of base on
/// this mix predicts, and what they could find. Claims stay: one run a side is exploratory.
pub fn predict(report: &mut Report, calibrations: &Calibrations, mix: &str) {
    let Some(base) = report.sides.base.as_ref() else { return };
    let Ok(calibration) = calibrations.hold(mix, &base.fingerprint) else { return };
    let mut predicted = 0;
    for row in report.metrics.iter_mut().filter(|row| row.exploratory && row.slice.is_none()) {
        let differences = calibration.differences(row.metric, &row.stat);
        if interval(row, differences).is_some() {
            predicted += 1;
        }
    }
    if predicted > 0 {
        report.notes.push(
            "intervals of what is gated are predicted from pairs of base with itself: where nothing had changed they would \
             hold a ratio of 1 in 95 of 100 cases (measured at loads up to 0.7)"
                .into(),
        );
    }
}

fn interval(row: &mut MetricRow, differences: &[f64]) -> Option<()> {
    let ratio = row.ratio?.finite().filter(|ratio| *ratio > 0.0)?;
    let estimate = from_ledger(differences, ratio.ln()).ok()?;
    let ends = estimate.interval(CONFIDENCE).ok()?.exp();
    let found = student::quantile(1.0 - ALPHA, estimate.nu).ok()? + student::quantile(POWER, estimate.nu).ok()?;
    row.interval = Some([Quantity::of(ends.lo)?, Quantity::of(ends.hi)?]);
    row.confidence = Some(CONFIDENCE);
    row.mde = Some((found * estimate.se).exp_m1());
    let pairs = differences.len();
    row.note = Some(format!("predicted from {pairs} pairs of base with itself"));
    Some(())
}
