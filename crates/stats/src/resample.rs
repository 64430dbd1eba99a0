//! Intervals by resampling whole pairs.

use crate::Error;
use crate::error::{finite, probability};
use crate::estimate::Interval;
use crate::student;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

/// Fewer values have too few resamples to reach into the tails.
pub const MIN_VALUES: usize = 6;

/// The interval of a mean: quantiles of the means of `resamples` samples, as
/// many values each, drawn with replacement.
///
/// Plain percentiles of so few values are too narrow: the spread of a resample
/// is `√((n − 1)/n)` of the sample's, and nothing stands in for its own
/// uncertainty. The levels are therefore moved outwards to
/// `Φ(−√(n/(n − 1))·t_{n−1})` (the expanded percentile interval of Hesterberg,
/// "What teachers should know about the bootstrap", 2015), which is the t
/// interval where the values are normal and keeps the skew where they are not.
///
/// # Errors
/// [`Error::TooFewValues`] below [`MIN_VALUES`] values or without resamples,
/// [`Error::NotFinite`], [`Error::Probability`] unless 0 < `confidence` < 1.
pub fn mean_interval(values: &[f64], confidence: f64, resamples: usize, seed: u64) -> Result<Interval, Error> {
    let n = values.len();
    if n < MIN_VALUES {
        return Err(Error::TooFewValues { what: "a resampled mean", found: n, needed: MIN_VALUES });
    }
    finite("a resampled mean", values)?;
    let confidence = probability("confidence", confidence)?;
    let t = student::quantile(1.0 - (1.0 - confidence) / 2.0, (n - 1) as f64)?;
    let outer = Normal::standard().cdf(-t * (n as f64 / (n - 1) as f64).sqrt());
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut means: Vec<f64> =
        (0..resamples).map(|_| (0..n).map(|_| values[random.random_range(0..n)]).sum::<f64>() / n as f64).collect();
    means.sort_by(f64::total_cmp);
    let last = means.len().saturating_sub(1) as f64;
    let at = |p: f64| means.get((p * last).round() as usize).copied();
    match (at(outer), at(1.0 - outer)) {
        (Some(lo), Some(hi)) => Ok(Interval { lo, hi }),
        _ => Err(Error::TooFewValues { what: "resamples", found: resamples, needed: 1 }),
    }
}
