//! Which factor, or which version, makes a deployment worse.
//!
//! Factors run in blocks of one run an arm; versions are bisected, each step an experiment of pairs in a folder of its own.
//! Both are the plan, ledger and driver of any experiment, so that both go on where they were interrupted.

mod factors;
mod fill;
mod section;
mod versions;

pub use factors::{FactorsOptions, factors};
pub use fill::{FillError, VERSION, Value, variable};
pub use section::{FactorSection, ForbidSection, IsolateSection, LevelSection};
pub use versions::{LOOKS, VersionsOptions, steps_at_most, versions};

use firstcheck_model::report::Report;
use std::path::PathBuf;

/// How it ended.
#[derive(Debug, Clone)]
pub struct Isolated {
    /// What was found, with the comparison of base and candidate.
    pub report: Report,
    /// The bundles.
    pub bundles: Vec<PathBuf>,
    /// Why it was interrupted, if it was.
    pub interrupted: Option<String>,
}
