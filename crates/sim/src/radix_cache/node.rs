//! Nodes of the tree and their segments.

use crate::kv_cache::hash::BuildAlreadyMixed;
use std::{collections::HashMap, sync::Arc};

/// Index of a node. It stays the same when the node is split: the new one is above it.
pub type NodeId = u32;

/// A run of tokens that shares its memory with what it was split from.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    tokens: Arc<[u32]>,
    start: u32,
    end: u32,
}

impl Segment {
    pub(super) fn new(tokens: &[u32]) -> Self {
        Self { tokens: tokens.into(), start: 0, end: tokens.len() as u32 }
    }

    pub(super) fn len(&self) -> u32 {
        self.end - self.start
    }

    pub(super) fn tokens(&self) -> &[u32] {
        &self.tokens[self.start as usize..self.end as usize]
    }

    /// How many tokens it shares with `other` from the beginning.
    pub(super) fn common(&self, other: &[u32]) -> u32 {
        const STRIDE: usize = 64;
        let own = self.tokens();
        let most = own.len().min(other.len());
        // Equal stretches are skipped a stride at a time; most comparisons run far before they end.
        let mut at = 0;
        while at + STRIDE <= most && own[at..at + STRIDE] == other[at..at + STRIDE] {
            at += STRIDE;
        }
        let tail = own[at..most].iter().zip(&other[at..most]).take_while(|(own, other)| own == other).count();
        (at + tail) as u32
    }

    pub(super) fn split(&self, at: u32) -> (Self, Self) {
        let middle = self.start + at;
        let half = |start, end| Self { tokens: Arc::clone(&self.tokens), start, end };
        (half(self.start, middle), half(middle, self.end))
    }
}

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) parent: NodeId,
    /// Under what it hangs below its parent.
    pub(super) key: u64,
    pub(super) segment: Segment,
    pub(super) children: HashMap<u64, NodeId, BuildAlreadyMixed>,
    pub(super) locks: u32,
    /// Operation by which it was last used.
    pub(super) used: i64,
    /// Operation by which it was made.
    pub(super) made: i64,
    /// How often it was used.
    pub(super) hits: u32,
}

impl Node {
    pub(super) fn new(parent: NodeId, key: u64, segment: Segment, now: i64) -> Self {
        Self { parent, key, segment, children: HashMap::default(), locks: 0, used: now, made: now, hits: 0 }
    }

    /// The root is never evicted: it counts as locked.
    pub(super) fn root() -> Self {
        Self { locks: 1, ..Self::new(super::ROOT, 0, Segment::new(&[]), 0) }
    }
}
