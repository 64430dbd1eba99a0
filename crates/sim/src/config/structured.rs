//! Structured output: answers held to a schema.

use super::error::{ConfigError, seconds, share};
use serde::{Deserialize, Serialize};

/// What it costs to hold an answer to a schema. Only requests that name a schema pay it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Structured {
    /// Time to compile a schema, seconds.
    pub compile_seconds: f64,
    /// Whether a schema that was compiled once is ready at once the next time.
    pub cached: bool,
    /// Whether schemas are compiled on the engine's thread, so that no step runs meanwhile; else beside it, one after
    /// the other.
    pub compiles_on_engine: bool,
    /// Time to fill the mask of one row, a step, seconds.
    pub mask_seconds: f64,
    /// Share of answers that fall into an endless run of white space, which only `max_tokens` ends.
    pub runaway_share: f64,
    /// Whether a batch with a structured row cannot be scheduled ahead of results.
    pub forbids_overlap: bool,
    /// Whether nothing is drafted for structured rows.
    pub forbids_speculation: bool,
}

impl Default for Structured {
    fn default() -> Self {
        Self {
            compile_seconds: 0.05,
            cached: true,
            compiles_on_engine: false,
            mask_seconds: 5e-6,
            runaway_share: 0.0,
            forbids_overlap: false,
            forbids_speculation: false,
        }
    }
}

impl Structured {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        seconds("structured.compile_seconds", self.compile_seconds)?;
        seconds("structured.mask_seconds", self.mask_seconds)?;
        share("structured.runaway_share", self.runaway_share)
    }
}
