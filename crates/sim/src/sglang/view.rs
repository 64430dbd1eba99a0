//! SGLang's state, for inspection.

use super::{Gauges, Report, Sglang, Totals};
use crate::{
    radix_cache::RadixCache,
    request::{RequestId, Slots},
};

/// What SGLang's scheduler and pool hold.
#[derive(Debug, Clone, Copy)]
pub struct SglangView<'a> {
    pub(crate) core: &'a Sglang,
    pub(crate) slots: &'a Slots,
}

impl<'a> SglangView<'a> {
    /// How full the pool is.
    pub fn tokens(&self) -> PoolTokens {
        let (pool, tree) = (&self.core.pool, self.core.pool.tree());
        PoolTokens {
            capacity: pool.capacity(),
            free: pool.free(),
            evictable: tree.evictable(),
            protected: tree.protected(),
            leaked: pool.leaked,
            evicted: pool.evicted,
        }
    }

    /// The tree of cached prefixes.
    pub fn tree(&self) -> &'a RadixCache {
        self.core.pool.tree()
    }

    /// Tokens in pages of a request's own; `None` once it is gone.
    pub fn held(&self, id: RequestId) -> Option<u32> {
        let slot = self.slots.slot_of(id)?;
        Some(self.core.seats.get(slot as usize).map_or(0, |seat| seat.held))
    }

    /// Tokens of a request's prefix that are locked in the tree; `None` once it is gone.
    pub fn locked(&self, id: RequestId) -> Option<u32> {
        let slot = self.slots.slot_of(id)?;
        Some(self.core.seats.get(slot as usize).map_or(0, |seat| seat.in_tree))
    }

    /// The request that is computed in chunks.
    pub fn chunked(&self) -> Option<RequestId> {
        self.core.chunked.map(|slot| self.slots.id_of(slot))
    }

    /// Share of remaining output that is reserved for running requests.
    pub fn new_token_ratio(&self) -> f64 {
        self.core.ratio.now
    }

    /// Levels as the last report set them.
    pub fn gauges(&self) -> &'a Gauges {
        &self.core.reporter.gauges
    }

    /// What only grows.
    pub fn totals(&self) -> &'a Totals {
        &self.core.reporter.totals
    }

    /// How many reports there were before the latest ones, and these: those of the last step's end and since.
    pub fn reports(&self) -> (u64, &'a [Report]) {
        (self.core.reporter.earlier, &self.core.reporter.latest)
    }

    /// With overlap, the step behind the one in hand: who computes how many tokens.
    pub fn planned(&self) -> impl Iterator<Item = (RequestId, u32)> + 'a {
        self.core.planned.iter().flat_map(|step| step.rows.iter().map(|row| (row.id, row.tokens)))
    }
}

/// How full SGLang's KV pool is, tokens. What is neither free nor in the tree is held by running requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolTokens {
    /// All there are.
    pub capacity: u32,
    /// Those that nobody uses and that hold nothing.
    pub free: u32,
    /// Cached and unused.
    pub evictable: u32,
    /// Cached and used.
    pub protected: u32,
    /// Lost for good, by a bug.
    pub leaked: u32,
    /// Evicted so far.
    pub evicted: u64,
}

impl PoolTokens {
    /// Used tokens: neither free nor evictable.
    pub fn used(&self) -> u32 {
        self.capacity - self.free - self.evictable
    }

    /// Share of the pool that is used, 0 to 1.
    pub fn usage(&self) -> f64 {
        f64::from(self.used()) / f64::from(self.capacity.max(1))
    }
}
