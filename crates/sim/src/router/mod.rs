//! Which replica a request goes to.

mod prefix;

use crate::{deployment::DeploymentError, kv_cache::hash::mix};
use prefix::PrefixIndex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// By what a router chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoutingPolicy {
    /// In turn.
    #[default]
    RoundRobin,
    /// The replica with the least load.
    LeastLoaded,
    /// The replica where prompt tokens to compute and load together cost least.
    PrefixAware,
    /// A session stays where its first request went; a request without a session goes in turn.
    Session,
}

impl RoutingPolicy {
    /// All policies.
    pub const ALL: [Self; 4] = [Self::RoundRobin, Self::LeastLoaded, Self::PrefixAware, Self::Session];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round_robin",
            Self::LeastLoaded => "least_loaded",
            Self::PrefixAware => "prefix_aware",
            Self::Session => "session",
        }
    }
}

/// How a router chooses, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// By what it chooses.
    pub policy: RoutingPolicy,
    /// Time between a request's arrival at the router and at its replica, seconds.
    pub overhead_seconds: f64,
    /// Interval at which it reads the replicas' load from their metrics, seconds: between two readings it knows the
    /// last one only. 0: it counts its own requests in flight, which is never stale.
    pub load_interval_seconds: f64,
    /// Prompt tokens that one unit of load counts for (prefix-aware): 0 follows the cache alone.
    pub load_tokens: f64,
    /// Difference between the highest and the lowest load beyond which a prefix-aware router forgets about the cache
    /// and takes the least loaded replica. `None`: never.
    pub imbalance: Option<f64>,
    /// Tokens of a block of the router's own index of prefixes.
    pub index_block_tokens: u32,
    /// Most blocks that the index remembers; the oldest are forgotten first.
    pub index_blocks: u32,
    /// Share of the requests that go to the first replica whatever the policy says, 0 to 1.
    pub skew: f64,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            policy: RoutingPolicy::RoundRobin,
            overhead_seconds: 0.0,
            load_interval_seconds: 0.0,
            load_tokens: 256.0,
            imbalance: None,
            index_block_tokens: 64,
            index_blocks: 1 << 20,
            skew: 0.0,
        }
    }
}

impl Routing {
    pub(crate) fn validate(&self) -> Result<(), DeploymentError> {
        let ranges = [
            ("routing.overhead_seconds", self.overhead_seconds, 0.0, 60.0, "0 to 60 s"),
            ("routing.load_interval_seconds", self.load_interval_seconds, 0.0, 3600.0, "0 to 3600 s"),
            ("routing.load_tokens", self.load_tokens, 0.0, 1e6, "0 to 1000000"),
            ("routing.imbalance", self.imbalance.unwrap_or(0.0), 0.0, 1e6, "0 to 1000000"),
            ("routing.skew", self.skew, 0.0, 1.0, "0 to 1"),
            ("routing.index_block_tokens", f64::from(self.index_block_tokens), 1.0, 65_536.0, "1 to 65536"),
            ("routing.index_blocks", f64::from(self.index_blocks), 1.0, 268_435_456.0, "1 to 268435456"),
        ];
        for (name, value, least, most, expected) in ranges {
            if !(least..=most).contains(&value) {
                return Err(DeploymentError::OutOfRange { name, value, expected });
            }
        }
        Ok(())
    }
}

/// A router with what it knows.
#[derive(Debug, Clone)]
pub(crate) struct Router {
    routing: Routing,
    /// Requests that it has chosen for.
    chosen: u64,
    /// Who comes next in turn.
    turn: usize,
    /// Requests that it has sent to each replica and not yet seen the end of.
    in_flight: Vec<u32>,
    /// Load of each replica as last read from its metrics.
    read: Vec<f64>,
    next_reading_ns: i64,
    index: PrefixIndex,
    sessions: HashMap<u32, usize>,
}

/// A request as a router sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) prompt: &'a [u32],
    pub(crate) session: Option<u32>,
}

impl Router {
    pub(crate) fn new(routing: Routing, replicas: usize) -> Self {
        Self {
            index: PrefixIndex::new(routing.index_block_tokens, routing.index_blocks),
            routing,
            chosen: 0,
            turn: 0,
            in_flight: vec![0; replicas],
            read: vec![0.0; replicas],
            next_reading_ns: 0,
            sessions: HashMap::new(),
        }
    }

    /// Goes on under other rules, with what it knows. Another size of block empties its index.
    pub(crate) fn reconfigure(&mut self, routing: Routing) {
        if routing.index_block_tokens != self.routing.index_block_tokens {
            self.index = PrefixIndex::new(routing.index_block_tokens, routing.index_blocks);
        }
        self.index.bound(routing.index_blocks);
        self.routing = routing;
        self.next_reading_ns = 0;
    }

    /// Reads the replicas' load if that is due: of the state that has held since the last event.
    pub(crate) fn observe(&mut self, now_ns: i64, load: impl Iterator<Item = f64>) {
        let interval_ns = (self.routing.load_interval_seconds * 1e9) as i64;
        if interval_ns <= 0 || now_ns < self.next_reading_ns {
            return;
        }
        self.next_reading_ns = now_ns - now_ns.rem_euclid(interval_ns) + interval_ns;
        self.read.clear();
        self.read.extend(load);
    }

    /// Whether [`Self::observe`] would read anything at `now_ns`.
    pub(crate) fn reads(&self, now_ns: i64) -> bool {
        self.routing.load_interval_seconds > 0.0 && now_ns >= self.next_reading_ns
    }

    /// Chooses one of `candidates` (not empty) for a request and counts it in.
    pub(crate) fn choose(&mut self, candidates: &[usize], asked: Asked<'_>) -> usize {
        self.chosen += 1;
        let replica = if let [only] = candidates {
            *only
        } else if uniform(self.chosen) < self.routing.skew {
            candidates[0]
        } else {
            match self.routing.policy {
                RoutingPolicy::RoundRobin => self.in_turn(candidates),
                RoutingPolicy::LeastLoaded => self.least(candidates, |router, replica| router.load(replica)),
                RoutingPolicy::PrefixAware => self.by_prefix(candidates, asked.prompt),
                RoutingPolicy::Session => self.by_session(candidates, asked.session),
            }
        };
        self.sent_to(replica);
        replica
    }

    /// Chooses the least loaded of `candidates` (not empty), whatever the policy, and counts the request in: for an
    /// answer whose KV has to travel anyway.
    pub(crate) fn choose_least(&mut self, candidates: &[usize]) -> usize {
        let replica = self.least(candidates, |router, replica| router.load(replica));
        self.sent_to(replica);
        replica
    }

    fn sent_to(&mut self, replica: usize) {
        self.in_flight[replica] += 1;
    }

    /// `ended` requests of a replica are done or gone.
    pub(crate) fn ended(&mut self, replica: usize, ended: u32) {
        self.in_flight[replica] = self.in_flight[replica].saturating_sub(ended);
    }

    /// A replica has lost everything it held.
    pub(crate) fn lost(&mut self, replica: usize) {
        self.in_flight[replica] = 0;
    }

    fn load(&self, replica: usize) -> f64 {
        if self.routing.load_interval_seconds > 0.0 {
            self.read.get(replica).copied().unwrap_or(0.0)
        } else {
            f64::from(self.in_flight[replica])
        }
    }

    fn in_turn(&mut self, candidates: &[usize]) -> usize {
        let place = self.turn % candidates.len();
        self.turn = place + 1;
        candidates[place]
    }

    /// The candidate of least cost; among equals the next in turn.
    fn least(&mut self, candidates: &[usize], cost: impl Fn(&Self, usize) -> f64) -> usize {
        let offset = self.turn % candidates.len();
        let (mut best, mut least) = (offset, f64::INFINITY);
        for step in 0..candidates.len() {
            let place = (offset + step) % candidates.len();
            let cost = cost(self, candidates[place]);
            if cost < least {
                (best, least) = (place, cost);
            }
        }
        self.turn = best + 1;
        candidates[best]
    }

    fn by_prefix(&mut self, candidates: &[usize], prompt: &[u32]) -> usize {
        let loads = candidates.iter().map(|replica| self.load(*replica));
        let (low, high) = loads.fold((f64::INFINITY, 0.0_f64), |(low, high), load| (low.min(load), high.max(load)));
        let hashes = self.index.hashes(prompt);
        let replica = if self.routing.imbalance.is_some_and(|most| high - low > most) {
            self.least(candidates, |router, replica| router.load(replica))
        } else {
            let held = self.index.held(&hashes, self.in_flight.len());
            let block = f64::from(self.routing.index_block_tokens);
            self.least(candidates, |router, replica| {
                let computed = prompt.len() as f64 - f64::from(held[replica]) * block;
                computed + router.routing.load_tokens * router.load(replica)
            })
        };
        self.index.insert(&hashes, replica);
        replica
    }

    fn by_session(&mut self, candidates: &[usize], session: Option<u32>) -> usize {
        let Some(session) = session else { return self.in_turn(candidates) };
        if let Some(replica) = self.sessions.get(&session) {
            return *replica;
        }
        let replica = self.in_turn(candidates);
        self.sessions.insert(session, replica);
        replica
    }
}

/// A number from 0 to 1 that belongs to a request, by the order of requests.
fn uniform(number: u64) -> f64 {
    (mix(number ^ 0x7261_6e6b) >> 11) as f64 / (1u64 << 53) as f64
}
