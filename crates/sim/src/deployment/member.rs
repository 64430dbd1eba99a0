//! One replica while it runs.

use crate::{
    config::{ConfigError, EngineConfig, EngineKind},
    engine::{Engine, Refusal, StepResult},
    kv_cache::hash::mix,
    memory::{self, Failure, Start},
    request::{NewRequest, RequestId},
};

/// Never.
pub(super) const NEVER: i64 = i64::MAX;

/// Seconds between the starts of two replicas: no two processes start at the same moment.
const START_GAP_SECONDS: f64 = 1.25;

/// A replica: its engine, and when something happens in it next.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// What it was asked to be; memory decides on its pool.
    asked: EngineConfig,
    /// What came of its start. An engine that did not start stands still.
    start: Start,
    engine: Engine,
    /// Whether a step is in hand.
    stepping: bool,
    /// When it began the empty step that it takes beside other ranks of its server, if it takes one.
    empty_since_ns: Option<i64>,
    /// End of the step in hand, or when its core could next take a request in.
    due_ns: i64,
    /// Arrivals are handed in in order.
    latest_arrival_ns: i64,
    /// Start of its process, seconds on the run's clock.
    started_seconds: f64,
    restarts: u32,
}

impl Member {
    /// Replica `place` at rest.
    pub(super) fn new(config: EngineConfig, seed: u64, place: usize) -> Result<Self, ConfigError> {
        let start = start(&config);
        let serving = start.serving(&config).unwrap_or_else(|_| config.clone());
        Ok(Self {
            engine: Engine::new(serving, seed_of(seed, place, 0))?,
            asked: config,
            start,
            stepping: false,
            empty_since_ns: None,
            due_ns: NEVER,
            latest_arrival_ns: i64::MIN,
            // Before the run, but for the first: virtual time starts with it.
            started_seconds: 0.0 - START_GAP_SECONDS * place as f64,
            restarts: 0,
        })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What it was asked to be.
    pub(crate) fn asked(&self) -> &EngineConfig {
        &self.asked
    }

    /// What came of its start.
    pub(crate) fn start(&self) -> &Start {
        &self.start
    }

    /// Whether it has started.
    pub(crate) fn is_up(&self) -> bool {
        self.start.outcome.is_ok()
    }

    /// Counts a transfer of KV that it has read, or tried to read.
    pub(super) fn count_transfer(&mut self, failed: bool, duration_ns: i64, post_ns: i64, sizes: (u64, u64)) {
        self.engine.count_transfer(failed, duration_ns, post_ns, sizes);
    }

    /// Start of its process, seconds on the run's clock.
    pub(crate) fn started_seconds(&self) -> f64 {
        self.started_seconds
    }

    pub(crate) fn restarts(&self) -> u32 {
        self.restarts
    }

    pub(super) fn due_ns(&self) -> i64 {
        self.due_ns
    }

    /// Hands a request in that reaches the replica at `at_ns`.
    pub(super) fn submit(&mut self, now_ns: i64, at_ns: i64, request: NewRequest) -> Result<RequestId, Refusal> {
        let at_ns = at_ns.max(self.latest_arrival_ns);
        let id = self.engine.submit(at_ns, request)?;
        self.latest_arrival_ns = at_ns;
        self.look_again(now_ns);
        Ok(id)
    }

    /// Gives a request up; whether it was there.
    pub(super) fn abort(&mut self, now_ns: i64, id: RequestId) -> bool {
        let there = self.engine.abort(id);
        // What stood behind it may be admitted now.
        if there && !self.in_step() {
            self.due_ns = self.due_ns.min(now_ns);
        }
        there
    }

    fn look_again(&mut self, now_ns: i64) {
        if !self.in_step()
            && let Some(ready_ns) = self.engine.next_ready_ns()
        {
            self.due_ns = self.due_ns.min(ready_ns.max(now_ns));
        }
    }

    /// Ends the step in hand, if it ends now.
    pub(super) fn finish(&mut self, now_ns: i64) -> Option<StepResult<'_>> {
        if let Some(since_ns) = self.empty_since_ns.take() {
            self.engine.count_empty_step(now_ns - since_ns);
        }
        let ends = std::mem::take(&mut self.stepping);
        ends.then(|| self.engine.finish_step(now_ns))
    }

    /// Begins the next step, if there is anything to compute.
    pub(super) fn begin(&mut self, now_ns: i64) {
        match self.engine.begin_step(now_ns) {
            Some(end_ns) => (self.stepping, self.due_ns) = (true, end_ns),
            // What is ready and was not taken up waits for another event.
            None => self.due_ns = self.engine.next_ready_ns().filter(|ready_ns| *ready_ns > now_ns).unwrap_or(NEVER),
        }
    }

    /// Whether a step is in hand, be it an empty one.
    pub(super) fn in_step(&self) -> bool {
        self.stepping || self.empty_since_ns.is_some()
    }

    /// End of its own part of the step in hand; `None`: it has none.
    pub(super) fn own_end_ns(&self) -> Option<i64> {
        self.stepping.then_some(self.due_ns)
    }

    /// The step of all ranks of its server that began at `now_ns` ends at `end_ns`: it waits for them, or takes an empty
    /// step beside them.
    pub(super) fn step_until(&mut self, now_ns: i64, end_ns: i64) {
        if self.stepping {
            self.engine.wait_until(end_ns);
        }
        self.empty_since_ns = (!self.stepping).then_some(now_ns);
        self.due_ns = end_ns;
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.stepping && self.engine.is_idle()
    }

    /// Goes on as `config`; whether its process had to be started again for it, which loses all that it held.
    pub(super) fn become_config(&mut self, now_ns: i64, config: &EngineConfig, seed: u64, place: usize) -> bool {
        if self.asked == *config {
            return false;
        }
        let start = start(config);
        // Memory that would not do for a start is no matter of an engine that runs.
        let running = self.engine.config().num_gpu_blocks;
        let blocks = start.outcome.as_ref().copied().unwrap_or(running);
        let serving = EngineConfig { num_gpu_blocks: blocks, ..config.clone() };
        if self.is_up() && self.engine.reconfigure(now_ns, &serving).is_ok() {
            self.asked = config.clone();
            if !self.in_step() {
                self.due_ns = self.due_ns.min(now_ns);
            }
            return false;
        }
        // Phases are validated before a run: an engine that refuses to start goes on as it is.
        let Ok(engine) = Engine::new(serving, seed_of(seed, place, self.restarts + 1)) else { return false };
        self.engine = engine;
        (self.asked, self.start) = (config.clone(), start);
        self.restarts += 1;
        (self.stepping, self.empty_since_ns, self.due_ns) = (false, None, NEVER);
        self.latest_arrival_ns = i64::MIN;
        self.started_seconds = now_ns as f64 * 1e-9;
        true
    }
}

/// What comes of a start. SGLang's pool is the one that it states, whatever the ledger of vLLM's blocks makes of it.
fn start(config: &EngineConfig) -> Start {
    let mut start = memory::start(config);
    let pool_only = matches!(start.outcome, Err(Failure::NoKv { .. } | Failure::TooLittleKv { .. }));
    if config.engine == EngineKind::Sglang && pool_only {
        start.outcome = Ok(config.num_gpu_blocks);
    }
    start
}

/// The first replica draws what a single engine of that seed would.
fn seed_of(seed: u64, place: usize, restarts: u32) -> u64 {
    match (place, restarts) {
        (0, 0) => seed,
        _ => mix(seed ^ mix((place as u64 + 1) << 32 | u64::from(restarts))),
    }
}
