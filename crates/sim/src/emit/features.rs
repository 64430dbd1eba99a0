//! Counters of parts that an engine may have switched on or not. Those that are off show no family.

use super::histogram::{Buckets, Histogram};
use crate::config::Leak;
use std::collections::VecDeque;

/// Speculative decoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speculation {
    /// Verification rounds: one a request and step that verifies a draft.
    pub drafts: u64,
    /// Tokens drafted.
    pub draft_tokens: u64,
    /// Drafted tokens accepted; the bonus token of a round is not among them.
    pub accepted: u64,
    /// Accepted tokens by their place in the draft; its length is the length of a draft.
    pub accepted_at: Vec<u64>,
}

impl Speculation {
    /// Nothing drafted yet, `tokens` a draft.
    pub fn new(tokens: u32) -> Self {
        Self { drafts: 0, draft_tokens: 0, accepted: 0, accepted_at: vec![0; tokens as usize] }
    }

    /// Counts a verification round in which the first `accepted` of `drafted` tokens were right.
    pub fn observe(&mut self, drafted: u32, accepted: u32) {
        self.drafts += 1;
        self.draft_tokens += u64::from(drafted);
        self.accepted += u64::from(accepted);
        for count in self.accepted_at.iter_mut().take(accepted as usize) {
            *count += 1;
        }
    }
}

/// Lookups in a cache beside the KV pool, in the unit of that cache (tokens, items).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lookups {
    /// Looked up.
    pub queries: u64,
    /// Found.
    pub hits: u64,
}

/// Where prompt tokens that were not computed came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CachedBySource {
    /// The GPU's own KV pool.
    pub device: u64,
    /// Host memory.
    pub host: u64,
    /// Another instance.
    pub p2p: u64,
    /// Disk.
    pub disk: u64,
    /// A connector that does not say.
    pub unspecified: u64,
}

impl CachedBySource {
    /// Tokens that came from outside the GPU's own pool.
    pub const fn external(&self) -> u64 {
        self.host + self.p2p + self.disk + self.unspecified
    }
}

/// KV transfers over NIXL, as the instance that reads counts them.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfers {
    /// Duration of a transfer.
    pub duration: Histogram,
    /// Time to post it.
    pub post: Histogram,
    /// Its bytes.
    pub bytes: Histogram,
    /// Its descriptors.
    pub descriptors: Histogram,
    /// Transfers that failed.
    pub failed: u64,
    /// Notifications that failed.
    pub failed_notifications: u64,
    /// Requests whose KV expired on the instance that held it.
    pub expired: u64,
}

impl Default for Transfers {
    fn default() -> Self {
        Self {
            duration: Histogram::new(Buckets::TRANSFER),
            post: Histogram::new(Buckets::TRANSFER_POST),
            bytes: Histogram::new(Buckets::TRANSFER_BYTES),
            descriptors: Histogram::new(Buckets::TRANSFER_DESCRIPTORS),
            failed: 0,
            failed_notifications: 0,
            expired: 0,
        }
    }
}

impl Transfers {
    /// Counts a transfer that succeeded.
    pub fn observe(&mut self, duration_ns: i64, post_ns: i64, bytes: u64, descriptors: u64) {
        self.duration.observe(duration_ns);
        self.post.observe(post_ns);
        self.bytes.observe(i64::try_from(bytes).unwrap_or(i64::MAX));
        self.descriptors.observe(i64::try_from(descriptors).unwrap_or(i64::MAX));
    }
}

/// Stays of KV blocks in the pool, where the engine samples them.
#[derive(Debug, Clone, PartialEq)]
pub struct Residency {
    /// From allocation to eviction.
    pub lifetime: Histogram,
    /// From the last use to eviction.
    pub idle_before_evict: Histogram,
    /// Between two uses.
    pub reuse_gap: Histogram,
}

impl Default for Residency {
    fn default() -> Self {
        let empty = || Histogram::new(Buckets::RESIDENCY);
        Self { lifetime: empty(), idle_before_evict: empty(), reuse_gap: empty() }
    }
}

/// KV blocks kept in host memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Offload {
    /// Bytes copied from the host to the GPU.
    pub load_bytes: u64,
    /// Time those copies took, summed, nanoseconds.
    pub load_ns: i64,
    /// Bytes copied from the GPU to the host.
    pub store_bytes: u64,
    /// Time those copies took, summed, nanoseconds.
    pub store_ns: i64,
    /// Stores for which the host had no room.
    pub allocation_failures: u64,
    /// Bytes of an operation that loads.
    pub load_size: Histogram,
    /// One look-up.
    pub lookup: Histogram,
}

impl Default for Offload {
    fn default() -> Self {
        Self {
            load_bytes: 0,
            load_ns: 0,
            store_bytes: 0,
            store_ns: 0,
            allocation_failures: 0,
            load_size: Histogram::new(Buckets::OFFLOAD_BYTES),
            lookup: Histogram::new(Buckets::OFFLOAD_LOOKUP),
        }
    }
}

impl Offload {
    /// Counts `count` operations that loaded `bytes` together.
    pub(crate) fn loaded(&mut self, count: u64, bytes: u64) {
        even(&mut self.load_size, count, i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Counts `count` look-ups that took `ns` together.
    pub(crate) fn looked_up(&mut self, count: u64, ns: i64) {
        even(&mut self.lookup, count, ns);
    }
}

/// Adds values that are alike by their number and sum.
fn even(histogram: &mut Histogram, count: u64, sum: i64) {
    let each = sum / i64::try_from(count).unwrap_or(i64::MAX).max(1);
    (0..count).for_each(|_| histogram.observe(each));
}

/// Time on a CPU by process, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// The API server: parsing, tokenising, detokenising, answering.
    pub api_ns: i64,
    /// The engine's core: scheduling, preparing a step.
    pub core_ns: i64,
}

/// The share of tokens found over about the last thousand lookups, as the engine prints it: neither of the interval nor
/// since the start. Lookups of one step come and go together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecentHits {
    steps: VecDeque<[u64; 3]>,
    sums: [u64; 3],
}

impl RecentHits {
    /// Requests over which the share is taken.
    const REQUESTS: u64 = 1000;

    /// Adds the lookups of a step: requests, tokens looked up, tokens found.
    pub fn observe(&mut self, requests: u64, queries: u64, hits: u64) {
        if requests == 0 {
            return;
        }
        let step = [requests, queries, hits];
        self.steps.push_back(step);
        self.sums = std::array::from_fn(|place| self.sums[place] + step[place]);
        while self.steps.len() > 1 && self.sums[0] > Self::REQUESTS {
            let Some(oldest) = self.steps.pop_front() else { return };
            self.sums = std::array::from_fn(|place| self.sums[place] - oldest[place]);
        }
    }

    /// The share, from 0 to 1; 0 before the first lookup, as the engine prints it.
    pub fn share(&self) -> f64 {
        let [_, queries, hits] = self.sums;
        if queries == 0 { 0.0 } else { hits as f64 / queries as f64 }
    }

    /// Whether nothing has been looked up yet.
    pub fn is_empty(&self) -> bool {
        self.sums[0] == 0
    }
}

/// Host memory that has grown, on the clocks of its leak.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Leaked {
    /// Bytes, before any plateau.
    pub bytes: f64,
    /// Finished requests, prompt tokens and generated tokens when it last grew.
    counted: [u64; 3],
    counted_ns: i64,
}

impl Leaked {
    pub(super) fn advance(&mut self, leak: &Leak, counts: [u64; 3], now_ns: i64) {
        let rates = [leak.per_request, leak.per_prompt_token, leak.per_output_token];
        for ((rate, now), before) in rates.into_iter().zip(counts).zip(self.counted) {
            self.bytes += rate * now.saturating_sub(before) as f64;
        }
        self.bytes += leak.per_second * (now_ns - self.counted_ns).max(0) as f64 * 1e-9;
        (self.counted, self.counted_ns) = (counts, now_ns);
    }
}
