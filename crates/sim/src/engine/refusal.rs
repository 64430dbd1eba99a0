//! Why a request is refused at the door.

use crate::language::sampling::SamplingError;

/// Why a request is refused at the door.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing to compute.
    #[error("the prompt has no token: send at least one")]
    EmptyPrompt,
    /// No token asked for.
    #[error("max_tokens must be at least 1, got 0")]
    NoOutput,
    /// More output asked for at least than at most.
    #[error("min_tokens={min_tokens} must not exceed max_tokens={max_tokens}")]
    MinAboveMax {
        /// `min_tokens`
        min_tokens: u32,
        /// `max_tokens`
        max_tokens: u32,
    },
    /// A sampling setting out of range.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    /// The prompt leaves no room for a single token.
    #[error(
        "the maximum context length is {max_model_len} tokens, but the prompt has {prompt_tokens}: shorten the prompt"
    )]
    PromptTooLong {
        /// Prompt tokens.
        prompt_tokens: usize,
        /// Longest sequence.
        max_model_len: u32,
    },
    /// Prompt and answer together are too long.
    #[error(
        "max_tokens={max_tokens} with {prompt_tokens} prompt tokens exceeds max_model_len={max_model_len}: ask for \
         fewer output tokens"
    )]
    TooLong {
        /// Prompt tokens.
        prompt_tokens: usize,
        /// `max_tokens`
        max_tokens: u32,
        /// Longest sequence.
        max_model_len: u32,
    },
    /// Too many requests or prompt tokens wait already.
    #[error("the engine is overloaded: {limit}={most} is reached; try again later or elsewhere")]
    Overloaded {
        /// Which limit.
        limit: &'static str,
        /// Its value.
        most: u64,
    },
    /// The engine's core has died.
    #[error("the engine's core has died: see its log for the root cause")]
    Dead,
}

impl Refusal {
    /// The HTTP status under which a server tells it.
    pub fn status(&self) -> u16 {
        match self {
            Self::Overloaded { .. } => 503,
            Self::Dead => 500,
            _ => 400,
        }
    }
}
