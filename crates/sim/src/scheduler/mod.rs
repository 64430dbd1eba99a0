//! One step of continuous batching: running requests first, then admissions, within a token budget.
//!
//! There is no prefill phase and no decode phase. Each step tries to make the computed tokens of every request catch up
//! with its known tokens; a mixed step computes prompt chunks and single decode tokens in one forward pass.

mod admit;
mod batch;
mod preempt;
mod running;

pub use batch::Scheduled;

pub(crate) use batch::Batch;

use crate::{
    config::EngineConfig,
    encoder::Images,
    kv_cache::{KvCache, pool::BlockId},
    language::Language,
    request::Slots,
};
use std::collections::VecDeque;

/// What a step of the scheduler decided besides its batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Requests thrown out of the batch.
    pub preempted: u32,
    /// Requests admitted.
    pub admitted: u32,
    /// Tokens looked up in the prefix cache by first admissions.
    pub prefix_queries: u64,
    /// Tokens found by first admissions.
    pub prefix_hits: u64,
    /// Of those not found, tokens looked up in the second tier.
    pub external_queries: u64,
    /// Tokens found there.
    pub external_hits: u64,
}

/// The two queues, the batch of the step in hand, and the one decided ahead of its results.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scheduler {
    pub(crate) waiting: VecDeque<u32>,
    /// In order of their last admission.
    pub(crate) running: Vec<u32>,
    pub(crate) batch: Batch,
    ahead: Batch,
    /// The encoder of images, where the model has one.
    pub(crate) images: Option<Images>,
    /// Steps decided.
    steps: u64,
    /// Tokens that the step in hand may still compute.
    budget: u32,
    hit: Vec<BlockId>,
    /// Heads of the queue that let others pass in this step, the first one first.
    aside: Vec<u32>,
    /// When the latest step was decided, if the head of the queue did not fit the pool then.
    held_up_ns: Option<i64>,
}

/// What the scheduler works on.
pub(crate) struct Workbench<'a> {
    pub(crate) config: &'a EngineConfig,
    pub(crate) language: &'a Language,
    pub(crate) slots: &'a mut Slots,
    pub(crate) kv: &'a mut KvCache,
    pub(crate) now_ns: i64,
}

impl Scheduler {
    pub(crate) fn new(config: &EngineConfig) -> Self {
        Self { images: config.encoder.is_some().then(Images::default), ..Self::default() }
    }

    /// Makes the next batch the step in hand: the one that was decided ahead, or a new one.
    pub(crate) fn schedule(&mut self, bench: &mut Workbench<'_>) -> Decisions {
        if self.ahead.rows.is_empty() {
            // A step that was decided ahead and computes nothing is not run, but whom it threw out counts.
            let thrown_out = std::mem::take(&mut self.ahead.decisions.preempted);
            self.decide(bench);
            self.batch.decisions.preempted += thrown_out;
        } else {
            std::mem::swap(&mut self.batch, &mut self.ahead);
            self.ahead.rows.clear();
            self.ahead.decisions = Decisions::default();
        }
        self.batch.decisions
    }

    /// Decides the step after the one in hand, before its results are back.
    pub(crate) fn schedule_ahead(&mut self, bench: &mut Workbench<'_>) {
        if self.batch.load.structured > 0 && bench.config.structured.forbids_overlap {
            return;
        }
        std::mem::swap(&mut self.batch, &mut self.ahead);
        self.decide(bench);
        std::mem::swap(&mut self.batch, &mut self.ahead);
    }

    fn decide(&mut self, bench: &mut Workbench<'_>) {
        self.batch.begin();
        self.budget = bench.config.max_num_batched_tokens;
        if let Some(images) = &mut self.images {
            images.begin();
        }
        if self.running.is_empty() && self.waiting.is_empty() {
            return;
        }
        self.book_held_up(bench);
        self.preempt_for_nothing(bench);
        let defers_prompts = self.defers_prompts(bench);
        self.schedule_running(bench, defers_prompts);
        if self.batch.decisions.preempted == 0 && !defers_prompts {
            self.admit(bench);
        }
        self.batch.settle(bench.config, bench.slots, self.running.len());
        if let (Some(images), Some(encoder)) = (&mut self.images, &bench.config.encoder) {
            self.batch.load.encoder_seconds = encoder.seconds(images.step());
            self.batch.out_of_memory = images.overflow(encoder);
        }
        self.steps += 1;
    }

    /// Books the time since the latest step for everyone who waited behind a head that did not fit.
    fn book_held_up(&mut self, bench: &mut Workbench<'_>) {
        let Some(since_ns) = self.held_up_ns.take() else { return };
        for slot in &self.waiting {
            let life = &mut bench.slots[*slot].life;
            life.held_up_ns += (bench.now_ns - since_ns.max(life.queued_ns)).max(0);
        }
    }

    /// Whether a batch has been decided ahead of the results of the step in hand.
    pub(crate) fn is_ahead(&self) -> bool {
        !self.ahead.rows.is_empty()
    }

    /// Whether prompts have to wait for a later step, so that decodes come first.
    fn defers_prompts(&self, bench: &Workbench<'_>) -> bool {
        let every = u64::from(bench.config.prefill_schedule_interval);
        let decodes = |slot: &u32| {
            let request = &bench.slots[*slot];
            request.num_computed + 1 >= request.num_known()
        };
        every > 1 && !self.steps.is_multiple_of(every) && self.running.iter().any(decodes)
    }

    /// Most tokens of one request in a step: its limit is there so that a long prompt does not keep others from the
    /// budget.
    fn prefill_cap(&self, config: &EngineConfig) -> u32 {
        let requests = self.running.len() + self.waiting.len();
        match config.long_prefill_token_threshold {
            0 => u32::MAX,
            _ if requests <= 1 => u32::MAX,
            cap if config.long_prefill_token_threshold_adaptive => {
                cap.max(config.max_num_batched_tokens / u32::try_from(requests).unwrap_or(u32::MAX))
            }
            cap => cap,
        }
    }
}
