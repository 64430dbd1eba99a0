//! How long a step takes.

mod linear;
mod noise;
mod presets;
mod roofline;

pub use linear::Linear;
pub use noise::Noise;
pub use presets::Preset;
pub use roofline::{ExpertParallel, Roofline, Shape};

pub(crate) use noise::NoiseSource;
pub(crate) use roofline::Prepared;

use crate::config::ConfigError;
use serde::{Deserialize, Serialize};

/// What a step computes, as far as its time depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepShape {
    /// Tokens computed, prompt chunks and decodes together, padding included.
    pub tokens: u32,
    /// Sequences that sample a token.
    pub sampled: u32,
    /// Attention of prompt chunks, in pairs of tokens: n·prior + n²/2, summed.
    pub prefill_pairs: f64,
    /// Tokens whose KV is read: the whole context of a decode, what precedes a chunk.
    pub kv_read_tokens: u64,
}

impl StepShape {
    /// Adds a request that computes `tokens` after `prior`, and samples if that completes what is known of it.
    pub fn add(&mut self, prior: u32, tokens: u32, samples: bool) {
        self.tokens += tokens;
        self.sampled += u32::from(samples);
        if tokens == 1 {
            self.kv_read_tokens += u64::from(prior) + 1;
        } else {
            let (n, p) = (f64::from(tokens), f64::from(prior));
            self.prefill_pairs += n * p + n * n / 2.0;
            self.kv_read_tokens += u64::from(prior);
        }
    }
}

/// Which model of step time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// A calibrated combination of GPU and model.
    Preset(Preset),
    /// A roofline with coefficients of one's own.
    Roofline(Roofline),
    /// A straight line: for small engines and tests.
    Linear(Linear),
}

impl Default for Timing {
    fn default() -> Self {
        Self::Preset(Preset::H100Llama8bTp1)
    }
}

impl Timing {
    /// Seconds of a step on the GPU, host time and noise aside.
    pub fn gpu_seconds(&self, shape: &StepShape) -> f64 {
        self.prepare().seconds(shape)
    }

    pub(crate) fn prepare(&self) -> StepTime {
        match self {
            Self::Preset(preset) => StepTime::Roofline(preset.roofline().prepare()),
            Self::Roofline(roofline) => StepTime::Roofline(roofline.prepare()),
            Self::Linear(linear) => StepTime::Linear(*linear),
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Preset(_) => Ok(()),
            Self::Roofline(roofline) => roofline.validate(),
            Self::Linear(linear) => linear.validate(),
        }
    }
}

/// A model of step time with its constants worked out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StepTime {
    Roofline(Prepared),
    Linear(Linear),
}

impl StepTime {
    pub(crate) fn seconds(&self, shape: &StepShape) -> f64 {
        match self {
            Self::Roofline(prepared) => prepared.seconds(shape),
            Self::Linear(linear) => linear.seconds(shape),
        }
    }

    /// Layers of the model, where its geometry is known.
    pub(crate) fn layers(&self) -> Option<f64> {
        match self {
            Self::Roofline(prepared) => Some(prepared.layers),
            Self::Linear(_) => None,
        }
    }

    /// GPUs that share each layer.
    pub(crate) fn tensor_parallel(&self) -> u32 {
        match self {
            Self::Roofline(prepared) => prepared.tensor_parallel,
            Self::Linear(_) => 1,
        }
    }

    /// Bytes of a token's activations between two layers, where the geometry is known.
    pub(crate) fn token_bytes(&self) -> f64 {
        match self {
            Self::Roofline(prepared) => prepared.token_bytes,
            Self::Linear(_) => 0.0,
        }
    }

    /// Seconds of all-reduces that are part of a step's time.
    pub(crate) fn reduce_seconds(&self, tokens: u32) -> f64 {
        match self {
            Self::Roofline(prepared) => f64::from(tokens) * prepared.reduce_token,
            Self::Linear(_) => 0.0,
        }
    }
}

/// Refuses a coefficient that is negative or not finite, or zero where it divides.
fn coefficient(name: &'static str, value: f64, divides: bool) -> Result<(), ConfigError> {
    if value.is_finite() && (value > 0.0 || value == 0.0 && !divides) {
        return Ok(());
    }
    let expected = if divides { "a positive number" } else { "zero or a positive number" };
    Err(ConfigError::OutOfRange { name, value: value.to_string(), expected })
}
