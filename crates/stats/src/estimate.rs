//! An effect with its standard error, and what may be read off it.

use crate::Error;
use crate::error::probability;
use crate::student;

/// A two-sided interval in the unit of the effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Interval {
    /// The ends on the ratio scale, for an effect that is a log ratio.
    #[must_use]
    pub fn exp(self) -> Interval {
        Interval { lo: self.lo.exp(), hi: self.hi.exp() }
    }

    /// Whether `value` lies inside, ends included.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }
}

/// An effect on the scale of its differences (log points, logits), worse
/// positive by the caller's choice of sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The effect.
    pub delta: f64,
    /// Its standard error; 0 when `identical`.
    pub se: f64,
    /// Degrees of freedom of the standard error.
    pub nu: f64,
    /// The differences do not vary beyond rounding: there is no t statistic,
    /// every interval is the point itself, and a bound decides by itself.
    pub identical: bool,
}

impl Estimate {
    /// The two-sided interval `delta ± t·se`.
    ///
    /// # Errors
    /// [`Error::Probability`] unless 0 < `confidence` < 1.
    pub fn interval(&self, confidence: f64) -> Result<Interval, Error> {
        let confidence = probability("confidence", confidence)?;
        let half = self.half_width((1.0 - confidence) / 2.0)?;
        Ok(Interval { lo: self.delta - half, hi: self.delta + half })
    }

    /// The one-sided lower bound at error `alpha`.
    ///
    /// # Errors
    /// [`Error::Probability`] unless 0 < `alpha` < 1.
    pub fn lower(&self, alpha: f64) -> Result<f64, Error> {
        Ok(self.delta - self.half_width(alpha)?)
    }

    /// The one-sided upper bound at error `alpha`.
    ///
    /// # Errors
    /// [`Error::Probability`] unless 0 < `alpha` < 1.
    pub fn upper(&self, alpha: f64) -> Result<f64, Error> {
        Ok(self.delta + self.half_width(alpha)?)
    }

    /// `(delta − margin) / se`, or `None` when `identical`.
    #[must_use]
    pub fn t(&self, margin: f64) -> Option<f64> {
        (!self.identical).then(|| (self.delta - margin) / self.se)
    }

    /// The p value against "the effect is at most `margin`": small says worse.
    /// `None` when `identical`.
    ///
    /// # Errors
    /// As [`student::upper_tail`].
    pub fn p_above(&self, margin: f64) -> Result<Option<f64>, Error> {
        self.t(margin).map(|t| student::upper_tail(t, self.nu)).transpose()
    }

    /// The p value against "the effect is at least `margin`": small says not
    /// inferior. `None` when `identical`.
    ///
    /// # Errors
    /// As [`student::upper_tail`].
    pub fn p_below(&self, margin: f64) -> Result<Option<f64>, Error> {
        self.t(margin).map(|t| student::upper_tail(-t, self.nu)).transpose()
    }

    fn half_width(&self, alpha: f64) -> Result<f64, Error> {
        let alpha = probability("alpha", alpha)?;
        if self.identical {
            return Ok(0.0);
        }
        // By symmetry; a small alpha keeps its digits where 1 − alpha loses them.
        Ok(-student::quantile(alpha, self.nu)? * self.se)
    }
}
