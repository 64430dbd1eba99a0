//! Which share of their remaining output running requests are expected to need.

use crate::config::Sglang;

/// The ratio and its way: it falls with every decode step that fits, is estimated anew at a retraction, and starts
/// again when the engine rests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NewTokenRatio {
    pub(super) now: f64,
    first: f64,
    least: f64,
    decay: f64,
}

impl NewTokenRatio {
    pub(super) fn new(rules: &Sglang) -> Self {
        let first = (rules.init_new_token_ratio * rules.schedule_conservativeness).min(1.0);
        let least = first * rules.min_new_token_ratio_factor;
        let decay = (first - least) / f64::from(rules.new_token_ratio_decay_steps.max(1));
        Self { now: first, first, least, decay }
    }

    /// Other rules hold from now on; the share goes on from where it is.
    pub(super) fn become_(&mut self, rules: &Sglang) {
        *self = Self { now: self.now, ..Self::new(rules) };
    }

    pub(super) fn decay(&mut self) {
        self.now = (self.now - self.decay).max(self.least);
    }

    pub(super) fn reset(&mut self) {
        self.now = self.first;
    }

    /// After a retraction, over the requests that stay: what they have generated, and `ahead` steps more, to what they
    /// may generate.
    pub(super) fn estimate(&mut self, generated: u64, asked: u64, requests: usize, ahead: u32) {
        let expected = generated as f64 + f64::from(ahead) * requests as f64;
        self.now = (expected / (asked as f64 + 1.0)).min(1.0);
    }
}
