//! How long a request that arrives during a step waits for its end.

use super::counters::{growth_in, means_can_be_told, no_traffic};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    signal::{Part, Signal},
    unit::Seconds,
};

/// Mean wait for the end of the step in hand, from the buckets of the inter-token histogram.
///
/// Between two tokens of a request lies a step. What arrives at any moment meets long steps more often than short ones and
/// waits half of the one it meets: `Σ s² / (2 Σ s)`, the mean residual life of a renewal process. Observations stand in
/// the middle of their bucket, those of the last one at its lower bound. It is an estimate in two more ways: a step counts
/// once for each request that it gives a token, and one without any is not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct StepWait {
    /// The wait.
    pub mean: Measurement<Seconds>,
}

impl StepWait {
    /// The wait over the windows of `runs`.
    ///
    /// # Errors
    /// No such histogram, or one that did not grow.
    pub fn of(runs: &[RunEvidence]) -> Result<Self, Missing> {
        let mut bounds: Vec<f64> = runs.iter().flat_map(bounds_of).collect();
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        let (mut below, mut lower, mut n) = (0.0, 0.0, 0.0);
        let (mut sum, mut squares, mut from) = (0.0, 0.0, Vec::new());
        for bound in bounds {
            let growth = growth_in(runs, Signal::Itl, Part::Bucket(bound))?;
            let inside = (growth.value - below).max(0.0);
            let step = if bound.is_finite() { f64::midpoint(lower, bound) } else { lower };
            n += inside;
            sum += inside * step;
            squares += inside * step * step;
            (below, lower) = (growth.value, bound);
            from.push(growth.source);
        }
        if from.is_empty() {
            return Err(Missing::not_exposed("buckets of the inter-token histogram", "firstcheck run --url URL"));
        }
        if sum <= 0.0 {
            return Err(no_traffic("observations of `itl` in the window"));
        }
        let source = Source::Derived { by: "mean residual of the steps behind the inter-token histogram".into(), from };
        let value = Seconds(squares / (2.0 * sum));
        Ok(Self { mean: Measurement { value, interval: None, n: n.round() as u64, source } })
    }
}

fn bounds_of(run: &RunEvidence) -> impl Iterator<Item = f64> + '_ {
    run.signals.iter().filter(|series| series.signal == Some(Signal::Itl)).filter_map(|series| match series.part {
        Part::Bucket(bound) => Some(bound),
        _ => None,
    })
}

impl Measure for StepWait {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        means_can_be_told(side)?;
        Self::of(&side.evidence.runs)
    }
}
