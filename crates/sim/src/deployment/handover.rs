//! From the prefill pool to the decode pool.

use super::{OnFailure, Transfer, member::NEVER};
use crate::{
    clock::EventQueue,
    kv_cache::hash::mix,
    request::{Life, NewRequest, RequestId},
};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// How a request came from one pool to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HandedOver {
    /// The replica that computed the prompt.
    pub prefill_replica: u32,
    /// The request's course there.
    pub prefill: Life,
    /// When its KV was on the link first, nanoseconds.
    pub transfer_start_ns: i64,
    /// When it was there, nanoseconds.
    pub arrived_ns: i64,
    /// Tokens whose KV came across; 0 where none was asked for or the transfer failed.
    pub tokens: u32,
    /// Whether the transfer failed.
    pub failed: bool,
}

/// Where a request of the two pools is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// In a replica, of either pool.
    In(usize, RequestId),
    /// On its way from one to the other.
    Between,
}

#[derive(Debug, Clone)]
struct Pending {
    request: NewRequest,
    place: Place,
    /// Which use of its tag it is: a client may try again under the same one.
    turn: u64,
}

/// A request that reaches the decode pool.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) tag: u64,
    pub(super) replica: usize,
    pub(super) request: NewRequest,
    pub(super) handed_over: HandedOver,
    pub(super) post_ns: i64,
    pub(super) bytes: f64,
    pub(super) descriptors: f64,
}

/// A transfer under way.
#[derive(Debug, Clone, Copy)]
struct Travel {
    turn: u64,
    to: usize,
    handed_over: HandedOver,
}

/// What is between the two pools.
#[derive(Debug, Clone)]
pub(super) struct Handover {
    pub(super) transfer: Transfer,
    pending: HashMap<u64, Pending>,
    travelling: HashMap<u64, Travel>,
    arriving: EventQueue<(u64, u64)>,
    /// Until when each replica's link is taken.
    link_until_ns: Vec<i64>,
    /// Pairs that know one another.
    met: HashSet<(usize, usize)>,
    turns: u64,
    seed: u64,
}

impl Handover {
    pub(super) fn new(transfer: Transfer, replicas: usize, seed: u64) -> Self {
        Self {
            transfer,
            pending: HashMap::new(),
            travelling: HashMap::new(),
            arriving: EventQueue::default(),
            link_until_ns: vec![i64::MIN; replicas],
            met: HashSet::new(),
            turns: 0,
            seed,
        }
    }

    /// The request that a prefill replica is to compute: its prompt and one token.
    pub(super) fn first_hop(request: &NewRequest) -> NewRequest {
        NewRequest { max_tokens: Some(1), min_tokens: 0, ignore_eos: true, ..request.clone() }
    }

    /// A request has been handed to a prefill replica.
    pub(super) fn begin(&mut self, request: NewRequest, replica: usize, id: RequestId) {
        self.turns += 1;
        let pending = Pending { place: Place::In(replica, id), turn: self.turns, request };
        self.pending.insert(pending.request.tag, pending);
    }

    /// A prefill replica has computed a prompt: its KV sets off to `to`.
    pub(super) fn prefilled(&mut self, now_ns: i64, tag: u64, from: usize, to: usize, life: Life) {
        let Some(pending) = self.pending.get_mut(&tag) else { return };
        pending.place = Place::Between;
        let (turn, tokens) = (pending.turn, pending.request.prompt.len() as u32);
        let transfer = &self.transfer;
        let mut start_ns = now_ns.saturating_add(nanoseconds(transfer.latency_seconds));
        let mut end_ns = start_ns;
        let failed = transfer.asked_for && uniform(self.seed, turn) < transfer.failure_share;
        if transfer.asked_for {
            if self.met.insert((from, to)) {
                start_ns = start_ns.saturating_add(nanoseconds(transfer.handshake_seconds));
            }
            start_ns = start_ns.max(self.link_until_ns[from]);
            end_ns = start_ns.saturating_add(nanoseconds(transfer.link_seconds(tokens)));
            self.link_until_ns[from] = end_ns;
        }
        let handed_over = HandedOver {
            prefill_replica: from as u32,
            prefill: life,
            transfer_start_ns: start_ns,
            arrived_ns: end_ns,
            tokens: if failed || !transfer.asked_for { 0 } else { tokens },
            failed,
        };
        self.travelling.insert(tag, Travel { turn, to, handed_over });
        self.arriving.set(end_ns, (tag, turn));
    }

    /// When the next transfer ends.
    pub(super) fn next_ns(&self) -> i64 {
        self.arriving.next_ns().unwrap_or(NEVER)
    }

    /// The next request whose KV has arrived by `now_ns`.
    pub(super) fn arrive(&mut self, now_ns: i64) -> Option<Arrival> {
        while let Some((_, (tag, turn))) = self.arriving.take(now_ns) {
            // A request that was given up on the way arrives nowhere.
            if self.travelling.get(&tag).is_none_or(|travel| travel.turn != turn) {
                continue;
            }
            let (Some(travel), Some(pending)) = (self.travelling.remove(&tag), self.pending.get(&tag)) else {
                continue;
            };
            let mut request = pending.request.clone();
            request.features.transferred_tokens = travel.handed_over.tokens;
            let bytes = self.transfer.bytes(pending.request.prompt.len() as u32);
            let descriptors = self.transfer.descriptors(bytes);
            let post_ns = nanoseconds(descriptors * self.transfer.descriptor_seconds);
            let (replica, handed_over) = (travel.to, travel.handed_over);
            return Some(Arrival { tag, replica, request, handed_over, post_ns, bytes, descriptors });
        }
        None
    }

    /// Whether a failed transfer ends its request.
    pub(super) fn fails(&self, handed_over: &HandedOver) -> bool {
        handed_over.failed && self.transfer.on_failure == OnFailure::Fail
    }

    /// A request is in a decode replica.
    pub(super) fn placed(&mut self, tag: u64, replica: usize, id: RequestId) {
        if let Some(pending) = self.pending.get_mut(&tag) {
            pending.place = Place::In(replica, id);
        }
    }

    /// A request is over; where it was, and for which decode replica it was counted if it was between the two.
    pub(super) fn over(&mut self, tag: u64) -> Option<(Place, Option<usize>)> {
        let pending = self.pending.remove(&tag)?;
        let to = self.travelling.remove(&tag).map(|travel| travel.to);
        Some((pending.place, to))
    }

    /// Tags of the requests in a replica, in order.
    pub(super) fn in_replica(&self, replica: usize) -> Vec<u64> {
        let held = |pending: &&Pending| matches!(pending.place, Place::In(place, _) if place == replica);
        let mut tags: Vec<u64> = self.pending.values().filter(held).map(|pending| pending.request.tag).collect();
        tags.sort_unstable();
        tags
    }

    /// Whether nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.travelling.is_empty()
    }
}

/// A uniform draw from 0 to 1.
fn uniform(seed: u64, turn: u64) -> f64 {
    (mix(mix(seed ^ 0x6e69_786c) ^ turn) >> 11) as f64 / (1u64 << 53) as f64
}

fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
