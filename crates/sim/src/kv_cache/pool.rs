//! The pool of KV blocks and its free queue in eviction order.

use super::hash::BlockHash;
use std::collections::VecDeque;

/// Index of a physical block. Block 0 is the null block and is never handed out.
pub type BlockId = u32;

#[derive(Debug, Clone, Copy)]
struct Block {
    /// Of its content, if `hashed`: apart, an option would take half as much room again.
    hash: BlockHash,
    hashed: bool,
    refs: u32,
    /// How often it left the free queue from within: places there that tell another number are void.
    left: u32,
}

/// Physical blocks with reference counts and a free queue: allocation takes its head, so the head is evicted first. A
/// block that is free may still carry a hash: its content stays usable until it is taken.
///
/// Where the engine links its free blocks into a list, here their numbers stand in line, and one that is taken from
/// within leaves its place behind as void. The order is the same, and the next blocks are known before they are reached
/// for.
#[derive(Debug, Clone)]
pub struct BlockPool {
    blocks: Vec<Block>,
    /// Free blocks, each with its `left`; and void places.
    queue: VecDeque<(BlockId, u32)>,
    free: u32,
    /// Whether freed blocks without a hash are taken first.
    pub(super) unhashed_first: bool,
}

impl BlockPool {
    /// A pool of `num_blocks` blocks, the null block included, all others free in ascending order.
    pub fn new(num_blocks: u32) -> Self {
        let new = Block { hash: BlockHash(0), hashed: false, refs: 0, left: 0 };
        let mut blocks = vec![new; num_blocks as usize];
        if let Some(null) = blocks.first_mut() {
            null.refs = 1;
        }
        let queue = (1..num_blocks).map(|id| (id, 0)).collect();
        Self { blocks, queue, free: num_blocks.saturating_sub(1), unhashed_first: true }
    }

    /// Blocks that can be handed out in all: the null block is not among them.
    pub fn usable(&self) -> u32 {
        (self.blocks.len() as u32).saturating_sub(1)
    }

    /// Blocks in the free queue, cached ones included.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Share of usable blocks that are referenced, 0 to 1. Cached but unreferenced blocks count as free.
    pub fn usage(&self) -> f64 {
        1.0 - f64::from(self.free) / f64::from(self.usable().max(1))
    }

    /// References to a block.
    pub fn refs(&self, id: BlockId) -> u32 {
        self.blocks[id as usize].refs
    }

    /// The hash under which a block's content is known, if any.
    pub fn hash(&self, id: BlockId) -> Option<BlockHash> {
        let block = &self.blocks[id as usize];
        block.hashed.then_some(block.hash)
    }

    pub(super) fn set_hash(&mut self, id: BlockId, hash: BlockHash) {
        let block = &mut self.blocks[id as usize];
        (block.hash, block.hashed) = (hash, true);
    }

    /// Takes the block at the queue's head with one reference. The second value is the hash that it carried and that
    /// is no longer to be found: eviction happens here and nowhere else.
    pub(super) fn take(&mut self) -> Option<(BlockId, Option<BlockHash>)> {
        loop {
            let place = self.queue.pop_front()?;
            if self.is_void(&place) {
                continue;
            }
            let block = &mut self.blocks[place.0 as usize];
            block.refs = 1;
            let hash = std::mem::take(&mut block.hashed).then_some(block.hash);
            self.free -= 1;
            return Some((place.0, hash));
        }
    }

    fn is_void(&self, (id, left): &(BlockId, u32)) -> bool {
        self.blocks[*id as usize].left != *left
    }

    /// Adds a reference; a free block leaves the queue from wherever it stands.
    pub(super) fn touch(&mut self, id: BlockId) {
        let block = &mut self.blocks[id as usize];
        if block.refs == 0 {
            block.left = block.left.wrapping_add(1);
            self.free -= 1;
        }
        block.refs += 1;
    }

    /// No block is known by its content any more.
    pub(super) fn clear_hashes(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.hashed = false);
    }

    /// Drops a reference. Without any left a block with a hash goes to the queue's tail, one without to its front (to
    /// the tail too, in older versions).
    pub(super) fn release(&mut self, id: BlockId) {
        let block = &mut self.blocks[id as usize];
        block.refs = block.refs.saturating_sub(1);
        if block.refs > 0 {
            return;
        }
        let place = (id, block.left);
        if block.hashed || !self.unhashed_first {
            self.queue.push_back(place);
        } else {
            self.queue.push_front(place);
        }
        self.free += 1;
        if self.queue.len() > 2 * self.blocks.len() {
            let blocks = &self.blocks;
            self.queue.retain(|(id, left)| blocks[*id as usize].left == *left);
        }
    }

    /// The free queue from its head, for inspection.
    pub fn free_queue(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.queue.iter().filter(|place| !self.is_void(place)).map(|(id, _)| *id)
    }
}
