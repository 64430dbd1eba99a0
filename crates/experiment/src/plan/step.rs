//! One step of a plan.

use super::Cell;
use serde::{Deserialize, Serialize};

/// What a deployment is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Errand {
    /// Base shows how long it takes to warm up.
    WarmUp,
    /// A run of a pair or block.
    Run(Cell),
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Start the deployment that this errand is about, or see that it is there.
    Start(Errand),
    /// Learn from the started base how long a run has to warm up.
    WarmUp,
    /// Run this cell on the deployment started for it.
    Run(Cell),
    /// Stop what was started for this errand; after an interruption, what may be left of it.
    Stop(Errand),
    /// Look at the pairs so far: whether they decide.
    Look {
        /// How many there are.
        pairs: u32,
    },
    /// Nothing is left to do.
    Decided(Why),
}

/// Why nothing is left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A planned look decided.
    Look {
        /// After so many pairs.
        pairs: u32,
    },
    /// All pairs are there.
    AllPairs,
}
