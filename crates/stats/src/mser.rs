//! MSER-5: where a series seems to have settled.
//!
//! White, Cobb & Spratt (2000): over means of five, the cut that minimises the
//! squared standard error of what remains. A diagnostic only: in an open loop
//! it cuts nothing or deletes a busy period, so it never decides a warm-up.

use crate::Error;
use crate::error::finite;

/// Observations a mean.
pub const GROUP: usize = 5;

/// The cut that MSER-5 proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// Observations before the cut.
    pub observations: usize,
    /// The minimum lies at the end of the first half, beyond which the
    /// statistic is not trusted: the series has probably not settled.
    pub at_limit: bool,
}

/// The cut over the first half of the series.
///
/// # Errors
/// [`Error::TooFewValues`] for fewer than 20 observations,
/// [`Error::NotFinite`] for one that is not finite.
pub fn mser5(series: &[f64]) -> Result<Truncation, Error> {
    let needed = 4 * GROUP;
    if series.len() < needed {
        return Err(Error::TooFewValues { what: "a series", found: series.len(), needed });
    }
    finite("a series", series)?;
    let means: Vec<f64> = series.chunks_exact(GROUP).map(|c| c.iter().sum::<f64>() / GROUP as f64).collect();
    let limit = means.len() / 2;
    let (mut best, mut least) = (0, f64::INFINITY);
    // From the end, with the running mean and squares of Welford, so that every
    // cut costs one step.
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for (cut, value) in means.iter().enumerate().rev() {
        n += 1.0;
        let off = value - mean;
        mean += off / n;
        squares += off * (value - mean);
        let statistic = squares / (n * n);
        // On a tie the earlier cut keeps more.
        if cut <= limit && statistic <= least {
            (best, least) = (cut, statistic);
        }
    }
    Ok(Truncation { observations: best * GROUP, at_limit: best == limit })
}
