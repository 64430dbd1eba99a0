//! The encoder of images, beside the language model.

use super::error::{ConfigError, seconds, share, within};
use serde::{Deserialize, Serialize};

/// The encoder of a multimodal model. An image takes up as many prompt tokens as it has; the step that computes its
/// first one encodes it, unless the same image is in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Encoder {
    /// Fixed time of an image, seconds.
    pub image_seconds: f64,
    /// Time an image token, seconds.
    pub token_seconds: f64,
    /// Most image tokens encoded in a step; an image never waits for itself alone.
    pub budget_tokens: u32,
    /// Image tokens whose embeddings are kept; the least recently used go first.
    pub cache_tokens: u32,
    /// Peak of memory an image token encoded in one step, bytes.
    pub peak_bytes_per_token: f64,
    /// Memory of an embedding, bytes a token.
    pub cache_bytes_per_token: f64,
    /// Share of embeddings that stay in memory when they leave the cache.
    pub retained_share: f64,
    /// Memory that is free for all this, bytes; more ends the engine.
    pub reserve_bytes: f64,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            image_seconds: 0.008,
            token_seconds: 12e-6,
            budget_tokens: 16_384,
            cache_tokens: 65_536,
            peak_bytes_per_token: 100_000.0,
            cache_bytes_per_token: 8192.0,
            retained_share: 0.0,
            reserve_bytes: 4e9,
        }
    }
}

impl Encoder {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        seconds("encoder.image_seconds", self.image_seconds)?;
        seconds("encoder.token_seconds", self.token_seconds)?;
        within("encoder.budget_tokens", self.budget_tokens, 1, u32::MAX, "1 or more")?;
        within("encoder.peak_bytes_per_token", self.peak_bytes_per_token, 0.0, 1e15, "0 to 1e15")?;
        within("encoder.cache_bytes_per_token", self.cache_bytes_per_token, 0.0, 1e15, "0 to 1e15")?;
        share("encoder.retained_share", self.retained_share)?;
        within("encoder.reserve_bytes", self.reserve_bytes, 0.0, 1e15, "0 to 1e15")
    }
}
