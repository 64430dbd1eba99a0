//! Log probabilities of tokens, as they are returned, and of texts that are scored.

use super::{Context, Language, logits::Logits, sampling::GREEDY_BELOW};

/// What an engine writes for a token that its distribution does not hold: minus infinity has no JSON.
pub const IMPOSSIBLE: f32 = -9999.0;

/// A token with its log probability and those of the likeliest tokens in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// The token.
    pub token: u32,
    /// Its log probability, nats.
    pub logprob: f32,
    /// The likeliest tokens, with theirs.
    pub top: Vec<(u32, f32)>,
}

impl Scored {
    /// What `logits` say of `token`, with the `top` likeliest.
    pub(super) fn of(logits: &Logits, token: u32, top: u32) -> Self {
        let total = logits.log_total();
        let written = |logit: f64| ((logit - total) as f32).max(IMPOSSIBLE);
        let top = logits.top(top).into_iter().map(|(token, logit)| (token, written(logit))).collect();
        Self { token, logprob: written(logits.logit(token)), top }
    }
}

impl Language {
    /// Log probabilities of the tokens of a given text, by the weights and numerics of this engine, alone in its batch
    /// and in one pass: what a trainer computes for a rollout, or an engine for a prompt.
    ///
    /// `before` are the tokens in front of it; `temperature` divides the logits (0 counts as 1); `ends`: whether the
    /// model may end there (false for a text whose length was forced); `top`: how many of the likeliest to add.
    pub fn score(&self, before: &[u32], text: &[u32], temperature: f64, ends: bool, top: u32) -> Vec<Scored> {
        let (mut context, version) = (self.read(before), self.sampler.weights.loaded_at(0));
        let mut logits = Logits::default();
        let mut scored = Vec::with_capacity(text.len());
        for (place, token) in text.iter().enumerate() {
            self.write_logits(context, ends && self.is_complete(context), &mut logits);
            self.standing_disturbances((before.len() + place) as u32, version).apply(context, &mut logits);
            if temperature >= GREEDY_BELOW {
                logits.blocks.iter_mut().for_each(|block| block.logit /= temperature);
            }
            scored.push(Scored::of(&logits, *token, top));
            context = self.extend(context, *token);
        }
        scored
    }

    /// Whether the answer is complete after `context`: the next token ends it.
    pub fn is_complete(&self, context: Context) -> bool {
        self.natural_length(context) <= 1
    }
}
