//! Fitting parameters of the engine to what was measured.

use super::{FidelityError, Latencies, Recorded, Replayed, latency::Metric};
use firstcheck_stats::simplex::{Minimum, Search, minimise};

/// A parameter to be fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Where the search starts, above zero.
    pub start: f64,
}

/// The outcome of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Values of the parameters, in their order.
    pub values: Vec<f64>,
    /// Mean over requests of |ln predicted/measured|, TTFT and TPOT together.
    pub loss: f64,
    /// Replays that it took.
    pub evaluations: usize,
}

/// Fits `parameters` so that `replay` predicts the requests `rows` of each recorded run best: least mean |ln
/// predicted/measured| over TTFT and TPOT of single requests. The parameters stay above zero, since their logarithms are
/// searched; the search is begun again from where it ended until that no longer helps.
///
/// # Errors
/// The first replay, at the start, that fails; failures on the way count as infinitely bad.
pub fn fit(
    recorded: &[(&Recorded, std::ops::Range<usize>)],
    parameters: &[Parameter],
    mut replay: impl FnMut(&Recorded, &[f64]) -> Result<Replayed, FidelityError>,
) -> Result<Fit, FidelityError> {
    let start: Vec<f64> = parameters.iter().map(|parameter| parameter.start).collect();
    let measured: Vec<Latencies> = recorded.iter().map(|(run, rows)| run.latencies().rows(rows.clone())).collect();
    let mut loss = |values: &[f64]| -> Result<f64, FidelityError> {
        let mut deviations = Deviations::default();
        for ((run, _), measured) in recorded.iter().zip(&measured) {
            deviations.add(&replay(run, values)?.latencies, measured);
        }
        Ok(deviations.mean())
    };
    loss(&start)?;
    let mut best = Minimum { at: start.iter().map(|value| value.ln()).collect(), value: f64::INFINITY, evaluations: 0 };
    for step in [0.4, 0.2, 0.1] {
        let search = Search { step, tolerance: 1e-6, evaluations: 120 * parameters.len() };
        let values = |at: &[f64]| -> Vec<f64> { at.iter().map(|value| value.exp()).collect() };
        let next = minimise(&best.at.clone(), search, |at| loss(&values(at)).unwrap_or(f64::INFINITY));
        let evaluations = best.evaluations + next.evaluations;
        best = if next.value < best.value { next } else { best };
        best.evaluations = evaluations;
    }
    let values = best.at.iter().map(|value| value.exp()).collect();
    Ok(Fit { values, loss: best.value, evaluations: best.evaluations })
}

#[derive(Debug, Default)]
struct Deviations {
    sum: f64,
    count: usize,
}

impl Deviations {
    fn add(&mut self, predicted: &Latencies, measured: &Latencies) {
        for metric in [Metric::Ttft, Metric::Tpot] {
            for (predicted, measured) in predicted.0.iter().zip(&measured.0) {
                let (Some(predicted), Some(measured)) = (predicted, measured) else { continue };
                let (Some(predicted), Some(measured)) = (metric.of(predicted), metric.of(measured)) else { continue };
                self.sum += (predicted / measured).ln().abs();
                self.count += 1;
            }
        }
    }

    fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}
