//! Ratios between two runs, with what has no logarithm kept apart.

/// ln(candidate / base), where either may be unbounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LogRatio {
    /// Both values are finite and positive.
    Finite(f64),
    /// Only the candidate's value is +∞: it failed where base did not.
    CandidateUnbounded,
    /// Only base's value is +∞.
    BaseUnbounded,
    /// Both values are +∞: nothing can be said of their ratio.
    BothUnbounded,
    /// A value is zero, negative or not a number, so it has no logarithm.
    Undefined,
}

impl LogRatio {
    /// The logarithm, if both values are finite and positive.
    #[must_use]
    pub fn finite(self) -> Option<f64> {
        match self {
            LogRatio::Finite(value) => Some(value),
            _ => None,
        }
    }
}

/// ln(candidate) − ln(base) of two quantiles, means or sums.
#[must_use]
pub fn log_ratio(base: f64, candidate: f64) -> LogRatio {
    // NaN fails both comparisons and so is undefined too.
    if !(base > 0.0 && candidate > 0.0) {
        return LogRatio::Undefined;
    }
    match (base.is_finite(), candidate.is_finite()) {
        (true, true) => LogRatio::Finite(candidate.ln() - base.ln()),
        (true, false) => LogRatio::CandidateUnbounded,
        (false, true) => LogRatio::BaseUnbounded,
        (false, false) => LogRatio::BothUnbounded,
    }
}

/// Σ numerators / Σ denominators over one run (hits a lookup, GPU-seconds a
/// good request); `None` when the denominators sum to zero, when there are no
/// terms or when a sum is not finite.
#[must_use]
pub fn ratio_of_sums(terms: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let (top, bottom) = terms.into_iter().fold((0.0, 0.0), |(top, bottom), (t, b)| (top + t, bottom + b));
    let ratio = top / bottom;
    (bottom != 0.0 && bottom.is_finite() && ratio.is_finite()).then_some(ratio)
}
