//! Where a regression comes from: which of several factors, or which of many versions.
//!
//! Factors are told apart by running combinations of their levels on one trace, in blocks. On the scale on which effects
//! of a metric multiply (the logarithm; of shares the logit) a factor has an effect and two factors an interaction: what
//! one does beyond that where the other has changed too. Where they interact no single one is named. A combination that a
//! compatibility matrix forbids is never run and never guessed: then there is only a path of supported combinations, each
//! step of which changes one factor.
//!
//! Versions are told apart by bisection. A version is good where it is on base's side of half of the whole change, bad
//! where it is beyond, and unknown where the pairs do not tell.

mod effects;
mod grid;
mod named;
mod question;
mod search;
mod taken;

pub use effects::{Block, FactorPolicy, effects};
pub use grid::{Combination, Contrast, Factor, Forbidden, Grid, GridError, Layout};
pub use named::{Named, named};
pub use question::{Answer, Question};
pub use search::{Next, next};
pub use taken::{Key, Taken, Weight};
