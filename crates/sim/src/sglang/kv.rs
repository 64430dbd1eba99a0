//! The KV pool: pages that requests hold, and the tree of what they have left behind.

use crate::{
    config::{Defects, EngineConfig},
    kv_cache::hash::mix,
    language::Language,
    radix_cache::{NodeId, Prefix, ROOT, RadixCache},
    request::RequestState,
};

/// What a request holds of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat {
    /// The last node of its prefix in the tree; the path to it is locked.
    pub(super) node: NodeId,
    /// Tokens of that prefix.
    pub(super) in_tree: u32,
    /// Tokens in pages of its own, in whole pages.
    pub(super) held: u32,
}

impl Seat {
    pub(super) const NONE: Self = Self { node: ROOT, in_tree: 0, held: 0 };
}

/// The KV pool of one engine. Free, held, protected and evictable tokens always add up to the capacity.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    tree: RadixCache,
    capacity: u32,
    free: u32,
    page: u32,
    caching: bool,
    evict_shortfall_only: bool,
    split_at_prompt: bool,
    /// Whether nothing new is entered into the tree, by a bug.
    frozen: bool,
    /// Share of lookups that find nothing, by a bug.
    failed_lookups: f64,
    lookups: u64,
    /// Tokens that a bug has lost.
    pub(super) leaked: u32,
    /// Tokens evicted so far.
    pub(super) evicted: u64,
    /// Tokens of the sequence at hand.
    sequence: Vec<u32>,
}

impl Pool {
    pub(super) fn new(config: &EngineConfig) -> Self {
        let rules = &config.sglang;
        Self {
            tree: RadixCache::new(rules.page_size, rules.radix_eviction_policy),
            capacity: rules.kv_tokens(),
            free: rules.kv_tokens(),
            page: rules.page_size,
            caching: !rules.disable_radix_cache,
            evict_shortfall_only: rules.evict_shortfall_only,
            split_at_prompt: rules.split_at_prompt,
            frozen: config.defects.frozen_prefix_index,
            failed_lookups: config.defects.failed_lookups,
            lookups: 0,
            leaked: 0,
            evicted: 0,
            sequence: Vec::new(),
        }
    }

    /// Takes on the bugs of a configuration.
    pub(super) fn spoil(&mut self, defects: &Defects) {
        (self.frozen, self.failed_lookups) = (defects.frozen_prefix_index, defects.failed_lookups);
    }

    /// Loses pages for good, as far as some are free.
    pub(super) fn leak(&mut self, pages: u32) {
        let tokens = pages.saturating_mul(self.page).min(self.free);
        self.free -= tokens;
        self.leaked += tokens;
    }

    /// Evicts all that nobody uses.
    pub(super) fn flush(&mut self) {
        self.free += self.tree.evict(u32::MAX);
    }

    /// Whether a lookup goes wrong.
    fn fails(&mut self) -> bool {
        if self.failed_lookups == 0.0 {
            return false;
        }
        self.lookups += 1;
        let uniform = (mix(self.lookups) >> 11) as f64 / (1u64 << 53) as f64;
        uniform < self.failed_lookups
    }

    pub(super) fn tree(&self) -> &RadixCache {
        &self.tree
    }

    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    pub(super) fn free(&self) -> u32 {
        self.free
    }

    pub(super) fn page(&self) -> u32 {
        self.page
    }

    /// Tokens that could be had at once.
    pub(super) fn available(&self) -> u32 {
        self.free + self.tree.evictable()
    }

    /// Tokens used: neither free nor evictable.
    pub(super) fn used(&self) -> u32 {
        self.capacity - self.available()
    }

    pub(super) fn ceil(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.page) * self.page
    }

    fn floor(&self, tokens: u32) -> u32 {
        tokens / self.page * self.page
    }

    /// The longest cached prefix of what is known of a request, of at most `most` tokens.
    pub(super) fn find(&mut self, request: &RequestState, language: &Language, most: u32) -> Prefix {
        if !self.caching || self.fails() {
            return Prefix { node: ROOT, tokens: 0 };
        }
        match request.prompt.get(..most as usize) {
            Some(prompt) => self.tree.find(request.features.cache_salt, prompt),
            None => {
                spell(&mut self.sequence, request, language, most);
                self.tree.find(request.features.cache_salt, &self.sequence)
            }
        }
    }

    /// All that is known of a request.
    pub(super) fn sequence<'a>(&'a mut self, request: &'a RequestState, language: &Language) -> &'a [u32] {
        if request.output_len == 0 {
            return &request.prompt;
        }
        spell(&mut self.sequence, request, language, request.num_tokens());
        &self.sequence
    }

    /// Seats a request on a prefix: the prefix is locked.
    pub(super) fn sit(&mut self, prefix: Prefix) -> Seat {
        self.tree.lock(prefix.node);
        Seat { node: prefix.node, in_tree: prefix.tokens, held: 0 }
    }

    /// Takes a lock back that [`Self::sit`] has taken.
    pub(super) fn stand(&mut self, seat: Seat) {
        self.tree.unlock(seat.node);
    }

    /// Tokens that must be taken for a request to hold `len` tokens.
    pub(super) fn missing(&self, seat: &Seat, len: u32) -> u32 {
        self.ceil(len).saturating_sub(seat.in_tree + seat.held)
    }

    /// Evicts leaves if fewer than `want` tokens are free.
    pub(super) fn make_room(&mut self, want: u32) {
        if self.free < want {
            let gone = self.tree.evict(if self.evict_shortfall_only { want - self.free } else { want });
            self.evicted += u64::from(gone);
            self.free += gone;
        }
    }

    /// Gives a request pages for `len` tokens in all. What is free must suffice.
    pub(super) fn take(&mut self, seat: &mut Seat, len: u32) {
        debug_assert!(self.missing(seat, len) <= self.free, "room is made before it is taken");
        let missing = self.missing(seat, len).min(self.free);
        seat.held += missing;
        self.free -= missing;
    }

    /// Puts the first `len` tokens of a request that goes on into the tree; its own copies of what was there are freed.
    pub(super) fn checkpoint(&mut self, seat: &mut Seat, request: &RequestState, language: &Language, len: u32) {
        let whole = self.floor(len);
        if !self.caching || self.frozen || whole <= seat.in_tree {
            return;
        }
        spell(&mut self.sequence, request, language, whole);
        let inserted = self.tree.insert(request.features.cache_salt, &self.sequence);
        self.tree.lock(inserted.prefix.node);
        self.tree.unlock(seat.node);
        self.free += inserted.known.saturating_sub(seat.in_tree);
        let moved = inserted.prefix.tokens.saturating_sub(seat.in_tree);
        *seat = Seat { node: inserted.prefix.node, in_tree: inserted.prefix.tokens, held: seat.held - moved };
    }

    /// A request ends: what is computed of it stays in the tree, the rest is freed.
    pub(super) fn keep(&mut self, seat: Seat, request: &RequestState, language: &Language) {
        let mut seat = seat;
        if self.caching {
            // The KV of the last token has not been computed, or is not kept.
            let committed = request.num_computed.min(request.num_tokens().saturating_sub(1));
            if self.split_at_prompt {
                self.checkpoint(&mut seat, request, language, committed.min(request.prompt_len()));
            }
            self.checkpoint(&mut seat, request, language, committed);
        }
        self.drop(seat);
    }

    /// A request loses its pages; only what it has put into the tree before stays there.
    pub(super) fn drop(&mut self, seat: Seat) {
        self.free += seat.held;
        self.tree.unlock(seat.node);
    }
}

/// Writes out the first `len` tokens of a request.
fn spell(into: &mut Vec<u32>, request: &RequestState, language: &Language, len: u32) {
    into.clear();
    let prompt = request.prompt.get(..len as usize).unwrap_or(&request.prompt);
    into.extend_from_slice(prompt);
    into.extend((request.prompt_len()..len).map(|position| request.token(position, language)));
}
