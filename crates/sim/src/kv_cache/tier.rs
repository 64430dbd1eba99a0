//! A second tier of KV blocks behind a link.

use super::hash::{BlockHash, BuildAlreadyMixed};
use crate::config::Offload;
use std::collections::{HashMap, VecDeque};

/// What copies have come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) load_bytes: u64,
    pub(crate) load_ns: i64,
    pub(crate) store_bytes: u64,
    pub(crate) store_ns: i64,
    /// Operations that loads were cut into.
    pub(crate) load_operations: u64,
    /// Look-ups that found something, and the time of all.
    pub(crate) lookups: u64,
    pub(crate) lookup_ns: i64,
}

/// Blocks kept in the tier, least recently used first to go, and the link to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tier {
    blocks: HashMap<BlockHash, u64, BuildAlreadyMixed>,
    /// Uses in order of time; a block's entry counts only if it is its latest.
    uses: VecDeque<(u64, BlockHash)>,
    stamp: u64,
    loads_until_ns: i64,
    stores_until_ns: i64,
    /// Ends of the loads under way.
    loading: VecDeque<i64>,
    copied: Copied,
}

impl Tier {
    /// How many of the hashes, from the first on, it holds.
    fn found(&self, hashes: &[BlockHash]) -> u32 {
        hashes.iter().take_while(|hash| self.blocks.contains_key(*hash)).count() as u32
    }

    /// How many blocks that follow on the GPU's own hit are here and worth a copy.
    pub(crate) fn worth(&mut self, offload: &Offload, hashes: &[BlockHash], block_size: u32, now_ns: i64) -> u32 {
        let blocks = self.found(hashes);
        self.loading.retain(|until_ns| *until_ns > now_ns);
        let busy = offload.max_loads.is_some_and(|most| self.loading.len() >= most as usize);
        if busy || blocks * block_size < offload.min_hit_tokens { 0 } else { blocks }
    }

    /// Begins to copy blocks to the GPU: when that ends.
    pub(crate) fn load(&mut self, offload: &Offload, hashes: &[BlockHash], block_size: u32, now_ns: i64) -> i64 {
        for hash in hashes {
            self.touch(*hash);
        }
        let tokens = hashes.len() as u64 * u64::from(block_size);
        let mut start_ns = now_ns.saturating_add(nanoseconds(offload.lookup_seconds)).max(self.loads_until_ns);
        if offload.stores_block_loads {
            start_ns = start_ns.max(self.stores_until_ns);
        }
        let copy_ns = copy_ns(offload, tokens);
        self.loads_until_ns = start_ns.saturating_add(copy_ns);
        if offload.stores_block_loads {
            self.stores_until_ns = self.loads_until_ns;
        }
        self.loading.push_back(self.loads_until_ns);
        self.copied.load_bytes += bytes(offload, tokens);
        self.copied.load_ns += copy_ns;
        self.copied.load_operations += tokens.div_ceil(u64::from(offload.operation_tokens));
        self.copied.lookups += 1;
        self.copied.lookup_ns += nanoseconds(offload.lookup_seconds);
        self.loads_until_ns
    }

    /// Stores blocks that have been computed; what is there already is not copied again.
    pub(crate) fn store(&mut self, offload: &Offload, hashes: &[BlockHash], block_size: u32, now_ns: i64) {
        let mut stored = 0;
        for hash in hashes {
            stored += u64::from(!self.blocks.contains_key(hash));
            self.touch(*hash);
        }
        let most = offload.capacity_tokens / u64::from(block_size.max(1));
        while self.blocks.len() as u64 > most {
            let Some((stamp, hash)) = self.uses.pop_front() else { break };
            if self.blocks.get(&hash) == Some(&stamp) {
                self.blocks.remove(&hash);
            }
        }
        if stored > 0 {
            let tokens = stored * u64::from(block_size);
            let copy_ns = copy_ns(offload, tokens);
            self.stores_until_ns = self.stores_until_ns.max(now_ns).saturating_add(copy_ns);
            self.copied.store_bytes += bytes(offload, tokens);
            self.copied.store_ns += copy_ns;
        }
    }

    /// What copies have come to.
    pub(crate) fn copied(&self) -> Copied {
        self.copied
    }

    fn touch(&mut self, hash: BlockHash) {
        self.stamp += 1;
        self.blocks.insert(hash, self.stamp);
        self.uses.push_back((self.stamp, hash));
        // Entries that no longer count are swept out before they outnumber the others.
        if self.uses.len() > 2 * self.blocks.len() + 1024 {
            let blocks = &self.blocks;
            self.uses.retain(|(stamp, hash)| blocks.get(hash) == Some(stamp));
        }
    }
}

fn bytes(offload: &Offload, tokens: u64) -> u64 {
    (tokens as f64 * offload.bytes_per_token).round() as u64
}

fn copy_ns(offload: &Offload, tokens: u64) -> i64 {
    let operations = tokens.div_ceil(u64::from(offload.operation_tokens)) as f64;
    let copy = tokens as f64 * offload.bytes_per_token / offload.bytes_per_second;
    nanoseconds(operations * offload.operation_seconds + copy)
}

fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
