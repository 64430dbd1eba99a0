//! The share of good requests: differences of logits.
//!
//! Log ratios lose half the power near a share of 0.99, where the logit does
//! not. Half a request is added to both counts so that "all good" is finite.

use crate::Error;

/// Good requests among the offered ones of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    good: u64,
    offered: u64,
}

/// The difference of two runs' logits, worse positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LogitDifference {
    /// logit(base) − logit(candidate).
    Finite(f64),
    /// The candidate served no request well while base did.
    CandidateNone,
    /// Base served no request well while the candidate did.
    BaseNone,
    /// Neither served any request well.
    BothNone,
}

impl LogitDifference {
    /// The difference, if both runs served at least one request well.
    #[must_use]
    pub fn finite(self) -> Option<f64> {
        match self {
            LogitDifference::Finite(value) => Some(value),
            _ => None,
        }
    }
}

impl Counts {
    /// # Errors
    /// [`Error::Counts`] when more are good than were offered, or none was
    /// offered.
    pub fn new(good: u64, offered: u64) -> Result<Self, Error> {
        if offered == 0 || good > offered {
            return Err(Error::Counts { good, offered });
        }
        Ok(Self { good, offered })
    }

    /// How many were offered.
    #[must_use]
    pub fn offered(self) -> u64 {
        self.offered
    }

    /// Good / offered.
    #[must_use]
    pub fn share(self) -> f64 {
        self.good as f64 / self.offered as f64
    }

    /// ln((good + ½) / (offered − good + ½)).
    #[must_use]
    pub fn logit(self) -> f64 {
        ((self.good as f64 + 0.5) / ((self.offered - self.good) as f64 + 0.5)).ln()
    }
}

/// The difference of one pair.
#[must_use]
pub fn difference(base: Counts, candidate: Counts) -> LogitDifference {
    match (base.good, candidate.good) {
        (0, 0) => LogitDifference::BothNone,
        (_, 0) => LogitDifference::CandidateNone,
        (0, _) => LogitDifference::BaseNone,
        _ => LogitDifference::Finite(base.logit() - candidate.logit()),
    }
}

/// Base's level, at which differences of logits are turned into points and
/// back: a share strictly between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    logit: f64,
}

impl Level {
    /// The mean of base's logits, so that level and mean difference together
    /// give the candidate's mean logit. `None` without a run.
    #[must_use]
    pub fn of(base: &[Counts]) -> Option<Self> {
        let sum: f64 = base.iter().map(|c| c.logit()).sum();
        (!base.is_empty()).then(|| Self { logit: sum / base.len() as f64 })
    }

    /// The level as a share.
    #[must_use]
    pub fn share(self) -> f64 {
        inverse_logit(self.logit)
    }

    /// A difference of logits, or a bound of one, as points of the share that
    /// are lost: 0.01 is one percentage point worse.
    #[must_use]
    pub fn points(self, difference: f64) -> f64 {
        self.share() - inverse_logit(self.logit - difference)
    }

    /// The difference of logits that loses `points` of the share at this level;
    /// `None` when the share would leave (0, 1), so that no such margin exists.
    #[must_use]
    pub fn difference(self, points: f64) -> Option<f64> {
        let share = self.share() - points;
        (share > 0.0 && share < 1.0).then(|| self.logit - (share / (1.0 - share)).ln())
    }
}

fn inverse_logit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
