//! A toy language model: a pure function from prompt, position and seed to a token.

use crate::kv_cache::hash::{mix, step};

/// Draws tokens and answer lengths without state: equal prompts give equal answers, and a token can be asked for again
/// after a preemption without having been stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Language {
    seed: u64,
    vocabulary: u32,
    mean_output_tokens: f64,
}

impl Language {
    /// A model over `vocabulary` tokens whose answers end of themselves after `mean_output_tokens` on average.
    pub fn new(seed: u64, vocabulary: u32, mean_output_tokens: f64) -> Self {
        Self { seed, vocabulary: vocabulary.max(1), mean_output_tokens }
    }

    /// What the model makes of a prompt: the key of everything it will answer.
    pub fn read(&self, prompt: &[u32]) -> u64 {
        mix(prompt.iter().fold(mix(self.seed ^ 0x6c61_6e67), |hash, token| step(hash, *token)))
    }

    /// The token at `position` of the answer to the prompt read as `key`.
    pub fn token(&self, key: u64, position: u32) -> u32 {
        let bits = mix(key ^ (u64::from(position) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        ((u128::from(bits) * u128::from(self.vocabulary)) >> 64) as u32
    }

    /// After how many tokens the answer to the prompt read as `key` ends of itself: exponential, at least one.
    pub fn natural_length(&self, key: u64) -> u32 {
        let uniform = ((mix(key ^ 0x656f_7321) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let length = (-uniform.ln() * self.mean_output_tokens).ceil();
        length.clamp(1.0, f64::from(u32::MAX)) as u32
    }
}
