//! Sampling settings: as a request asks for them, and as the engine resolves them.

use crate::config::sampler::GenerationDefaults;
use serde::{Deserialize, Serialize};

/// Temperatures below count as zero.
pub const GREEDY_BELOW: f64 = 1e-5;

/// What a request says of how its tokens are to be chosen; what it does not say is the engine's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// Softness of the distribution; 0: always the likeliest token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Likeliest tokens kept; 0: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Probability kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Least probability kept, as a share of the likeliest token's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f64>,
    /// Divisor of the positive logits of tokens seen in prompt or answer, factor of their negative ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_penalty: Option<f64>,
    /// Taken off the logits of tokens in the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Taken off the logits of tokens in the answer for each time they stand there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Seed of the request's own draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Tokens that end the answer besides the engine's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_token_ids: Vec<u32>,
    /// Likeliest tokens a place whose log probabilities are returned beside the chosen one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<u32>,
    /// The same for each place of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_logprobs: Option<u32>,
}

/// A sampling setting out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} must be {expected}, got {value}")]
pub struct SamplingError {
    /// The setting, as it is called in a request.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What it may be.
    pub expected: String,
}

impl Sampling {
    /// Always the likeliest token: what a benchmark asks for.
    pub fn greedy() -> Self {
        Self { temperature: Some(0.0), ..Self::default() }
    }

    /// Whether an engine that returns at most `max_logprobs` log probabilities a token can do it.
    ///
    /// # Errors
    /// The first setting out of range.
    pub fn validate(&self, max_logprobs: u32) -> Result<(), SamplingError> {
        let real = [
            ("temperature", self.temperature, 0.0, 100.0, "0 to 100"),
            ("top_p", self.top_p, f64::MIN_POSITIVE, 1.0, "above 0, up to 1"),
            ("min_p", self.min_p, 0.0, 1.0, "0 to 1"),
            ("repetition_penalty", self.repetition_penalty, 0.01, 100.0, "0.01 to 100"),
            ("presence_penalty", self.presence_penalty, -2.0, 2.0, "-2 to 2"),
            ("frequency_penalty", self.frequency_penalty, -2.0, 2.0, "-2 to 2"),
        ];
        for (name, value, least, most, expected) in real {
            if let Some(value) = value.filter(|value| !(least..=most).contains(value)) {
                return Err(SamplingError { name, value: value.to_string(), expected: expected.into() });
            }
        }
        for (name, value) in [("logprobs", self.logprobs), ("prompt_logprobs", self.prompt_logprobs)] {
            if let Some(value) = value.filter(|value| *value > max_logprobs) {
                return Err(SamplingError { name, value: value.to_string(), expected: format!("0 to {max_logprobs}") });
            }
        }
        Ok(())
    }

    /// The settings in force: the request's own, else the defaults of the deployment, else neutral ones.
    pub fn resolve(&self, defaults: &GenerationDefaults) -> Settings {
        let temperature = self.temperature.or(defaults.temperature).unwrap_or(1.0);
        let greedy = temperature < GREEDY_BELOW;
        Settings {
            temperature,
            // The likeliest token survives every truncation: an engine drops the settings.
            top_k: if greedy { 0 } else { self.top_k.or(defaults.top_k).unwrap_or(0) },
            top_p: if greedy { 1.0 } else { self.top_p.or(defaults.top_p).unwrap_or(1.0) },
            min_p: if greedy { 0.0 } else { self.min_p.or(defaults.min_p).unwrap_or(0.0) },
            repetition_penalty: self.repetition_penalty.or(defaults.repetition_penalty).unwrap_or(1.0),
            presence_penalty: self.presence_penalty.unwrap_or(0.0),
            frequency_penalty: self.frequency_penalty.unwrap_or(0.0),
            seed: self.seed,
            stop_token_ids: self.stop_token_ids.clone(),
            logprobs: self.logprobs,
        }
    }
}

/// Sampling settings in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settings {
    /// Softness of the distribution; 0: always the likeliest token.
    pub temperature: f64,
    /// Likeliest tokens kept; 0: all.
    pub top_k: u32,
    /// Probability kept.
    pub top_p: f64,
    /// Least probability kept, as a share of the likeliest token's.
    pub min_p: f64,
    /// Divisor of the positive logits of tokens seen in prompt or answer, factor of their negative ones.
    pub repetition_penalty: f64,
    /// Taken off the logits of tokens in the answer.
    pub presence_penalty: f64,
    /// Taken off the logits of tokens in the answer for each time they stand there.
    pub frequency_penalty: f64,
    /// Seed of the request's own draws.
    pub seed: Option<u64>,
    /// Tokens that end the answer besides the engine's own.
    pub stop_token_ids: Vec<u32>,
    /// Likeliest tokens a place whose log probabilities are returned beside the chosen one's.
    pub logprobs: Option<u32>,
}

impl Settings {
    /// Whether always the likeliest token is chosen.
    pub fn is_greedy(&self) -> bool {
        self.temperature < GREEDY_BELOW
    }

    /// Whether tokens that were seen before change logits.
    pub fn penalises(&self) -> bool {
        self.repetition_penalty != 1.0 || self.presence_penalty != 0.0 || self.frequency_penalty != 0.0
    }
}
