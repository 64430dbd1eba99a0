//! The effect over K pairs: least squares with order and device.

use crate::Error;
use crate::design::Design;
use crate::estimate::{Estimate, Interval};

/// Δ of `d_k = Δ + a·order_k + b·device_k + e_k` with the ordinary
/// least-squares standard error of the intercept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedEstimate {
    /// The effect with its standard error and ν = K − 1 − c.
    pub effect: Estimate,
    /// Residual standard deviation of the differences; 0 when identical.
    pub s_d: f64,
    /// K.
    pub pairs: usize,
    /// c, covariates fitted.
    pub covariates: usize,
}

impl PairedEstimate {
    /// As [`Estimate::interval`].
    ///
    /// # Errors
    /// As [`Estimate::interval`].
    pub fn interval(&self, confidence: f64) -> Result<Interval, Error> {
        self.effect.interval(confidence)
    }
}

/// Fits the differences of one metric, one a pair, in the order of the design.
///
/// A difference that is unbounded has no place here: the caller decides on it
/// first, by [`crate::ratio::LogRatio`].
///
/// # Errors
/// [`Error::Length`] when there is not one difference a pair,
/// [`Error::NotFinite`] when one of them is not finite, [`Error::Overflow`] when
/// they are too large to be squared.
pub fn estimate(design: &Design, differences: &[f64]) -> Result<PairedEstimate, Error> {
    let split = design.split(differences)?;
    let effect = Estimate {
        delta: split.delta,
        se: split.s / design.effective_pairs().sqrt(),
        nu: design.nu() as f64,
        identical: split.s == 0.0,
    };
    Ok(PairedEstimate { effect, s_d: split.s, pairs: design.pairs(), covariates: design.covariates() })
}
