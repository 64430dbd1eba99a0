//! What sampling settings do to logits: penalties, masks, temperature, truncation; in the engine's order.

use super::{logits::Logits, sampling::Settings};
use std::collections::BTreeMap;

/// How often a token stands in the answer, and whether it stands in the prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) in_prompt: bool,
    pub(super) in_answer: u32,
}

impl Logits {
    /// Lowers what was seen before.
    pub(super) fn penalise(&mut self, seen: &BTreeMap<u32, Seen>, settings: &Settings) {
        let lowered = |logit: f64, seen: &Seen| {
            let factor = settings.repetition_penalty;
            let scaled = if logit > 0.0 { logit / factor } else { logit * factor };
            let count = f64::from(seen.in_answer);
            scaled - settings.frequency_penalty * count - settings.presence_penalty * count.min(1.0)
        };
        let named = self.blocks.len();
        for (token, seen) in seen {
            // Only the blocks that were there before: those made here have other tokens.
            match self.blocks[..named].iter_mut().find(|block| block.token == Some(*token)) {
                Some(block) => block.logit = lowered(block.logit, seen),
                None => self.name(*token, |logit| lowered(logit, seen)),
            }
        }
    }

    /// Makes tokens impossible.
    pub(super) fn forbid(&mut self, tokens: impl Iterator<Item = u32>) {
        for token in tokens {
            match self.blocks.iter_mut().find(|block| block.token == Some(token)) {
                Some(block) => block.logit = f64::NEG_INFINITY,
                None => self.name(token, |_| f64::NEG_INFINITY),
            }
        }
    }

    /// Divides by the temperature, then keeps what `min_p`, `top_k` and `top_p` leave. Leaves the blocks sorted.
    pub(super) fn soften_and_truncate(&mut self, settings: &Settings) {
        self.blocks.iter_mut().for_each(|block| block.logit /= settings.temperature);
        self.sort();
        if settings.min_p > 0.0 {
            let least = self.blocks.first().map_or(0.0, |top| top.logit) + settings.min_p.ln();
            self.blocks
                .iter_mut()
                .filter(|block| block.logit < least)
                .for_each(|block| block.logit = f64::NEG_INFINITY);
        }
        if settings.top_k > 0 {
            let mut left = settings.top_k;
            self.keep(|count, _| {
                let kept = left.min(count);
                left -= kept;
                kept
            });
        }
        if settings.top_p < 1.0 {
            let total = self.log_total();
            let mut before = 0.0;
            self.keep(|count, logit| {
                let each = (logit - total).exp();
                // Kept as long as those before do not reach the share.
                let wanted = ((settings.top_p - before) / each).ceil().clamp(0.0, f64::from(count));
                before += each * f64::from(count);
                wanted as u32
            });
        }
    }

    /// Loses the likeliest token, unless it is the only one. Needs sorted blocks.
    pub(super) fn drop_likeliest(&mut self) {
        let possible = self.blocks.iter().filter(|block| block.logit > f64::NEG_INFINITY).count();
        if let Some(top) = self.blocks.first_mut().filter(|_| possible > 1) {
            top.logit = f64::NEG_INFINITY;
        }
        self.sort();
    }

    /// Keeps of each block as many words as `wanted` says, given their count and logit. Needs sorted blocks.
    fn keep(&mut self, mut wanted: impl FnMut(u32, f64) -> u32) {
        for block in self.blocks.iter_mut().filter(|block| block.logit > f64::NEG_INFINITY) {
            match wanted(block.count, block.logit) {
                0 => block.logit = f64::NEG_INFINITY,
                kept => block.count = kept,
            }
        }
    }
}
