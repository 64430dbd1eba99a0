//! The tokens that a step may compute.

use crate::config::EngineConfig;

/// What is left of a step's token budget: of each attention rank's, where there are several.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget {
    left: u32,
    ranks: Vec<u32>,
}

impl Budget {
    pub(super) fn begin(&mut self, config: &EngineConfig) {
        let (tokens, ranks) = (config.max_num_batched_tokens, config.parallel.data.ranks);
        self.left = tokens.saturating_mul(ranks);
        self.ranks.clear();
        if ranks > 1 {
            self.ranks.resize(ranks as usize, tokens);
        }
    }

    /// Whether nothing is left.
    pub(super) fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Tokens that a request of `rank` may compute.
    pub(super) fn of(&self, rank: u32) -> u32 {
        self.ranks.get(rank as usize).copied().unwrap_or(self.left)
    }

    pub(super) fn spend(&mut self, rank: u32, tokens: u32) {
        self.left -= tokens;
        if let Some(left) = self.ranks.get_mut(rank as usize) {
            *left -= tokens;
        }
    }

    /// Takes tokens back that were given to a request which is thrown out again.
    pub(super) fn return_(&mut self, rank: u32, tokens: u32) {
        self.left += tokens;
        if let Some(left) = self.ranks.get_mut(rank as usize) {
            *left += tokens;
        }
    }
}
