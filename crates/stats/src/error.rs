//! What the mathematics refuses, and what would mend it.

/// A request that has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No degree of freedom is left for the spread.
    #[error("{pairs} pairs with {covariates} covariates leave no spread: at least {needed} are needed")]
    TooFewPairs {
        /// Pairs given.
        pairs: usize,
        /// Covariates that vary over them.
        covariates: usize,
        /// Smallest number of pairs that would do.
        needed: usize,
    },
    /// A sample is too small for what is asked.
    #[error("{what} holds {found} values: at least {needed} are needed")]
    TooFewValues {
        /// The sample.
        what: &'static str,
        /// Values given.
        found: usize,
        /// Smallest number that would do.
        needed: usize,
    },
    /// Two things that belong together differ in length.
    #[error("{what} holds {found} values: {expected} are expected")]
    Length {
        /// The thing of the wrong length.
        what: &'static str,
        /// Length that was expected.
        expected: usize,
        /// Length that was found.
        found: usize,
    },
    /// A value that has to be finite is not.
    #[error("{what} holds {value} at index {index}: only finite values have a mean")]
    NotFinite {
        /// The sample.
        what: &'static str,
        /// Zero-based position.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// The values are finite but too large to be squared.
    #[error("{what} is too large to have a spread: give it in a larger unit")]
    Overflow {
        /// The sample.
        what: &'static str,
    },
    /// A value that has no place in an order.
    #[error("{value} at index {index} is neither finite nor +inf")]
    NotOrdered {
        /// Zero-based position.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// A probability outside the open unit interval.
    #[error("{what} is {value}: it must lie between 0 and 1, both excluded")]
    Probability {
        /// Which probability.
        what: &'static str,
        /// The value given.
        value: f64,
    },
    /// A quantity that must be positive (or zero where the text says so) is not.
    #[error("{what} is {value}: it must be finite and positive")]
    NotPositive {
        /// The quantity.
        what: &'static str,
        /// The value given.
        value: f64,
    },
    /// The covariates together determine the effect: it cannot be told from them.
    #[error("the effect is confounded with the covariates: balance their order over the pairs")]
    Confounded,
    /// A count of good requests that no run can have.
    #[error("{good} good of {offered} offered requests: good must not exceed offered, and offered not be 0")]
    Counts {
        /// Good requests.
        good: u64,
        /// Offered requests.
        offered: u64,
    },
    /// Too few rotations for the resolution that a gate needs.
    #[error("{asked} rotations: at least {needed} are needed")]
    Rotations {
        /// Rotations asked for.
        asked: usize,
        /// Smallest number allowed.
        needed: usize,
    },
    /// A plan of looks that cannot be followed.
    #[error("looks at {looks:?} pairs: {reason}")]
    Looks {
        /// The pairs at each look, as given.
        looks: Vec<usize>,
        /// Why the plan cannot be followed.
        reason: &'static str,
    },
}

/// Refuses a probability that is not strictly between 0 and 1.
pub(crate) fn probability(what: &'static str, value: f64) -> Result<f64, Error> {
    if value > 0.0 && value < 1.0 { Ok(value) } else { Err(Error::Probability { what, value }) }
}

/// Refuses a sample with a value that is not finite.
pub(crate) fn finite(what: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite { what, index, value: values[index] }),
    }
}
