//! Radix tree of cached prefixes: which token sequences have their KV in the pool, and what may be evicted.
//!
//! A node holds a segment of tokens; the path from the root spells the sequence. Whole pages only: a node's children
//! differ in their first page. The tree counts tokens and does not name KV slots: a pool whose slots are all alike
//! needs no more. Requests lock the path to the last node that they use; what is locked is protected, all else
//! evictable, but only leaves are evicted, and whole.

mod evict;
mod node;

pub use evict::Eviction;
pub use node::NodeId;

use crate::kv_cache::hash::{mix, step};
use node::{Node, Segment};
use std::collections::BTreeSet;

/// The empty prefix.
pub const ROOT: NodeId = 0;

/// A cached prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// The node at which it ends.
    pub node: NodeId,
    /// Its length, tokens.
    pub tokens: u32,
}

/// What an insertion did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inserted {
    /// The sequence as the tree now holds it.
    pub prefix: Prefix,
    /// Tokens of it that were there before.
    pub known: u32,
}

/// The tree.
#[derive(Debug, Clone)]
pub struct RadixCache {
    nodes: Vec<Node>,
    unused: Vec<NodeId>,
    page: u32,
    eviction: Eviction,
    /// Unlocked leaves, the first to go first.
    leaves: BTreeSet<(i64, i64, NodeId)>,
    evictable: u32,
    protected: u32,
    /// Counts operations: the time by which nodes are compared.
    clock: i64,
}

impl RadixCache {
    /// An empty tree over pages of `page` tokens.
    pub fn new(page: u32, eviction: Eviction) -> Self {
        Self {
            nodes: vec![Node::root()],
            unused: Vec::new(),
            page: page.max(1),
            eviction,
            leaves: BTreeSet::new(),
            evictable: 0,
            protected: 0,
            clock: 0,
        }
    }

    /// Tokens that no request uses.
    pub fn evictable(&self) -> u32 {
        self.evictable
    }

    /// Tokens on the path of a lock.
    pub fn protected(&self) -> u32 {
        self.protected
    }

    /// Drops everything; no lock may be held.
    pub fn clear(&mut self) {
        *self = Self::new(self.page, self.eviction);
    }

    /// The longest cached prefix of `tokens` within a namespace, in whole pages. Where it ends within a segment the
    /// node is split there. The nodes on the way count as used now, the rest of a split segment too.
    pub fn find(&mut self, namespace: u64, tokens: &[u32]) -> Prefix {
        self.clock += 1;
        let mut prefix = Prefix { node: ROOT, tokens: 0 };
        loop {
            let rest = &tokens[prefix.tokens as usize..];
            let Some((child, common)) = self.follow(prefix.node, namespace, rest) else { return prefix };
            self.touch(child);
            prefix.tokens += common;
            prefix.node =
                if common < self.nodes[child as usize].segment.len() { self.split(child, common) } else { child };
            if prefix.node != child {
                return prefix;
            }
        }
    }

    /// Makes `tokens` a cached sequence, cut down to whole pages. What is new is evictable until it is locked.
    pub fn insert(&mut self, namespace: u64, tokens: &[u32]) -> Inserted {
        let whole = tokens.len() as u32 / self.page * self.page;
        let tokens = &tokens[..whole as usize];
        let found = self.find(namespace, tokens);
        let rest = &tokens[found.tokens as usize..];
        let Some(key) = self.key(found.node, namespace, rest) else {
            return Inserted { prefix: found, known: found.tokens };
        };
        if self.nodes[found.node as usize].children.contains_key(&key) {
            // Two first pages under one key: the one that came first stays, the other is not cached.
            return Inserted { prefix: found, known: found.tokens };
        }
        let node = self.add(Node::new(found.node, key, Segment::new(rest), self.clock));
        self.drop_leaf(found.node);
        self.nodes[found.node as usize].children.insert(key, node);
        self.evictable += rest.len() as u32;
        self.offer_leaf(node);
        Inserted { prefix: Prefix { node, tokens: whole }, known: found.tokens }
    }

    /// Protects the path to `node` until it is unlocked as often.
    pub fn lock(&mut self, node: NodeId) {
        let mut at = node;
        while at != ROOT {
            if self.nodes[at as usize].locks == 0 {
                let len = self.nodes[at as usize].segment.len();
                self.drop_leaf(at);
                self.evictable -= len;
                self.protected += len;
            }
            self.nodes[at as usize].locks += 1;
            at = self.nodes[at as usize].parent;
        }
    }

    /// Takes back one [`Self::lock`].
    pub fn unlock(&mut self, node: NodeId) {
        let mut at = node;
        while at != ROOT {
            let held = &mut self.nodes[at as usize];
            held.locks = held.locks.saturating_sub(1);
            let (free, len, parent) = (held.locks == 0, held.segment.len(), held.parent);
            if free {
                self.evictable += len;
                self.protected -= len;
                self.offer_leaf(at);
            }
            at = parent;
        }
    }

    /// Ancestors of a node from its parent to the root.
    pub fn ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let above = move |node: NodeId| (node != ROOT).then(|| self.nodes[node as usize].parent);
        std::iter::successors(above(node), move |node| above(*node))
    }

    /// The child of `node` that begins as `rest` does, with the length of what they share, in whole pages.
    fn follow(&self, node: NodeId, namespace: u64, rest: &[u32]) -> Option<(NodeId, u32)> {
        let key = self.key(node, namespace, rest)?;
        let child = *self.nodes[node as usize].children.get(&key)?;
        let common = self.nodes[child as usize].segment.common(rest) / self.page * self.page;
        (common > 0).then_some((child, common))
    }

    /// Under what `rest` hangs below `node`: its first page, and at the root its namespace.
    fn key(&self, node: NodeId, namespace: u64, rest: &[u32]) -> Option<u64> {
        let page = rest.get(..self.page as usize)?;
        let start = if node == ROOT { mix(namespace) } else { 0 };
        Some(mix(page.iter().fold(start, |hash, token| step(hash, *token))))
    }

    /// Puts the first `at` tokens of a node into a node of their own above it. Locks hold both halves.
    fn split(&mut self, node: NodeId, at: u32) -> NodeId {
        let lower = &mut self.nodes[node as usize];
        let (parent, key, locks, hits) = (lower.parent, lower.key, lower.locks, lower.hits);
        let (head, tail) = lower.segment.split(at);
        let below = tail.tokens().get(..self.page as usize).unwrap_or(&[]);
        let tail_key = mix(below.iter().fold(0, |hash, token| step(hash, *token)));
        let mut upper = Node::new(parent, key, head, self.clock);
        (upper.locks, upper.hits) = (locks, hits);
        upper.children.insert(tail_key, node);
        let lower = &mut self.nodes[node as usize];
        (lower.segment, lower.key) = (tail, tail_key);
        let upper = self.add(upper);
        self.nodes[node as usize].parent = upper;
        self.nodes[parent as usize].children.insert(key, upper);
        upper
    }

    fn add(&mut self, node: Node) -> NodeId {
        match self.unused.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                id
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as NodeId - 1
            }
        }
    }
}
