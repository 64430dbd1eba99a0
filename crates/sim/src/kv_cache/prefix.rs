//! Which blocks hold which content.

use super::{
    hash::{BlockHash, BuildAlreadyMixed},
    pool::BlockId,
};
use std::collections::HashMap;

/// Blocks by the hash of their content. Two requests that compute the same block at the same time leave two blocks
/// under one hash: both stay, the first is the one that is found.
#[derive(Debug, Clone, Default)]
pub struct PrefixIndex {
    blocks: HashMap<BlockHash, Holders, BuildAlreadyMixed>,
}

#[derive(Debug, Clone)]
enum Holders {
    One(BlockId),
    Many(Vec<BlockId>),
}

impl PrefixIndex {
    /// The block found under a hash.
    pub fn get(&self, hash: BlockHash) -> Option<BlockId> {
        match self.blocks.get(&hash)? {
            Holders::One(block) => Some(*block),
            Holders::Many(blocks) => blocks.first().copied(),
        }
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
        self.blocks.iter().map(|(hash, holders)| {
            let blocks = match holders {
                Holders::One(block) => std::slice::from_ref(block),
                Holders::Many(blocks) => blocks,
            };
            (*hash, blocks)
        })
    }

    pub(super) fn insert(&mut self, hash: BlockHash, block: BlockId) {
        self.blocks
            .entry(hash)
            .and_modify(|holders| match holders {
                Holders::One(first) => *holders = Holders::Many(vec![*first, block]),
                Holders::Many(blocks) => blocks.push(block),
            })
            .or_insert(Holders::One(block));
    }

    pub(super) fn remove(&mut self, hash: BlockHash, block: BlockId) {
        let empty = match self.blocks.get_mut(&hash) {
            None => return,
            Some(Holders::One(only)) => *only == block,
            Some(Holders::Many(blocks)) => {
                blocks.retain(|held| *held != block);
                blocks.is_empty()
            }
        };
        if empty {
            self.blocks.remove(&hash);
        }
    }
}
