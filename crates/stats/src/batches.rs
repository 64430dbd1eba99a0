//! Contiguous batches of one run, as a stand-in for replicates.
//!
//! Batches in the order of time keep the dependence between neighbours inside
//! a batch, where it does no harm. They do not see what differs from run to
//! run, which is why they only ever support an exploratory statement.

use crate::Error;
use crate::quantile::Sample;

/// Batches a side.
pub const BATCHES: usize = 5;

/// The logarithms of one quantile, one a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum LogQuantiles {
    /// All batches have a finite, positive quantile.
    Finite(Vec<f64>),
    /// In this many batches the quantile is +∞.
    Unbounded(usize),
    /// In this many batches the quantile is zero or negative.
    NotPositive(usize),
}

/// Splits a series into `count` contiguous parts whose lengths differ by at
/// most one.
///
/// # Errors
/// [`Error::TooFewValues`] for no parts or a series shorter than `count`.
pub fn split<T>(series: &[T], count: usize) -> Result<Vec<&[T]>, Error> {
    let n = series.len();
    if count == 0 || n < count {
        return Err(Error::TooFewValues { what: "a series to be split", found: n, needed: count.max(1) });
    }
    Ok((0..count).map(|i| &series[i * n / count..(i + 1) * n / count]).collect())
}

/// ln q_p of each of `count` contiguous batches of a series in the order of
/// time.
///
/// # Errors
/// As [`split`] and [`Sample::new`]; [`Error::Probability`] unless 0 < p < 1.
pub fn log_quantiles(series: &[f64], count: usize, p: f64) -> Result<LogQuantiles, Error> {
    let p = crate::error::probability("p", p)?;
    let mut logs = Vec::with_capacity(count);
    let (mut unbounded, mut not_positive) = (0, 0);
    for batch in split(series, count)? {
        match Sample::new(batch.to_vec())?.quantile(p) {
            Some(q) if q.is_infinite() => unbounded += 1,
            Some(q) if q > 0.0 => logs.push(q.ln()),
            _ => not_positive += 1,
        }
    }
    Ok(if unbounded > 0 {
        LogQuantiles::Unbounded(unbounded)
    } else if not_positive > 0 {
        LogQuantiles::NotPositive(not_positive)
    } else {
        LogQuantiles::Finite(logs)
    })
}
