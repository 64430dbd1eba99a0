//! Quantiles of samples in which some values are unbounded.
//!
//! A request that never completed has latency +∞. The inverse-CDF quantile
//! takes an observed value and so survives that; interpolation would not, and
//! exists here only to reproduce the summaries of other tools.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::Error;
use crate::error::probability;

/// Values of one run in ascending order, each finite or +∞.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
}

/// A distribution-free interval of a quantile; an end that the sample is too
/// small to give is `None`, and one that is given may be +∞.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrderInterval {
    /// Lower end.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
}

/// How fast the quantile function climbs around a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steepness {
    /// q(p + h) / q(p − h).
    Ratio(f64),
    /// The upper of the two quantiles is +∞.
    Unbounded,
    /// A quantile involved is zero or negative, so there is no ratio.
    NotPositive,
}

impl Steepness {
    /// The ratio from which a quantile is a jump between two regimes and not
    /// a level.
    pub const LIMIT: f64 = 1.5;

    /// Whether the quantile is steady enough to be gated.
    #[must_use]
    pub fn is_steady(self) -> bool {
        matches!(self, Steepness::Ratio(ratio) if ratio < Self::LIMIT)
    }
}

impl Sample {
    /// Sorts the values.
    ///
    /// # Errors
    /// [`Error::NotOrdered`] for NaN or −∞.
    pub fn new(mut values: Vec<f64>) -> Result<Self, Error> {
        if let Some(index) = values.iter().position(|v| v.is_nan() || *v == f64::NEG_INFINITY) {
            return Err(Error::NotOrdered { index, value: values[index] });
        }
        values.sort_unstable_by(f64::total_cmp);
        Ok(Self { sorted: values })
    }

    /// The number of values, the unbounded ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The values in ascending order.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The share of unbounded values, `None` without any value. The p quantile
    /// is unbounded once this reaches about 1 − p.
    #[must_use]
    pub fn unbounded_share(&self) -> Option<f64> {
        let finite = self.sorted.partition_point(|v| v.is_finite());
        let n = self.sorted.len();
        (n > 0).then(|| (n - finite) as f64 / n as f64)
    }

    /// The inverse-CDF quantile x₍⌈np⌉₎, the smallest value with at least a
    /// share p at or below it; +∞ when unbounded, `None` for an empty sample or
    /// p outside [0, 1]. p = 0 gives the smallest value.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<f64> {
        rank(self.sorted.len(), p).map(|r| self.sorted[r - 1])
    }

    /// The quantile interpolated linearly between order statistics
    /// (h = (n − 1)p, the default of numpy); +∞ as soon as it leans on an
    /// unbounded value. For reproducing summaries, never for a comparison.
    #[must_use]
    pub fn linear(&self, p: f64) -> Option<f64> {
        if self.sorted.is_empty() || !(0.0..=1.0).contains(&p) {
            return None;
        }
        let position = (self.sorted.len() - 1) as f64 * p;
        let below = position.floor() as usize;
        let share = position - position.floor();
        let lo = self.sorted[below];
        if share == 0.0 {
            return Some(lo);
        }
        let hi = self.sorted[below + 1];
        Some(if hi.is_infinite() { hi } else { lo + (hi - lo) * share })
    }

    /// The interval of the p quantile from order statistics and the binomial
    /// distribution, see [`order_ranks`]. Holds for independent values only:
    /// within one run it understates.
    ///
    /// # Errors
    /// As [`order_ranks`].
    pub fn order_interval(&self, p: f64, confidence: f64) -> Result<OrderInterval, Error> {
        let ranks = order_ranks(self.sorted.len(), p, confidence)?;
        let value = |rank: Option<usize>| rank.map(|r| self.sorted[r - 1]);
        Ok(OrderInterval { lo: value(ranks.lower), hi: value(ranks.upper) })
    }

    /// How fast the quantile function climbs around p:
    /// q(p + h)/q(p − h) with h = min(0.02, (1 − p)/2). `None` for an empty
    /// sample or p outside (0, 1).
    #[must_use]
    pub fn steepness(&self, p: f64) -> Option<Steepness> {
        probability("p", p).ok()?;
        let h = ((1.0 - p) / 2.0).min(0.02);
        let below = self.quantile((p - h).max(0.0))?;
        let above = self.quantile((p + h).min(1.0))?;
        Some(if below <= 0.0 {
            Steepness::NotPositive
        } else if above.is_infinite() {
            Steepness::Unbounded
        } else {
            Steepness::Ratio(above / below)
        })
    }
}

/// ⌈np⌉ as a 1-based rank, at least 1: the place of the p quantile among `n`
/// values in their order. `None` without values, or unless 0 ≤ `p` ≤ 1.
///
/// # Example: a product that is a little too large
/// ```
/// use firstcheck_stats::quantile::rank;
/// assert_eq!(rank(100, 0.07), Some(7));
/// assert_eq!(rank(0, 0.5), None);
/// ```
pub fn rank(n: usize, p: f64) -> Option<usize> {
    if n == 0 || !(0.0..=1.0).contains(&p) {
        return None;
    }
    // 0.07 · 100 is 7.000000000000001 in binary: without the allowance the rank
    // would be one too high.
    let exact = n as f64 * p;
    let rank = (exact - 1e-9 * exact.max(1.0)).ceil() as usize;
    Some(rank.clamp(1, n))
}

/// The least number of offered requests from which the p quantile of a run may
/// be claimed, 10/(1 − p): 20, 200 and 1000 for p50, p95 and p99. `None`
/// outside [0, 1).
#[must_use]
pub fn claimable_from(p: f64) -> Option<u64> {
    if !(0.0..1.0).contains(&p) {
        return None;
    }
    let exact = 10.0 / (1.0 - p);
    Some((exact - 1e-9 * exact).ceil() as u64)
}

/// Whether n offered requests are enough to claim the p quantile.
#[must_use]
pub fn claimable(n: usize, p: f64) -> bool {
    claimable_from(p).is_some_and(|least| n as u64 >= least)
}

/// The order statistics that enclose a quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrderRanks {
    /// 1-based rank of the lower end, `None` when the sample is too small.
    pub lower: Option<usize>,
    /// 1-based rank of the upper end, `None` when the sample is too small.
    pub upper: Option<usize>,
    /// The probability that they enclose it; at least the confidence asked for.
    pub coverage: f64,
}

/// Ranks l < u with P(x₍l₎ ≤ q_p ≤ x₍u₎) ≥ confidence for n independent values:
/// l is the largest with P(Bin(n, p) < l) ≤ α/2 and u the smallest with
/// P(Bin(n, p) ≥ u) ≤ α/2.
///
/// # Errors
/// [`Error::Probability`] unless p and confidence lie in (0, 1);
/// [`Error::TooFewValues`] for n = 0.
pub fn order_ranks(n: usize, p: f64, confidence: f64) -> Result<OrderRanks, Error> {
    let p = probability("p", p)?;
    let tail = (1.0 - probability("confidence", confidence)?) / 2.0;
    let too_few = Error::TooFewValues { what: "a sample", found: n, needed: 1 };
    if n == 0 {
        return Err(too_few);
    }
    let binomial = Binomial::new(p, n as u64).map_err(|_| too_few)?;
    // P(Bin < r), for r in 0 ..= n + 1.
    let below = |r: usize| if r == 0 { 0.0 } else { binomial.cdf(r as u64 - 1) };
    let lower = partition(0, n + 1, |r| below(r) <= tail).checked_sub(1).filter(|r| *r >= 1);
    let upper = partition(0, n + 1, |r| below(r) < 1.0 - tail);
    let upper = (1..=n).contains(&upper).then_some(upper);
    let coverage = upper.map_or(1.0, below) - lower.map_or(0.0, below);
    Ok(OrderRanks { lower, upper, coverage })
}

/// The first r in lo..hi for which `holds` is false, given that it is true
/// first and false afterwards; hi if it never is.
fn partition(mut lo: usize, mut hi: usize, holds: impl Fn(usize) -> bool) -> usize {
    while lo < hi {
        let middle = lo + (hi - lo) / 2;
        if holds(middle) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    lo
}
