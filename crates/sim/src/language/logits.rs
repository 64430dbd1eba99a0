//! Next-token logits: candidates by name, and a tail of all other words that share one logit.

use super::{CANDIDATES, Context, Language, SPREAD, special::END_OF_TURN};
use crate::kv_cache::hash::mix;
use std::cmp::Ordering;

/// Mean lead of the likeliest word over the second, nats: a likeliest word has a probability of 0.75 on average, and
/// one in four hundred leads by less than 0.01.
const MEAN_LEAD: f64 = 2.5;
/// What the tail's words have less than the last candidate, nats.
const TAIL_DROP: f64 = 4.0;
/// Lead of the ending token where the answer is complete, nats.
const END_LEAD: f64 = 12.0;

/// One word with its logit, or all words that have no logit of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// The word; `None`: the tail.
    pub token: Option<u32>,
    /// Its logit, or that of each word of the tail, nats; −∞: cannot be chosen.
    pub logit: f64,
    /// How many words.
    pub count: u32,
}

/// A distribution over the vocabulary and the ending token.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Logits {
    /// The likeliest first, once [`Self::sort`] was called.
    pub(super) blocks: Vec<Block>,
    vocabulary: u32,
}

impl Language {
    /// The model's logits after `context`; `complete`: whether the answer is.
    pub fn logits(&self, context: Context, complete: bool) -> Logits {
        let mut logits = Logits::default();
        self.write_logits(context, complete, &mut logits);
        logits
    }

    /// As [`Self::logits`], into room that is there.
    pub(super) fn write_logits(&self, context: Context, complete: bool, out: &mut Logits) {
        let bits = context.bits();
        let shape = mix(bits ^ SPREAD);
        let share = |shift: u32| f64::from(((shape >> shift) & 0xffff) as u16) / 65536.0;
        let lead = -(share(0) + 0.5 / 65536.0).ln() * MEAN_LEAD;
        let slope = 0.7 + 1.3 * share(16);
        let top = 16.0 + 4.0 * share(32);
        let first = self.word(context);
        let stride = self.stride(mix(shape));
        out.vocabulary = self.vocabulary;
        out.blocks.clear();
        out.blocks.push(Block { token: Some(first), logit: top, count: 1 });
        let mut word = first;
        for rank in 1..CANDIDATES {
            word = ((u64::from(word) + u64::from(stride)) % u64::from(self.vocabulary)) as u32;
            let logit = top - lead - slope * self.ln_rank[rank];
            out.blocks.push(Block { token: Some(word), logit, count: 1 });
        }
        let tail = top - lead - slope * self.ln_rank[CANDIDATES] - TAIL_DROP;
        out.blocks.push(Block { token: None, logit: tail, count: self.vocabulary - CANDIDATES as u32 });
        // Elsewhere it is never said, so that a hot request does not end too early.
        let end = if complete { top + END_LEAD } else { f64::NEG_INFINITY };
        out.blocks.push(Block { token: Some(END_OF_TURN), logit: end, count: 1 });
    }

    /// A step through the vocabulary that does not come back within the candidates.
    fn stride(&self, bits: u64) -> u32 {
        let odd = (bits % u64::from(self.vocabulary)) as u32 | 1;
        if self.vocabulary.is_power_of_two() { odd } else { 1 }
    }
}

impl Logits {
    /// All blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The likeliest first; of equal ones the lower token.
    pub(super) fn sort(&mut self) {
        self.blocks.sort_unstable_by(likelier);
    }

    /// Takes a word out of the tail and gives it a logit of its own, made from the tail's. A token that the model cannot
    /// say is left alone.
    pub(super) fn name(&mut self, token: u32, logit: impl FnOnce(f64) -> f64) {
        let Some(tail) = self.blocks.iter_mut().find(|block| block.token.is_none()) else { return };
        if token < self.vocabulary && tail.count > 0 {
            tail.count -= 1;
            let logit = logit(tail.logit);
            self.blocks.push(Block { token: Some(token), logit, count: 1 });
        }
    }

    /// Logarithm of the sum of all exponentials, nats.
    pub fn log_total(&self) -> f64 {
        let top = self.blocks.iter().map(|block| block.logit).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = self.blocks.iter().map(|block| f64::from(block.count) * (block.logit - top).exp()).sum();
        top + total.ln()
    }

    /// The likeliest token; of equal ones the lower.
    pub fn likeliest(&self) -> u32 {
        let named = self.blocks.iter().filter_map(|block| Some((block.token?, block.logit)));
        let best = named.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        // A distribution is never without candidates.
        best.map_or(END_OF_TURN, |(token, _)| token)
    }

    /// The logit of a token, nats; −∞ for one that cannot be chosen.
    pub fn logit(&self, token: u32) -> f64 {
        match self.blocks.iter().find(|block| block.token == Some(token)) {
            Some(block) => block.logit,
            None if token < self.vocabulary => self
                .blocks
                .iter()
                .find(|block| block.token.is_none() && block.count > 0)
                .map_or(f64::NEG_INFINITY, |tail| tail.logit),
            None => f64::NEG_INFINITY,
        }
    }

    /// The token that the share `uniform` of the probability reaches, counted from the likeliest. Needs sorted blocks.
    pub(super) fn draw(&self, uniform: f64) -> u32 {
        let top = self.blocks.first().map_or(0.0, |block| block.logit);
        let weight = |block: &Block| (block.logit - top).exp();
        let total: f64 = self.blocks.iter().map(|block| f64::from(block.count) * weight(block)).sum();
        let mut left = uniform * total;
        let mut last = None;
        for block in self.blocks.iter().filter(|block| block.count > 0 && block.logit > f64::NEG_INFINITY) {
            let each = weight(block);
            let place = ((left / each) as u32).min(block.count - 1);
            last = Some((block, place));
            left -= f64::from(block.count) * each;
            if left < 0.0 {
                break;
            }
        }
        match last {
            Some((Block { token: Some(token), .. }, _)) => *token,
            Some((Block { token: None, .. }, place)) => self.tail_word(place),
            None => END_OF_TURN,
        }
    }

    /// The tail's word at `place`, in order of their ids.
    fn tail_word(&self, place: u32) -> u32 {
        let mut named: Vec<u32> = self.blocks.iter().filter_map(|block| block.token).collect();
        named.sort_unstable();
        named.iter().fold(place, |word, taken| word + u32::from(*taken <= word))
    }

    /// The `count` likeliest tokens with their logits.
    pub(super) fn top(&self, count: u32) -> Vec<(u32, f64)> {
        let mut order: Vec<&Block> = self.blocks.iter().filter(|block| block.logit > f64::NEG_INFINITY).collect();
        order.sort_unstable_by(|a, b| likelier(a, b));
        let words = order.into_iter().flat_map(|block| {
            (0..block.count).map(|place| (block.token.unwrap_or_else(|| self.tail_word(place)), block.logit))
        });
        words.take(count as usize).collect()
    }
}

/// The order of likelihood, the likeliest first; of equal ones the lower token.
fn likelier(a: &Block, b: &Block) -> Ordering {
    b.logit.total_cmp(&a.logit).then(a.token.cmp(&b.token))
}
