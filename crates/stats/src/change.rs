//! Where a series changes its level, by ranks.

use crate::{error::Error, rank::ranks};

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Place of the first value after it.
    pub at: usize,
    /// Chance that a series of independent values without a change shows one as large (an upper bound, at most 1).
    pub p: f64,
}

/// Fewest values of which a change can be told.
const FEWEST: usize = 10;

/// Pettitt's test: the place at which values before and after differ most in rank.
///
/// With ranks R₁…Rₙ (ties share their mean), U_k = 2·(R₁+…+R_k) − k·(n+1), K = max |U_k| and
/// p ≈ 2·exp(−6·K² / (n³ + n²)) (Pettitt 1979, "A non-parametric approach to the change-point problem"). The values must
/// be independent: take means or medians of batches of what is not. The place is that of the largest U_k² / (k·(n−k)), by
/// which two levels fit the ranks best: |U_k| itself leans to the middle.
///
/// # Errors
/// [`Error::TooFewValues`] below ten values, [`Error::NotOrdered`] for one that has no place in an order (+∞ has: an
/// answer that never came ranks last).
///
/// # Example: a step
/// ```
/// let series = [1.0, 1.2, 0.9, 1.1, 1.0, 1.2, 3.1, 3.0, 2.9, 3.3, 3.1, 3.0];
/// let change = firstcheck_stats::change::pettitt(&series).unwrap();
/// assert_eq!(change.at, 6);
/// assert!(change.p < 0.05);
/// ```
pub fn pettitt(values: &[f64]) -> Result<Change, Error> {
    let n = values.len();
    if n < FEWEST {
        return Err(Error::TooFewValues { what: "the series", found: n, needed: FEWEST });
    }
    let ranks = ranks(values)?;
    let (mut sum, mut largest, mut best, mut at) = (0.0, 0.0_f64, -1.0, 1);
    for (place, rank) in ranks.iter().enumerate().take(n - 1) {
        sum += rank;
        let k = (place + 1) as f64;
        let u = (2.0 * sum - k * (n as f64 + 1.0)).abs();
        largest = largest.max(u);
        let fit = u * u / (k * (n as f64 - k));
        if fit > best {
            (best, at) = (fit, place + 1);
        }
    }
    let cube = (n as f64).powi(3) + (n as f64).powi(2);
    Ok(Change { at, p: (2.0 * (-6.0 * largest * largest / cube).exp()).min(1.0) })
}
