//! Ranks, and what is told by them alone.

use crate::error::Error;

/// Ranks from 1; equal values share the mean of theirs. +∞ ranks last.
///
/// # Errors
/// [`Error::NotOrdered`] for NaN and −∞.
///
/// # Example: ties share their mean
/// ```
/// assert_eq!(firstcheck_stats::rank::ranks(&[3.0, 1.0, 3.0]).unwrap(), [2.5, 1.0, 2.5]);
/// ```
pub fn ranks(values: &[f64]) -> Result<Vec<f64>, Error> {
    if let Some((index, value)) = values.iter().enumerate().find(|(_, v)| v.is_nan() || **v == f64::NEG_INFINITY) {
        return Err(Error::NotOrdered { index, value: *value });
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let same = order[start..].iter().take_while(|at| values[**at] == values[order[start]]).count();
        let mean = (2 * start + same + 1) as f64 / 2.0;
        order[start..start + same].iter().for_each(|at| ranks[*at] = mean);
        start += same;
    }
    Ok(ranks)
}

/// Spearman's rank correlation: Pearson's of the ranks, in −1..=1; `None` where one of the two does not vary.
///
/// # Errors
/// [`Error::Length`] where the two differ in length, [`Error::NotOrdered`] as [`ranks`].
pub fn spearman(x: &[f64], y: &[f64]) -> Result<Option<f64>, Error> {
    if x.len() != y.len() {
        return Err(Error::Length { what: "the second series", expected: x.len(), found: y.len() });
    }
    let (x, y) = (ranks(x)?, ranks(y)?);
    let middle = (x.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    let spread = (product(&x, &x) * product(&y, &y)).sqrt();
    Ok((spread > 0.0).then(|| product(&x, &y) / spread))
}
