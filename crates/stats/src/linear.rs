//! Ordinary least squares with a few regressors.

use crate::error::Error;

/// A fitted linear model.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// One a regressor, in their order.
    pub coefficients: Vec<f64>,
    /// Standard error of each, under independent residuals of one spread.
    pub errors: Vec<f64>,
    /// Standard deviation of the residuals.
    pub residual: f64,
}

/// Fits `y` to the regressors of each row (one of them 1 for an intercept); `None` where they cannot be told apart, or
/// there are not more rows than regressors.
///
/// # Errors
/// [`Error::Length`] where rows differ in length, or are not as many as `y`.
///
/// # Example: a plane
/// ```
/// let rows: Vec<Vec<f64>> = (0..20).map(|i| vec![1.0, f64::from(i), f64::from(i % 3)]).collect();
/// let y: Vec<f64> = rows.iter().map(|row| 4.0 + 0.5 * row[1] - 2.0 * row[2]).collect();
/// let fit = firstcheck_stats::linear::fit(&rows, &y).unwrap().unwrap();
/// assert!((fit.coefficients[1] - 0.5).abs() < 1e-9 && (fit.coefficients[2] + 2.0).abs() < 1e-9);
/// ```
pub fn fit(rows: &[Vec<f64>], y: &[f64]) -> Result<Option<Fit>, Error> {
    if rows.len() != y.len() {
        return Err(Error::Length { what: "the regressed values", expected: rows.len(), found: y.len() });
    }
    let width = rows.first().map_or(0, Vec::len);
    if let Some(odd) = rows.iter().find(|row| row.len() != width) {
        return Err(Error::Length { what: "a row of regressors", expected: width, found: odd.len() });
    }
    if width == 0 || rows.len() <= width {
        return Ok(None);
    }
    let moment = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
    let normal: Vec<Vec<f64>> = (0..width).map(|a| (0..width).map(|b| moment(a, b)).collect()).collect();
    let Some(inverse) = inverse(&normal) else { return Ok(None) };
    let right: Vec<f64> = (0..width).map(|a| rows.iter().zip(y).map(|(row, y)| row[a] * y).sum()).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let coefficients: Vec<f64> = inverse.iter().map(|row| dot(row, &right)).collect();
    let squares: f64 = rows.iter().zip(y).map(|(row, y)| (y - dot(row, &coefficients)).powi(2)).sum();
    let variance = squares / (rows.len() - width) as f64;
    let errors = (0..width).map(|at| (variance * inverse[at][at]).max(0.0).sqrt()).collect();
    Ok(Some(Fit { coefficients, errors, residual: variance.sqrt() }))
}

/// A pivot below this share of its column's largest entry makes a matrix one that cannot be inverted.
const SINGULAR: f64 = 1e-10;

/// The inverse by Gauss and Jordan with pivots; `None` for a singular matrix.
fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|i| matrix[i].iter().copied().chain((0..n).map(|j| f64::from(u8::from(i == j)))).collect())
        .collect();
    for column in 0..n {
        let largest = matrix.iter().map(|row| row[column].abs()).fold(0.0, f64::max);
        let pivot = (column..n).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        if rows[pivot][column].abs() <= SINGULAR * largest {
            return None;
        }
        rows.swap(column, pivot);
        let scale = rows[column][column];
        rows[column].iter_mut().for_each(|value| *value /= scale);
        let source = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(at, _)| *at != column) {
            let factor = row[column];
            row.iter_mut().zip(&source).for_each(|(value, from)| *value -= factor * from);
        }
    }
    Some(rows.into_iter().map(|row| row[n..].to_vec()).collect())
}
