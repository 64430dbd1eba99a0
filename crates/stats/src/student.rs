//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Error;
use crate::error::probability;

fn distribution(nu: f64) -> Result<StudentsT, Error> {
    let refused = Error::NotPositive { what: "degrees of freedom", value: nu };
    if !(nu.is_finite() && nu > 0.0) {
        return Err(refused);
    }
    StudentsT::new(0.0, 1.0, nu).map_err(|_| refused)
}

/// The p quantile of t with `nu` degrees of freedom (which need not be whole:
/// Welch's are not).
///
/// # Errors
/// [`Error::Probability`] unless 0 < p < 1, [`Error::NotPositive`] unless
/// `nu` is finite and positive.
pub fn quantile(p: f64, nu: f64) -> Result<f64, Error> {
    let p = probability("the level of a t quantile", p)?;
    Ok(distribution(nu)?.inverse_cdf(p))
}

/// P(T > t) with `nu` degrees of freedom; ±∞ give 0 and 1.
///
/// # Errors
/// [`Error::NotPositive`] unless `nu` is finite and positive and `t` is a number.
pub fn upper_tail(t: f64, nu: f64) -> Result<f64, Error> {
    let distribution = distribution(nu)?;
    if t.is_nan() {
        return Err(Error::NotPositive { what: "a t statistic", value: t });
    }
    if t.is_infinite() {
        return Ok(if t > 0.0 { 0.0 } else { 1.0 });
    }
    // The lower tail of −t keeps its digits where 1 − F(t) would lose them.
    Ok(distribution.cdf(-t))
}
