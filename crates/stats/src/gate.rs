//! One metric against its margin.

use crate::Error;
use crate::estimate::Estimate;

/// What one-sided bounds say of an effect against a margin. Worse is positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The upper bound lies below the margin.
    Pass,
    /// The lower bound lies above the margin.
    Fail,
    /// Neither.
    Inconclusive,
}

/// Decides `effect` against `margin` (on the scale of the differences, so
/// ln(1 + m) for a log ratio) with one-sided bounds at error `alpha`.
///
/// A pass of a gate needs every metric to pass, without correction; a failure
/// of any metric needs [`crate::max_t`] over all of them.
///
/// # Errors
/// [`Error::Probability`] unless 0 < `alpha` < 1; [`Error::NotFinite`] for a
/// margin that is not finite.
pub fn decide(effect: &Estimate, margin: f64, alpha: f64) -> Result<Decision, Error> {
    crate::error::finite("the margin", &[margin])?;
    if effect.upper(alpha)? < margin {
        Ok(Decision::Pass)
    } else if effect.lower(alpha)? > margin {
        Ok(Decision::Fail)
    } else {
        Ok(Decision::Inconclusive)
    }
}
