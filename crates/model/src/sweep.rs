//! What a sweep over the rate has found.

use crate::{report::Quantity, slo::Slo};
use serde::{Deserialize, Serialize};

/// A sweep: at which rate the objective breaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The objective.
    pub slo: Slo,
    /// Share of the offered requests that has to meet it.
    pub target_share: f64,
    /// One curve for each spread of lengths; one where lengths are as the workload says.
    pub curves: Vec<Curve>,
}

/// Runs at several rates of one mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Standard deviation of the lengths over their mean; null: as the workload says.
    pub length_cv: Option<f64>,
    /// Runs in the order in which they were made.
    pub levels: Vec<LevelRow>,
    /// Where the objective breaks; null where that is not known.
    pub breaks: Option<Breaks>,
    /// Highest rate from which on the p95 TTFT is no more than so many times that at the lowest rate, see `knee_ratio`.
    pub knee: Option<f64>,
    /// Highest rate that was run without a growing queue below the lowest at which one grew: what `--load` counts from.
    pub steady: Option<f64>,
    /// What is known and what is not, in words.
    pub why: Vec<String>,
}

/// Where the objective breaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Breaks {
    /// Requests a second.
    pub rate: f64,
    /// Interval of the rate; null where the runs do not give one.
    pub interval: Option<[f64; 2]>,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Runs behind it.
    pub runs: u64,
    /// GPU-hours of a request that meets the objective, at that rate; null where the number of GPUs is not known.
    pub gpu_hours_per_good: Option<f64>,
    /// What such a request costs; null where a GPU-hour's cost is not known.
    pub cost_per_good: Option<f64>,
}

/// One run at one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelRow {
    /// Offered requests a second, as asked.
    pub rate: f64,
    /// Where its bundle is.
    pub bundle: String,
    /// Offered requests in the window.
    pub offered: u64,
    /// Share of them that met the objective; null where it is not known.
    pub good_share: Option<f64>,
    /// Requests a second that met it.
    pub goodput: Option<f64>,
    /// p95 of TTFT, seconds.
    pub ttft_p95: Option<Quantity>,
    /// p50 of TPOT, seconds.
    pub tpot_p50: Option<Quantity>,
    /// GPU-hours a good request.
    pub gpu_hours_per_good: Option<Quantity>,
    /// Whether the queue grew over the window; null where that is not known.
    pub queue_grew: Option<bool>,
    /// Why the run may not be believed; empty: it may.
    pub invalid: Vec<String>,
}
