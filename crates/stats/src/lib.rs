//! Statistics of paired runs, ignorant of what is measured.
//!
//! Two deployments are compared over K *pairs* of runs. A run gives one number
//! a metric (the logarithm of a quantile, a logit, a ratio of sums); a pair
//! gives one difference *d*, signed so that worse is positive; the K
//! differences give an effect with a t interval. A request is never the unit:
//! requests of one run share a queue and are dependent.
//!
//! | step | module |
//! |---|---|
//! | values of one run, some of them unbounded | [`quantile`], [`goodput`], [`ratio`], [`proportion`] |
//! | one difference a pair | [`ratio::log_ratio`], [`goodput::difference`], [`asymmetry`] |
//! | effect, interval and p value over K pairs | [`design`], [`paired`], [`estimate`] |
//! | decision against a margin | [`gate`], [`max_t`], [`holm`], [`sequential`], [`mde`] |
//! | one run a side | [`batches`], [`welch`], [`prediction`] |
//! | mean over pairs of what has no t statistic | [`resample`] |
//! | diagnostics of one run | [`mser`], [`change`], [`rank`], [`modes`], [`period`] |
//! | a queue by its moments | [`queue`] |
//! | parameters of a model | [`linear`], [`simplex`], [`non_negative`], [`crossing`] |
//!
//! An unbounded value is +∞ inside a [`quantile::Sample`] and an explicit
//! variant in every difference. No function makes a NaN out of numbers,
//! none panics on its input, and everything random takes a seed.

pub mod asymmetry;
pub mod batches;
pub mod change;
pub mod crossing;
pub mod design;
mod error;
pub mod estimate;
pub mod gate;
pub mod goodput;
pub mod holm;
pub mod linear;
pub mod max_t;
pub mod mde;
pub mod modes;
pub mod mser;
pub mod non_negative;
mod normal;
pub mod paired;
pub mod period;
pub mod prediction;
pub mod proportion;
pub mod quantile;
pub mod queue;
pub mod rank;
pub mod ratio;
pub mod resample;
pub mod sequential;
pub mod simplex;
pub mod student;
pub mod welch;

pub use error::Error;
