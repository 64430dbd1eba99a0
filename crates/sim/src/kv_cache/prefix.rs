//! Which blocks hold which content.

use super::{
    hash::{BlockHash, BuildAlreadyMixed},
    pool::BlockId,
};
use std::collections::{HashMap, hash_map::Entry};

/// Blocks by the hash of their content. Two requests that compute the same block at the same time leave two blocks
/// under one hash: both stay, the first is the one that is found.
///
/// Every block of every prompt passes through it twice, so that its entries are kept small: most hashes have one block.
#[derive(Debug, Clone, Default)]
pub struct PrefixIndex {
    blocks: HashMap<BlockHash, Found, BuildAlreadyMixed>,
    /// All blocks of the hashes that have more than one.
    shared: HashMap<BlockHash, Vec<BlockId>, BuildAlreadyMixed>,
}

#[derive(Debug, Clone, Copy)]
struct Found {
    block: BlockId,
    /// Whether there are others.
    shared: bool,
}

impl PrefixIndex {
    /// An index with room for `blocks` hashes.
    pub(super) fn with_capacity(blocks: u32) -> Self {
        let blocks = HashMap::with_capacity_and_hasher(blocks as usize, BuildAlreadyMixed::default());
        Self { blocks, shared: HashMap::default() }
    }

    /// The block found under a hash.
    pub fn get(&self, hash: BlockHash) -> Option<BlockId> {
        self.blocks.get(&hash).map(|found| found.block)
    }

    /// Number of different hashes.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether nothing is cached.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Every hash with its blocks, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = (BlockHash, &[BlockId])> {
        self.blocks.iter().map(|(hash, found)| {
            let all = self.shared.get(hash).map(Vec::as_slice);
            (*hash, all.unwrap_or(std::slice::from_ref(&found.block)))
        })
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.shared.clear();
    }

    pub(super) fn insert(&mut self, hash: BlockHash, block: BlockId) {
        let found = self.blocks.entry(hash).or_insert(Found { block, shared: false });
        if found.block != block {
            found.shared = true;
            self.shared.entry(hash).or_insert_with(|| vec![found.block]).push(block);
        }
    }

    pub(super) fn remove(&mut self, hash: BlockHash, block: BlockId) {
        let Entry::Occupied(mut entry) = self.blocks.entry(hash) else { return };
        if !entry.get().shared {
            if entry.get().block == block {
                entry.remove();
            }
            return;
        }
        let found = entry.get_mut();
        let Some(all) = self.shared.get_mut(&hash) else { return };
        all.retain(|held| *held != block);
        if let [first, rest @ ..] = all.as_slice() {
            *found = Found { block: *first, shared: !rest.is_empty() };
        }
        if !found.shared {
            self.shared.remove(&hash);
        }
    }
}
