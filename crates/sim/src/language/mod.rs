//! A toy language model: next-token logits as a pure function of the model and of every token before.
//!
//! **The model.** A context is folded into a [`Context`]: a key, and how many tokens since then were the likeliest ones.
//! Only a token that is *not* the likeliest changes the key. So the greedy answer to a prompt can be asked for at any
//! place without its tokens having been stored, any other answer is a function of all its tokens, and a text scored
//! as a prompt has the same logits as when it was generated.
//!
//! **Two ways.** A request that is decoded greedily, asks for no log probabilities and meets a healthy engine is
//! answered by [`Language::token`], some nanoseconds a token. Every other carries a [`speech::Speech`] and is answered
//! by [`Language::speak`] through logits, numerics, penalties, truncation and a draw, as an engine's sampler would.
//!
//! **What is simplified.** Twenty candidates and a flat tail stand for the distribution. A request that must not end
//! meets a model that does not want to.

pub mod asking;
pub mod batch;
pub mod draw;
pub mod logits;
pub mod logprobs;
mod numerics;
mod prompt;
pub mod sampling;
pub mod special;
pub mod speculation;
pub mod speech;
mod truncate;

use crate::{
    config::{
        EngineConfig,
        sampler::{Flaw, Numerics, Sampler},
    },
    kv_cache::hash::{mix, step},
};
use special::END_OF_TURN;

/// Candidates with a logit of their own; all other words share one.
pub const CANDIDATES: usize = 20;

/// Spreads consecutive numbers over all bits (the golden ratio of 2⁶⁴).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// All that the model knows of the tokens before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Context {
    /// Of all tokens up to the last one that was not the likeliest.
    key: u64,
    /// Likeliest tokens since.
    run: u32,
}

impl Context {
    /// Well-mixed bits that stand for the context.
    pub(crate) fn bits(self) -> u64 {
        mix(self.key ^ (u64::from(self.run) + 1).wrapping_mul(SPREAD))
    }
}

/// The model with the sampler that serves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Language {
    seed: u64,
    vocabulary: u32,
    mean_output_tokens: f64,
    sampler: Sampler,
    /// Whether the greedy answer of a request that asks for nothing special is the model's own.
    plain: bool,
    /// Logarithms of the candidates' ranks.
    ln_rank: [f64; CANDIDATES + 1],
}

impl Language {
    /// A model over `vocabulary` tokens whose answers end of themselves after `mean_output_tokens` on average, served by
    /// a healthy sampler.
    pub fn new(seed: u64, vocabulary: u32, mean_output_tokens: f64) -> Self {
        Self::with_sampler(seed, vocabulary, mean_output_tokens, Sampler::default())
    }

    /// The model that an engine serves, as it is configured.
    pub fn of(config: &EngineConfig) -> Self {
        let vocabulary = firstcheck_workload::text::VOCABULARY;
        Self::with_sampler(config.model_seed, vocabulary, config.mean_output_tokens, config.sampler.clone())
    }

    /// As [`Self::new`], served by `sampler`.
    pub fn with_sampler(seed: u64, vocabulary: u32, mean_output_tokens: f64, sampler: Sampler) -> Self {
        let ln_rank = std::array::from_fn(|rank| (rank.max(1) as f64).ln());
        let vocabulary = vocabulary.max(2 * CANDIDATES as u32);
        Self { seed, vocabulary, mean_output_tokens, plain: is_plain(&sampler, vocabulary), sampler, ln_rank }
    }

    /// How tokens are chosen.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// What the model makes of a prompt.
    pub fn read(&self, prompt: &[u32]) -> Context {
        let start = Context { key: mix(self.seed ^ 0x6c61_6e67), run: 0 };
        prompt.iter().fold(start, |context, token| self.extend(context, *token))
    }

    /// The context with one more token.
    pub fn extend(&self, context: Context, token: u32) -> Context {
        let Context { key, run } = context;
        if token == self.word(context) {
            Context { key, run: run + 1 }
        } else {
            Context { key: step(key.wrapping_add(u64::from(run)), token), run: 0 }
        }
    }

    /// The likeliest token after `context`, unless the answer ends there.
    pub fn word(&self, context: Context) -> u32 {
        ((u128::from(context.bits()) * u128::from(self.vocabulary)) >> 64) as u32
    }

    /// The token at `position` of the greedy answer after `context`.
    pub fn token(&self, context: Context, position: u32) -> u32 {
        self.word(Context { run: context.run.saturating_add(position), ..context })
    }

    /// After how many tokens the greedy answer after `context` ends of itself, the ending one among them: exponential,
    /// at least one.
    pub fn natural_length(&self, context: Context) -> u32 {
        let uniform = ((mix(context.key ^ 0x656f_7321) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let length = (-uniform.ln() * self.mean_output_tokens).ceil();
        (length.clamp(1.0, f64::from(u32::MAX)) as u32).saturating_sub(context.run).max(1)
    }

    /// Whether a token ends an answer, by the engine's own list.
    pub fn ends(&self, token: u32) -> bool {
        self.sampler.stop_token_ids.contains(&token)
    }
}

/// Whether `sampler` leaves greedy answers alone and ends them where the model does.
fn is_plain(sampler: &Sampler, vocabulary: u32) -> bool {
    let Sampler { numerics, weights, defaults, verification, stop_token_ids, .. } = sampler;
    let exact = Numerics { build: numerics.build, switch_rows: numerics.switch_rows, ..Numerics::default() };
    *numerics == exact
        && (weights.update_sd == 0.0 || weights.version == 0 && weights.update_seconds == 0.0)
        && defaults.repetition_penalty.is_none_or(|penalty| penalty == 1.0)
        && verification.flaw == Flaw::Nothing
        && stop_token_ids.contains(&END_OF_TURN)
        && stop_token_ids.iter().all(|token| *token >= vocabulary)
}
