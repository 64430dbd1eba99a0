//! What a router believes of the replicas' caches: which prefix it sent where. It is never told of evictions.

use crate::kv_cache::hash::{BuildAlreadyMixed, mix, step};
use std::collections::{HashMap, VecDeque};

/// Chained hashes of prompt blocks with the replicas they were sent to.
#[derive(Debug, Clone)]
pub(super) struct PrefixIndex {
    block_tokens: usize,
    most: usize,
    /// Replicas of a block, in order of first use: most blocks are on one.
    replicas: HashMap<u64, Vec<u32>, BuildAlreadyMixed>,
    /// Blocks from the oldest.
    order: VecDeque<u64>,
}

impl PrefixIndex {
    pub(super) fn new(block_tokens: u32, most: u32) -> Self {
        Self {
            block_tokens: (block_tokens as usize).max(1),
            most: most as usize,
            replicas: HashMap::default(),
            order: VecDeque::new(),
        }
    }

    /// Sets how many blocks it remembers.
    pub(super) fn bound(&mut self, most: u32) {
        self.most = most as usize;
        self.forget();
    }

    /// Hashes of a prompt's whole blocks; each covers everything before it.
    pub(super) fn hashes(&self, prompt: &[u32]) -> Vec<u64> {
        let mut hash = mix(0x726f_7574);
        let blocks = prompt.chunks_exact(self.block_tokens);
        blocks
            .map(|block| {
                hash = mix(block.iter().fold(hash, |hash, token| step(hash, *token)));
                hash
            })
            .collect()
    }

    /// For each of `replicas` replicas, leading blocks of the prompt that it was sent before.
    pub(super) fn held(&self, hashes: &[u64], replicas: usize) -> Vec<u32> {
        let mut held = vec![0; replicas];
        for (depth, hash) in hashes.iter().enumerate() {
            let Some(on) = self.replicas.get(hash) else { break };
            let mut any = false;
            for replica in on {
                if let Some(blocks) = held.get_mut(*replica as usize).filter(|blocks| **blocks as usize == depth) {
                    *blocks += 1;
                    any = true;
                }
            }
            if !any {
                break;
            }
        }
        held
    }

    pub(super) fn insert(&mut self, hashes: &[u64], replica: usize) {
        for hash in hashes {
            let on = self.replicas.entry(*hash).or_default();
            if on.is_empty() {
                self.order.push_back(*hash);
            }
            if !on.contains(&(replica as u32)) {
                on.push(replica as u32);
            }
        }
        self.forget();
    }

    fn forget(&mut self) {
        while self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.replicas.remove(&oldest);
        }
    }
}
