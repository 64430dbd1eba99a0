//! Speculative decoding.

use super::error::{ConfigError, seconds, share, within};
use serde::{Deserialize, Serialize};

/// Speculative decoding: after each step a draft of `tokens` tokens a sequence is guessed, and the next step verifies
/// it. The draft model's KV blocks and weights are in `num_gpu_blocks` already: lower it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Speculation {
    /// Name of the method that the engine states.
    pub method: String,
    /// Tokens a draft.
    pub tokens: u32,
    /// Chance that a place of the draft is right when all before it were; the last value holds for all further places.
    pub acceptance: Vec<f64>,
    /// What the chance is multiplied by for requests of a class; classes not named: 1.
    pub classes: Vec<ClassAcceptance>,
    /// Share of the chance that is lost every thousand generated tokens: a draft cache that goes stale.
    pub decay: f64,
    /// Time of the draft model a drafted place, seconds.
    pub draft_seconds: f64,
    /// Time of the draft model a drafted place and sequence, seconds.
    pub draft_sequence_seconds: f64,
    /// Running requests above which nothing is drafted; `None`: always drafted.
    pub most_running: Option<u32>,
    /// Whether verification cannot use whole-step graphs.
    pub downgrades_graphs: bool,
}

/// How well drafts do for one class of requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassAcceptance {
    /// The class, as a request states it.
    pub class: u32,
    /// What the chance is multiplied by.
    pub factor: f64,
    /// Whether nothing is drafted for the class.
    #[serde(default)]
    pub disabled: bool,
}

impl Default for Speculation {
    fn default() -> Self {
        Self {
            method: "eagle".into(),
            tokens: 3,
            acceptance: vec![0.75, 0.65, 0.55],
            classes: Vec::new(),
            decay: 0.0,
            draft_seconds: 0.000_4,
            draft_sequence_seconds: 2e-6,
            most_running: None,
            downgrades_graphs: false,
        }
    }
}

impl Speculation {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        within("speculation.tokens", self.tokens, 1, 64, "1 to 64")?;
        for chance in &self.acceptance {
            share("speculation.acceptance", *chance)?;
        }
        for class in &self.classes {
            within("speculation.classes.factor", class.factor, 0.0, 100.0, "0 to 100")?;
        }
        within("speculation.decay", self.decay, 0.0, 1.0, "0 to 1")?;
        seconds("speculation.draft_seconds", self.draft_seconds)?;
        seconds("speculation.draft_sequence_seconds", self.draft_sequence_seconds)
    }
}
