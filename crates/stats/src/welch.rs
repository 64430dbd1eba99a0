//! Two samples of unequal spread: Welch's t.

use crate::Error;
use crate::error::finite;
use crate::estimate::Estimate;

/// mean(candidate) − mean(base) with Welch's standard error and the degrees of
/// freedom of Welch and Satterthwaite.
///
/// # Errors
/// [`Error::TooFewValues`] for fewer than two values a side,
/// [`Error::NotFinite`] for a value that is not finite, [`Error::Overflow`] for
/// values too large to be squared.
pub fn welch(base: &[f64], candidate: &[f64]) -> Result<Estimate, Error> {
    let (mean_b, square_b, nu_b) = side("base", base)?;
    let (mean_c, square_c, nu_c) = side("candidate", candidate)?;
    let square = square_b + square_c;
    let delta = mean_c - mean_b;
    if !(square.is_finite() && delta.is_finite()) {
        return Err(Error::Overflow { what: "a difference of means" });
    }
    let scale = mean_b.abs().max(mean_c.abs()).max(1.0);
    if square.sqrt() <= 1e-12 * scale {
        return Ok(Estimate { delta, se: 0.0, nu: nu_b + nu_c, identical: true });
    }
    // Shares first: squares of very small variances would underflow.
    let (share_b, share_c) = (square_b / square, square_c / square);
    let nu = 1.0 / (share_b * share_b / nu_b + share_c * share_c / nu_c);
    Ok(Estimate { delta, se: square.sqrt(), nu, identical: false })
}

/// Mean, squared standard error of the mean, degrees of freedom.
fn side(what: &'static str, values: &[f64]) -> Result<(f64, f64, f64), Error> {
    let n = values.len();
    if n < 2 {
        return Err(Error::TooFewValues { what, found: n, needed: 2 });
    }
    finite(what, values)?;
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let nu = (n - 1) as f64;
    Ok((mean, squares / nu / n as f64, nu))
}
