//! Which leaf is evicted first.

use super::{
    ROOT, RadixCache,
    node::{Node, NodeId, Segment},
};
use serde::{Deserialize, Serialize};

/// In which order leaves are evicted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Eviction {
    /// The one used longest ago.
    #[default]
    Lru,
    /// The one used least often; of equals the one used longest ago.
    Lfu,
    /// The oldest.
    Fifo,
    /// The one used last.
    Mru,
    /// The youngest.
    Filo,
}

impl Eviction {
    fn rank(self, node: &Node) -> (i64, i64) {
        match self {
            Self::Lru => (node.used, 0),
            Self::Lfu => (i64::from(node.hits), node.used),
            Self::Fifo => (node.made, 0),
            Self::Mru => (-node.used, 0),
            Self::Filo => (-node.made, 0),
        }
    }
}

impl RadixCache {
    /// Evicts whole leaves until at least `tokens` are gone or nothing unlocked is left; returns how many went. A node
    /// whose last child goes is a leaf from then on.
    pub fn evict(&mut self, tokens: u32) -> u32 {
        let mut gone = 0;
        while gone < tokens {
            let Some((.., leaf)) = self.leaves.pop_first() else { break };
            let node = &mut self.nodes[leaf as usize];
            let (parent, key, len) = (node.parent, node.key, node.segment.len());
            node.segment = Segment::new(&[]);
            self.nodes[parent as usize].children.remove(&key);
            self.unused.push(leaf);
            self.evictable -= len;
            gone += len;
            self.offer_leaf(parent);
        }
        gone
    }

    /// Counts a use of a node, now.
    pub(super) fn touch(&mut self, node: NodeId) {
        let leaf = self.drop_leaf(node);
        let held = &mut self.nodes[node as usize];
        held.used = self.clock;
        held.hits = held.hits.saturating_add(1);
        if leaf {
            self.offer_leaf(node);
        }
    }

    /// Enters a node among those to be evicted, if it may be.
    pub(super) fn offer_leaf(&mut self, id: NodeId) {
        let node = &self.nodes[id as usize];
        if id != ROOT && node.locks == 0 && node.children.is_empty() {
            let (first, second) = self.eviction.rank(node);
            self.leaves.insert((first, second, id));
        }
    }

    /// Takes a node off those to be evicted; returns whether it was among them.
    pub(super) fn drop_leaf(&mut self, id: NodeId) -> bool {
        let node = &self.nodes[id as usize];
        if node.locks > 0 || !node.children.is_empty() {
            return false;
        }
        let (first, second) = self.eviction.rank(node);
        self.leaves.remove(&(first, second, id))
    }

    /// Segments of the tree with whether each is locked, leaves first to be evicted first, for inspection: lengths in
    /// tokens.
    pub fn segments(&self) -> impl Iterator<Item = (NodeId, u32, bool)> + '_ {
        let live = |id: &NodeId| *id != ROOT && self.nodes[*id as usize].segment.len() > 0;
        (0..self.nodes.len() as NodeId).filter(live).map(|id| {
            let node = &self.nodes[id as usize];
            (id, node.segment.len(), node.locks > 0)
        })
    }
}
