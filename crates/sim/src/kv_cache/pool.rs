//! The pool of KV blocks and its free queue in eviction order.

use super::hash::BlockHash;

/// Index of a physical block. Block 0 is the null block and is never handed out.
pub type BlockId = u32;

#[derive(Debug, Clone, Copy)]
struct Block {
    /// Of its content, if `hashed`: apart, an option would take a third more room.
    hash: BlockHash,
    hashed: bool,
    refs: u32,
    prev: u32,
    next: u32,
}

impl Block {
    const NEW: Self = Self { hash: BlockHash(0), hashed: false, refs: 0, prev: 0, next: 0 };

    fn hash(&self) -> Option<BlockHash> {
        self.hashed.then_some(self.hash)
    }
}

/// Physical blocks with reference counts and a doubly linked free queue: allocation takes its head, so the head is
/// evicted first. A block that is free may still carry a hash: its content stays usable until it is taken.
#[derive(Debug, Clone)]
pub struct BlockPool {
    /// One more than the pool's blocks: the last is the sentinel that closes the free queue into a ring.
    blocks: Vec<Block>,
    free: u32,
    /// Whether freed blocks without a hash are taken first.
    pub(super) unhashed_first: bool,
}

impl BlockPool {
    /// A pool of `num_blocks` blocks, the null block included, all others free in ascending order.
    pub fn new(num_blocks: u32) -> Self {
        let sentinel = num_blocks;
        let mut blocks: Vec<Block> =
            (0..=num_blocks).map(|id| Block { prev: id.wrapping_sub(1), next: id + 1, ..Block::NEW }).collect();
        let first = if num_blocks > 1 { 1 } else { sentinel };
        let last = if num_blocks > 1 { num_blocks - 1 } else { sentinel };
        blocks[sentinel as usize].next = first;
        blocks[sentinel as usize].prev = last;
        blocks[first as usize].prev = sentinel;
        blocks[last as usize].next = sentinel;
        blocks[0].refs = 1;
        Self { blocks, free: num_blocks.saturating_sub(1), unhashed_first: true }
    }

    fn sentinel(&self) -> u32 {
        self.blocks.len() as u32 - 1
    }

    /// Blocks that can be handed out in all: the null block is not among them.
    pub fn usable(&self) -> u32 {
        self.sentinel().saturating_sub(1)
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
        self.blocks[id as usize].hash()
    }

    pub(super) fn set_hash(&mut self, id: BlockId, hash: BlockHash) {
        let block = &mut self.blocks[id as usize];
        (block.hash, block.hashed) = (hash, true);
    }

    /// Takes the block at the queue's head with one reference. The second value is the hash that it carried and that
    /// is no longer to be found: eviction happens here and nowhere else.
    pub(super) fn take(&mut self) -> Option<(BlockId, Option<BlockHash>)> {
        let head = self.blocks[self.sentinel() as usize].next;
        if head == self.sentinel() {
            return None;
        }
        self.unlink(head);
        let block = &mut self.blocks[head as usize];
        block.refs = 1;
        let hash = block.hash();
        block.hashed = false;
        Some((head, hash))
    }

    /// Adds a reference; a free block leaves the queue from wherever it stands.
    pub(super) fn touch(&mut self, id: BlockId) {
        if self.blocks[id as usize].refs == 0 {
            self.unlink(id);
        }
        self.blocks[id as usize].refs += 1;
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
        let sentinel = self.sentinel();
        if self.blocks[id as usize].hashed || !self.unhashed_first {
            let tail = self.blocks[sentinel as usize].prev;
            self.link(tail, id, sentinel);
        } else {
            let head = self.blocks[sentinel as usize].next;
            self.link(sentinel, id, head);
        }
    }

    fn link(&mut self, prev: u32, id: u32, next: u32) {
        self.blocks[prev as usize].next = id;
        self.blocks[next as usize].prev = id;
        self.blocks[id as usize].prev = prev;
        self.blocks[id as usize].next = next;
        self.free += 1;
    }

    fn unlink(&mut self, id: u32) {
        let Block { prev, next, .. } = self.blocks[id as usize];
        self.blocks[prev as usize].next = next;
        self.blocks[next as usize].prev = prev;
        self.free -= 1;
    }

    /// The free queue from its head, for inspection.
    pub fn free_queue(&self) -> impl Iterator<Item = BlockId> + '_ {
        let sentinel = self.sentinel();
        let first = Some(self.blocks[sentinel as usize].next).filter(|id| *id != sentinel);
        std::iter::successors(first, move |id| Some(self.blocks[*id as usize].next).filter(|id| *id != sentinel))
    }
}
