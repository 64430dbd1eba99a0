//! Step time as a straight line.

use super::{StepShape, coefficient};
use crate::config::ConfigError;
use serde::{Deserialize, Serialize};

/// Step time = base + tokens × per token + sampled sequences × per sequence + read KV tokens × per KV token; seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// Seconds of an empty step.
    pub base: f64,
    /// Seconds a computed token.
    pub per_token: f64,
    /// Seconds a sequence that samples: output head, sampling, and what the host does for each answer.
    #[serde(default)]
    pub per_sequence: f64,
    /// Seconds a token of context read.
    #[serde(default)]
    pub per_kv_token: f64,
}

impl Linear {
    pub(super) fn seconds(&self, shape: &StepShape) -> f64 {
        self.base
            + f64::from(shape.tokens) * self.per_token
            + f64::from(shape.sampled) * self.per_sequence
            + shape.kv_read_tokens as f64 * self.per_kv_token
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        coefficient("timing.linear.base", self.base, false)?;
        coefficient("timing.linear.per_token", self.per_token, false)?;
        coefficient("timing.linear.per_sequence", self.per_sequence, false)?;
        coefficient("timing.linear.per_kv_token", self.per_kv_token, false)
    }
}
