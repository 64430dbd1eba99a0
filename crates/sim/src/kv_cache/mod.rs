//! Paged KV cache with prefix caching: who holds which block, and which content can be found again.

pub mod hash;
pub mod pool;
pub mod prefix;
pub(crate) mod tier;

use crate::{
    config::{EngineConfig, Offload},
    language::Language,
    request::RequestState,
};
use hash::{BlockHash, ROOT, mix};
use pool::{BlockId, BlockPool};
use prefix::PrefixIndex;
use tier::Tier;

/// What an allocation asks for.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Tokens to be computed in this step, after those computed and those hit.
    pub tokens: u32,
    /// Tokens after those for which drafts may need room.
    pub lookahead: u32,
    /// Blocks that must stay free besides.
    pub watermark: u32,
    /// Whether all tokens known of the request must fit, not only this step's.
    pub whole: bool,
}

/// The KV cache of one engine.
#[derive(Debug, Clone)]
pub struct KvCache {
    pool: BlockPool,
    index: PrefixIndex,
    block_size: u32,
    max_model_len: u32,
    caching: bool,
    /// A second tier, where there is one, with the blocks to be stored in it.
    tier: Option<(Tier, Vec<BlockHash>)>,
    /// Whether new blocks are no longer made findable.
    frozen: bool,
    /// Share of lookups that find nothing.
    failed_lookups: f64,
    lookups: u64,
    leaked: u32,
    /// What an allocation evicts.
    evicted: Vec<(BlockHash, BlockId)>,
    /// Tokens of a block that is not all prompt.
    answered: Vec<u32>,
}

impl KvCache {
    /// An empty cache.
    pub fn new(config: &EngineConfig) -> Self {
        let mut cache = Self {
            pool: BlockPool::new(config.num_gpu_blocks),
            index: PrefixIndex::default(),
            block_size: config.block_size,
            max_model_len: config.max_model_len,
            caching: config.enable_prefix_caching,
            tier: config.offload.is_some().then(Default::default),
            frozen: false,
            failed_lookups: 0.0,
            lookups: 0,
            leaked: 0,
            evicted: Vec::new(),
            answered: Vec::new(),
        };
        cache.become_(config);
        cache
    }

    /// Goes on under another configuration of the same capacity.
    pub(crate) fn become_(&mut self, config: &EngineConfig) {
        self.pool.unhashed_first = config.unhashed_blocks_first;
        self.frozen = config.defects.frozen_prefix_index;
        self.failed_lookups = config.defects.failed_lookups;
    }

    /// The blocks.
    pub fn pool(&self) -> &BlockPool {
        &self.pool
    }

    /// What can be found again.
    pub fn index(&self) -> &PrefixIndex {
        &self.index
    }

    /// Blocks that ended requests left referenced for good.
    pub fn leaked(&self) -> u32 {
        self.leaked
    }

    /// The longest cached prefix of `request`, as blocks written to `hit`; returns its length in tokens.
    ///
    /// At most `num_tokens − 1` tokens are hit, in whole blocks: a prompt that is cached entirely and whose length is a
    /// multiple of the block size computes its whole last block again. A lookup does not change the eviction order.
    pub(crate) fn lookup(&mut self, request: &mut RequestState, language: &Language, hit: &mut Vec<BlockId>) -> u32 {
        hit.clear();
        if !self.caching {
            return 0;
        }
        self.extend_hashes(request, language);
        if self.failed_lookups > 0.0 {
            self.lookups += 1;
            if (mix(self.lookups) >> 11) as f64 / (1u64 << 53) as f64 <= self.failed_lookups {
                return 0;
            }
        }
        let most = (request.num_tokens() - 1) / self.block_size;
        let found = request.hashes.iter().take(most as usize).map_while(|hash| self.index.get(*hash));
        hit.extend(found);
        hit.len() as u32 * self.block_size
    }

    /// Gives `request` the blocks for the tokens asked, the `hit` blocks first, and makes every full block findable at
    /// once (before the step that computes it has run). Returns false, changing nothing, when too few blocks are free.
    #[inline]
    pub(crate) fn allocate(
        &mut self,
        request: &mut RequestState,
        language: &Language,
        hit: &[BlockId],
        ask: Ask,
    ) -> bool {
        // Most calls come from a decode whose last block has room.
        let end = request.num_computed + ask.tokens;
        let held = request.blocks.len() as u32;
        if hit.is_empty() && !ask.whole && ask.watermark == 0 && self.holds(held, end + ask.lookahead) {
            self.register(request, language, end);
            return true;
        }
        self.allocate_blocks(request, language, hit, ask)
    }

    fn allocate_blocks(&mut self, request: &mut RequestState, language: &Language, hit: &[BlockId], ask: Ask) -> bool {
        let hit_blocks = hit.len() as u32;
        let end = request.num_computed + hit_blocks * self.block_size + ask.tokens;
        let held = request.blocks.len() as u32 + hit_blocks;
        let revived = hit.iter().filter(|id| self.pool.refs(**id) == 0).count() as u32;
        let need = |tokens: u32| tokens.min(self.max_model_len).div_ceil(self.block_size).saturating_sub(held);
        let fits =
            |need: u32| u64::from(need) + u64::from(revived) + u64::from(ask.watermark) <= u64::from(self.pool.free());
        let now = need(end + ask.lookahead);
        if ask.whole && !fits(need(request.num_tokens())) || !fits(now) {
            return false;
        }
        request.blocks.reserve((hit_blocks + now) as usize);
        for id in hit {
            self.pool.touch(*id);
            request.blocks.push(*id);
        }
        request.cached_blocks = request.cached_blocks.max(hit_blocks);
        self.evicted.clear();
        for _ in 0..now {
            let Some((id, evicted)) = self.pool.take() else { return false };
            self.evicted.extend(evicted.map(|hash| (hash, id)));
            request.blocks.push(id);
        }
        self.index.warm(self.evicted.iter().map(|(hash, _)| *hash));
        for (hash, id) in &self.evicted {
            self.index.remove(*hash, *id);
        }
        self.register(request, language, end);
        true
    }

    /// Whether `blocks` blocks have room for `tokens` tokens.
    fn holds(&self, blocks: u32, tokens: u32) -> bool {
        u64::from(tokens.min(self.max_model_len)) <= u64::from(blocks) * u64::from(self.block_size)
    }

    /// How many blocks that follow on the `hit` blocks of `request` are in the second tier and worth a copy.
    pub(crate) fn worth(&mut self, offload: &Offload, request: &RequestState, hit: usize, now_ns: i64) -> u32 {
        let most = ((request.num_tokens() - 1) / self.block_size) as usize;
        match (&mut self.tier, request.hashes.get(hit..most)) {
            (Some((tier, _)), Some(rest)) => tier.worth(offload, rest, self.block_size, now_ns),
            _ => 0,
        }
    }

    /// Begins to copy `blocks` blocks that follow on the `hit` blocks of `request` from the second tier: when that ends.
    pub(crate) fn load(
        &mut self,
        offload: &Offload,
        request: &RequestState,
        hit: usize,
        blocks: u32,
        now_ns: i64,
    ) -> i64 {
        match (&mut self.tier, request.hashes.get(hit..hit + blocks as usize)) {
            (Some((tier, _)), Some(hashes)) => tier.load(offload, hashes, self.block_size, now_ns),
            _ => now_ns,
        }
    }

    /// Stores what has been computed since in the second tier.
    pub(crate) fn store(&mut self, offload: &Offload, now_ns: i64) {
        if let Some((tier, fresh)) = &mut self.tier {
            tier.store(offload, fresh, self.block_size, now_ns);
            fresh.clear();
        }
    }

    /// What copies to and from the second tier have come to.
    pub(crate) fn copied(&self) -> Option<tier::Copied> {
        self.tier.as_ref().map(|(tier, _)| tier.copied())
    }

    /// Releases all blocks of a request, last first, so that its tail is evicted before its head. What is full stays
    /// findable until it is evicted.
    pub(crate) fn free(&mut self, request: &mut RequestState) {
        for id in request.blocks.drain(..).rev() {
            self.pool.release(id);
        }
        request.cached_blocks = 0;
    }

    /// Forgets the last `count` blocks of a request without releasing them.
    pub(crate) fn leak(&mut self, request: &mut RequestState, count: u32) {
        let kept = request.blocks.len().saturating_sub(count as usize);
        self.leaked += (request.blocks.len() - kept) as u32;
        request.blocks.truncate(kept);
    }

    /// Makes nothing findable any more. Returns whether no block was in use.
    pub(crate) fn clear_index(&mut self) -> bool {
        self.index.clear();
        self.pool.clear_hashes();
        self.pool.free() == self.pool.usable()
    }

    /// Makes the full blocks among the first `end` tokens findable, as far as they are known.
    #[inline]
    fn register(&mut self, request: &mut RequestState, language: &Language, end: u32) {
        let tokens = end.min(request.num_tokens());
        if self.caching && tokens >= (request.cached_blocks + 1) * self.block_size {
            self.register_blocks(request, language, tokens / self.block_size);
        }
    }

    /// Makes the first `full` blocks findable, as far as they are not yet.
    fn register_blocks(&mut self, request: &mut RequestState, language: &Language, full: u32) {
        self.extend_hashes(request, language);
        let fresh = request.hashes.get(request.cached_blocks as usize..full as usize).unwrap_or(&[]);
        self.index.warm(fresh.iter().copied());
        for block in request.cached_blocks..full {
            let (Some(id), Some(hash)) = (request.blocks.get(block as usize), request.hashes.get(block as usize))
            else {
                return;
            };
            if self.pool.hash(*id).is_none() && !self.frozen {
                self.pool.set_hash(*id, *hash);
                self.index.insert(*hash, *id);
            }
            if let Some((_, fresh)) = &mut self.tier {
                fresh.push(*hash);
            }
        }
        request.cached_blocks = full;
    }

    /// Hashes the request's full blocks that are not hashed yet.
    fn extend_hashes(&mut self, request: &mut RequestState, language: &Language) {
        let full = (request.num_tokens() / self.block_size) as usize;
        if request.hashes.len() >= full {
            return;
        }
        request.hashes.reserve(full - request.hashes.len());
        let mut parent = request.hashes.last().copied().unwrap_or_else(|| root(request.features.cache_salt));
        for block in request.hashes.len() as u32..full as u32 {
            let (start, end) = (block * self.block_size, (block + 1) * self.block_size);
            parent = match request.prompt.get(start as usize..end as usize) {
                Some(tokens) => hash::chain(parent, tokens),
                None => {
                    self.answered.clear();
                    self.answered.extend((start..end).map(|position| request.token(position, language)));
                    hash::chain(parent, &self.answered)
                }
            };
            request.hashes.push(parent);
        }
    }
}

/// The hash before the first block of requests with one salt.
fn root(salt: u64) -> BlockHash {
    if salt == 0 { ROOT } else { BlockHash(mix(ROOT.0 ^ salt)) }
}
