//! What K pairs can detect, and how many pairs a margin needs.

use crate::Error;
use crate::student;

/// The error of the one-sided test that the detectable effect is quoted for.
pub const ALPHA: f64 = 0.05;
/// The power that the detectable effect is quoted for.
pub const POWER: f64 = 0.80;

/// Which numbers of pairs may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairPlan {
    /// Covariates that will be fitted.
    pub covariates: usize,
    /// K must be a multiple of this: 2 balances the order, 4 order and device.
    pub multiple: usize,
    /// The smallest K allowed.
    pub least: usize,
    /// The largest K allowed.
    pub limit: usize,
}

impl PairPlan {
    fn candidates(self) -> impl Iterator<Item = usize> {
        let step = self.multiple.max(1);
        let first = self.least.max(self.covariates + 2).div_ceil(step) * step;
        (first..=self.limit).step_by(step)
    }
}

/// The smallest detectable effect on the scale of the differences,
/// `(t_{1−α,ν} + t_{power,ν})·s_d/√K` with ν = K − 1 − c.
///
/// # Errors
/// [`Error::TooFewPairs`] when ν < 1, [`Error::NotPositive`] when `s_d` is
/// negative or not finite. An `s_d` of 0 gives 0.
pub fn log_mde(s_d: f64, pairs: usize, covariates: usize) -> Result<f64, Error> {
    if !(s_d.is_finite() && s_d >= 0.0) {
        return Err(Error::NotPositive { what: "s_d", value: s_d });
    }
    let needed = covariates + 2;
    if pairs < needed {
        return Err(Error::TooFewPairs { pairs, covariates, needed });
    }
    let nu = (pairs - 1 - covariates) as f64;
    let t = student::quantile(1.0 - ALPHA, nu)? + student::quantile(POWER, nu)?;
    Ok(t * s_d / (pairs as f64).sqrt())
}

/// The smallest detectable relative effect, `exp(log_mde) − 1`: 0.07 is 7 %.
///
/// # Errors
/// As [`log_mde`].
pub fn mde(s_d: f64, pairs: usize, covariates: usize) -> Result<f64, Error> {
    Ok(log_mde(s_d, pairs, covariates)?.exp_m1())
}

/// The smallest K of the plan whose detectable relative effect is at most
/// `margin` (0.10 is 10 %); `None` when even the limit is not enough.
///
/// # Errors
/// As [`log_mde`]; [`Error::NotPositive`] for a margin that is not positive.
pub fn pairs_needed(s_d: f64, margin: f64, plan: PairPlan) -> Result<Option<usize>, Error> {
    if !(margin.is_finite() && margin > 0.0) {
        return Err(Error::NotPositive { what: "a margin", value: margin });
    }
    for pairs in plan.candidates() {
        if mde(s_d, pairs, plan.covariates)? <= margin {
            return Ok(Some(pairs));
        }
    }
    Ok(None)
}

/// The smallest K of the plan at which a one-sided bound at error `alpha`
/// would pass `margin` if effect and spread stayed as measured (`gap` is
/// |Δ − margin|, on the scale of the differences); `None` when even the limit
/// is not enough.
///
/// # Errors
/// [`Error::Probability`] unless 0 < `alpha` < 1; [`Error::NotPositive`] for a
/// gap or an `s_d` that is negative or not finite.
pub fn pairs_to_decide(gap: f64, s_d: f64, alpha: f64, plan: PairPlan) -> Result<Option<usize>, Error> {
    for (what, value) in [("the distance to the margin", gap), ("s_d", s_d)] {
        if !(value.is_finite() && value >= 0.0) {
            return Err(Error::NotPositive { what, value });
        }
    }
    for pairs in plan.candidates() {
        let nu = (pairs - 1 - plan.covariates) as f64;
        let half = -student::quantile(alpha, nu)? * s_d / (pairs as f64).sqrt();
        if half < gap {
            return Ok(Some(pairs));
        }
    }
    Ok(None)
}
