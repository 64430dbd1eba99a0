//! In which order waiting requests are tried.

use super::Sglang;
use crate::{
    config::SchedulePolicy,
    core::Bench,
    radix_cache::{Eviction, NodeId, ROOT, RadixCache},
    request::RequestState,
};
use rand::seq::SliceRandom;
use std::{cmp::Reverse, collections::HashMap};

/// What ordering learned of a waiting request.
#[derive(Debug, Clone, Copy)]
struct Rank {
    slot: u32,
    /// Its cached prefix, tokens.
    cached: u32,
    /// Where that ends.
    node: NodeId,
    /// Whether it had better wait until a request before it has put their common prefix into the cache.
    deferred: bool,
}

impl Sglang {
    /// Puts the waiting queue in order. With `fcfs`, and where the queue is too long to be looked through, it stays as
    /// it is: as earlier orders have left it.
    pub(super) fn order(&mut self, bench: &mut Bench<'_>) {
        let rules = &bench.config.sglang;
        let too_long = self.waiting.len() > rules.cache_aware_waiting_max as usize;
        match rules.active_policy() {
            SchedulePolicy::Fcfs => self.touch_head(bench),
            SchedulePolicy::Lpm | SchedulePolicy::Hrrn if too_long => {}
            SchedulePolicy::Lpm => {
                self.sort(bench, |rank, _, _| (rank.deferred, if rank.deferred { 0 } else { -i64::from(rank.cached) }));
            }
            SchedulePolicy::Hrrn => {
                let prefilled = self.prefilled_tokens;
                self.sort(bench, |rank, request, entered| {
                    let uncached = request.prompt_len().saturating_sub(rank.cached);
                    let ratio = (prefilled - entered) as f64 / f64::from(uncached);
                    (rank.deferred, OrderedRatio(if uncached == 0 { f64::INFINITY } else { ratio }))
                });
            }
            SchedulePolicy::ShortestPrefillFirst => {
                self.sort(bench, |rank, request, _| (rank.deferred, uncached(rank, request)));
            }
            SchedulePolicy::DfsWeight => {
                let ranks = self.rank(bench);
                let order = by_subtree(self.pool.tree(), &ranks);
                self.waiting = order.into_iter().map(|place| ranks[place].slot).collect();
            }
            SchedulePolicy::Lof => {
                let slots = &bench.slots;
                self.waiting.make_contiguous().sort_by_key(|slot| Reverse(slots[*slot].max_tokens));
            }
            SchedulePolicy::Random => self.waiting.make_contiguous().shuffle(&mut self.random),
        }
    }

    /// Marks the prefixes of the queue's head as used now and then, so that they are still there when their turn comes.
    fn touch_head(&mut self, bench: &Bench<'_>) {
        let rules = &bench.config.sglang;
        let interval = rules.fcfs_touch_interval;
        if interval == 0 || rules.disable_radix_cache {
            return;
        }
        self.attempts = self.attempts.wrapping_add(1);
        if !self.attempts.is_multiple_of(interval) {
            return;
        }
        for slot in self.waiting.iter().take(rules.fcfs_touch_depth as usize) {
            let request = &bench.slots[*slot];
            self.pool.find(request, bench.language, request.num_tokens());
        }
    }

    /// A stable sort by a key of rank, request and tokens prefilled when the request came.
    fn sort<K: Ord>(&mut self, bench: &Bench<'_>, key: impl Fn(&Rank, &RequestState, u64) -> K) {
        let mut ranks: Vec<(K, u32)> = self
            .rank(bench)
            .into_iter()
            .map(|rank| {
                let entered = self.entered.get(rank.slot as usize).copied().unwrap_or(0);
                (key(&rank, &bench.slots[rank.slot], entered), rank.slot)
            })
            .collect();
        ranks.sort_by(|one, other| one.0.cmp(&other.0));
        self.waiting = ranks.into_iter().map(|(_, slot)| slot).collect();
    }

    /// Looks every waiting request up in the cache, and those that have little there in a tree of the queue itself.
    fn rank(&mut self, bench: &Bench<'_>) -> Vec<Rank> {
        let rules = &bench.config.sglang;
        let mut queue = RadixCache::new(1, Eviction::Lru);
        let mut ranks = Vec::with_capacity(self.waiting.len());
        for slot in self.waiting.iter().copied() {
            let request = &bench.slots[slot];
            let found = self.pool.find(request, bench.language, request.num_tokens());
            let mut deferred = false;
            if rules.in_batch_check_threshold.is_some_and(|threshold| found.tokens <= threshold) {
                let salt = request.features.cache_salt;
                let tokens = self.pool.sequence(request, bench.language);
                deferred = queue.find(salt, tokens).tokens >= rules.in_batch_deprioritize_threshold;
                if !deferred {
                    queue.insert(salt, tokens);
                }
            }
            let cached = found.tokens.min(request.num_tokens().saturating_sub(1));
            ranks.push(Rank { slot, cached, node: found.node, deferred });
        }
        ranks
    }
}

/// Tokens that a request has to compute, at least one.
fn uncached(rank: &Rank, request: &RequestState) -> u32 {
    request.num_tokens().saturating_sub(rank.cached).max(1)
}

/// Greatest ratio first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OrderedRatio(f64);

impl Eq for OrderedRatio {}

impl PartialOrd for OrderedRatio {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedRatio {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0)
    }
}

/// Places of `ranks` by a walk through the tree: of siblings the one with most waiting requests below it first, and
/// below a node before the node itself. Of equal siblings the one that was met first.
fn by_subtree(tree: &RadixCache, ranks: &[Rank]) -> Vec<usize> {
    let mut weight: HashMap<NodeId, usize> = HashMap::new();
    let mut children: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    let mut own: HashMap<NodeId, Vec<usize>> = HashMap::new();
    for (place, rank) in ranks.iter().enumerate() {
        own.entry(rank.node).or_default().push(place);
        let mut node = rank.node;
        for above in tree.ancestors(rank.node) {
            if !weight.contains_key(&node) {
                children.entry(above).or_default().push(node);
            }
            *weight.entry(node).or_default() += 1;
            node = above;
        }
    }
    let mut order = Vec::with_capacity(ranks.len());
    // Nodes to enter, and nodes whose own requests are due; the next one last.
    let mut stack = vec![(ROOT, true)];
    while let Some((node, enter)) = stack.pop() {
        if !enter {
            order.extend(own.remove(&node).unwrap_or_default());
            continue;
        }
        stack.push((node, false));
        let mut below = children.remove(&node).unwrap_or_default();
        below.sort_by_key(|child| Reverse(weight.get(child).copied().unwrap_or(0)));
        stack.extend(below.into_iter().rev().map(|child| (child, true)));
    }
    order
}
