//! Tail asymmetry: whether a few requests got much slower.
//!
//! δ_i = ln(candidate_i / base_i) over the same request of both runs, and C is
//! the mean of the top 1 % plus the mean of the bottom 1 % of δ. Noise is the
//! same in both tails and cancels; a stall that hits few requests does not.
//! One C a pair, tested over pairs as any difference and never within one. A
//! uniform slowdown moves C too.

use crate::ratio::{LogRatio, log_ratio};

/// The share of requests in each tail.
pub const TAIL: f64 = 0.01;

/// C of one pair of runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TailAsymmetry {
    /// C in log points; positive says that the candidate's tail is slower.
    pub value: f64,
    /// Requests that were complete on both sides and were used.
    pub used: usize,
    /// Requests that were left out: unbounded on a side, or without a
    /// logarithm.
    pub left_out: usize,
    /// Requests in each tail.
    pub tail: usize,
}

/// C over (base, candidate) latencies of the same requests; `None` when fewer
/// than 100 requests are complete on both sides, since a tail would be empty.
#[must_use]
pub fn tail_asymmetry(latencies: impl IntoIterator<Item = (f64, f64)>) -> Option<TailAsymmetry> {
    let mut offered = 0;
    let mut deltas = Vec::new();
    for (base, candidate) in latencies {
        offered += 1;
        if let LogRatio::Finite(delta) = log_ratio(base, candidate) {
            deltas.push(delta);
        }
    }
    let used = deltas.len();
    let tail = (used as f64 * TAIL + 1e-9).floor() as usize;
    if tail == 0 {
        return None;
    }
    deltas.sort_unstable_by(f64::total_cmp);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let value = mean(&deltas[used - tail..]) + mean(&deltas[..tail]);
    Some(TailAsymmetry { value, used, left_out: offered - used, tail })
}
