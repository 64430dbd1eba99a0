//! SGLang's scheduler: a step is a prefill batch or a decode batch, and prefill comes first.
//!
//! Only one request at a time is computed in chunks. Admission sets aside the output that requests are expected to
//! need; where that was too little, decoding requests are retracted: the one with the least output goes first, loses
//! its KV and joins the end of the queue. With overlap a step is decided when the one before it begins, so the results
//! of that one are not known: a request that ends of itself is noticed one step late and computed once in vain.

mod adder;
mod decode;
mod kv;
mod new_token_ratio;
mod order;
mod prefill;
mod report;
mod view;

pub use report::{Gauges, PrefillNote, Report, Retraction, Told, Totals};
pub use view::{PoolTokens, SglangView};

use crate::{
    config::EngineConfig,
    core::Bench,
    language::Language,
    request::{RequestId, Slots, Status},
    scheduler::{Decisions, Scheduled},
    timing::StepShape,
};
use kv::{Pool, Seat};
use new_token_ratio::NewTokenRatio;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use report::Reporter;
use std::collections::VecDeque;

/// What a step computes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    /// Prompts, and with mixed chunks running requests beside them.
    #[default]
    Extend,
    /// One token for each running request.
    Decode,
}

/// A step that has been decided.
#[derive(Debug, Clone, Default)]
pub(crate) struct Step {
    mode: Mode,
    pub(crate) rows: Vec<Scheduled>,
    /// For each row, how much of its request is computed when it is; 0 for a decode.
    fills: Vec<u32>,
    pub(crate) shape: StepShape,
    note: PrefillNote,
}

/// SGLang's scheduler with its KV pool.
#[derive(Debug, Clone)]
pub(crate) struct Sglang {
    pub(crate) waiting: VecDeque<u32>,
    /// Requests that decode.
    running: Vec<u32>,
    /// Requests whose prefill is complete with the last step; they decode from the next one on.
    joining: Vec<u32>,
    /// The request that is computed in chunks.
    chunked: Option<u32>,
    /// All three, in order of last admission.
    pub(crate) admitted: Vec<u32>,
    /// Whether no further request is tried until one has left.
    full: bool,
    /// Whether a running request has left since the last decode step, and one that was about to join them.
    left_running: bool,
    left_joining: bool,
    /// Decode steps before the next prefill batch.
    decodes_due: u32,
    /// The step in hand, or the last one.
    pub(crate) step: Step,
    /// With overlap, the step behind the one in hand.
    planned: Option<Step>,
    /// Of both, what has not been reported.
    decisions: Decisions,
    /// Requests given up for lack of memory.
    pub(crate) failed: Vec<RequestId>,
    reporter: Reporter,
    pool: Pool,
    /// By slot.
    seats: Vec<Seat>,
    /// By slot, the tokens that had been prefilled when the request joined the queue.
    entered: Vec<u64>,
    prefilled_tokens: u64,
    attempts: u32,
    ratio: NewTokenRatio,
    random: ChaCha8Rng,
}

impl Sglang {
    pub(crate) fn new(config: &EngineConfig, seed: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            running: Vec::new(),
            joining: Vec::new(),
            chunked: None,
            admitted: Vec::new(),
            full: false,
            left_running: false,
            left_joining: false,
            decodes_due: 0,
            step: Step::default(),
            planned: None,
            decisions: Decisions::default(),
            failed: Vec::new(),
            reporter: Reporter::default(),
            pool: Pool::new(config),
            seats: Vec::new(),
            entered: Vec::new(),
            prefilled_tokens: 0,
            attempts: 0,
            ratio: NewTokenRatio::new(&config.sglang),
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Goes on under another configuration of the same capacity.
    pub(crate) fn become_(&mut self, config: &EngineConfig) {
        self.pool.spoil(&config.defects);
        self.ratio.become_(&config.sglang);
    }

    /// Pages are lost for good.
    pub(crate) fn leak(&mut self, pages: u32) {
        self.pool.leak(pages);
    }

    /// Forgets what is cached. Returns whether no request was using any of it.
    pub(crate) fn flush(&mut self) -> bool {
        self.pool.flush();
        self.admitted.is_empty()
    }

    pub(crate) fn enqueue(&mut self, slot: u32) {
        let place = slot as usize;
        if self.seats.len() <= place {
            self.seats.resize(place + 1, Seat::NONE);
            self.entered.resize(place + 1, 0);
        }
        self.seats[place] = Seat::NONE;
        self.entered[place] = self.prefilled_tokens;
        self.waiting.push_back(slot);
    }

    /// Takes up the next step, and with overlap decides the one behind it.
    pub(crate) fn schedule(&mut self, bench: &mut Bench<'_>) -> Decisions {
        // A first attempt may have made room only: by a retraction, or by noticing that the batch is empty.
        let step = self.planned.take().or_else(|| self.next(bench)).or_else(|| self.next(bench));
        match step {
            Some(step) => {
                self.step = step;
                if !bench.config.sglang.disable_overlap_schedule {
                    self.planned = self.next(bench);
                }
            }
            None => {
                self.step = Step::default();
                self.ratio.reset();
                self.report_rest();
            }
        }
        std::mem::take(&mut self.decisions)
    }

    /// Decides a step.
    fn next(&mut self, bench: &mut Bench<'_>) -> Option<Step> {
        if let Some(slot) = self.chunked {
            // What is under way is written before anything that reads it.
            let request = &bench.slots[slot];
            self.pool.checkpoint(&mut self.seats[slot as usize], request, bench.language, request.num_computed);
        }
        if std::mem::take(&mut self.left_joining) {
            self.full = false;
        }
        self.running.append(&mut self.joining);
        if let Some(step) = self.prefill(bench) {
            self.decodes_due = bench.config.sglang.prefill_decode_interval;
            // The one that is computed in chunks stays behind when the others join.
            self.left_joining |= self.chunked.is_some();
            return Some(step);
        }
        let step = self.decode(bench)?;
        self.decodes_due = self.decodes_due.saturating_sub(1);
        Some(step)
    }

    /// Whether a step that is decided computes for this request.
    pub(crate) fn computes(&self, id: RequestId, in_hand: bool) -> bool {
        let has = |step: &Step| step.rows.iter().any(|row| row.id == id);
        in_hand && has(&self.step) || self.planned.as_ref().is_some_and(has)
    }

    /// A row has been computed, and its request goes on: a complete prompt is put into the tree.
    pub(crate) fn computed(&mut self, bench: &mut Bench<'_>, place: usize) {
        let (Some(row), Some(fill)) = (self.step.rows.get(place), self.step.fills.get(place)) else { return };
        if *fill > 0 && row.samples {
            let slot = row.id.slot;
            let seat = &mut self.seats[slot as usize];
            self.pool.checkpoint(seat, &bench.slots[slot], bench.language, *fill);
        }
    }

    /// A request leaves.
    pub(crate) fn release(&mut self, language: &Language, slots: &Slots, slot: u32) {
        match slots[slot].status {
            Status::Waiting | Status::Preempted => self.waiting.retain(|held| *held != slot),
            Status::Running => {
                let seat = std::mem::replace(&mut self.seats[slot as usize], Seat::NONE);
                self.pool.keep(seat, &slots[slot], language);
                self.unseat(slot);
            }
            Status::Incoming | Status::Gone => {}
        }
    }

    fn unseat(&mut self, slot: u32) {
        self.admitted.retain(|held| *held != slot);
        if self.chunked == Some(slot) {
            self.chunked = None;
            self.left_joining = true;
        }
        let (running, joining) = (self.running.len(), self.joining.len());
        self.running.retain(|held| *held != slot);
        self.joining.retain(|held| *held != slot);
        self.left_running |= self.running.len() < running;
        self.left_joining |= self.joining.len() < joining;
    }

    /// Share of the pool that is used, 0 to 1.
    pub(crate) fn usage(&self) -> f64 {
        f64::from(self.pool.used()) / f64::from(self.pool.capacity().max(1))
    }

    /// Whether nothing is admitted, waits, or is decided.
    pub(crate) fn is_empty(&self) -> bool {
        self.admitted.is_empty() && self.waiting.is_empty() && self.planned.is_none()
    }
}
