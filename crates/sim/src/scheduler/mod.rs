//! One step of continuous batching: running requests first, then admissions, within a token budget.
//!
//! There is no prefill phase and no decode phase. Each step tries to make the computed tokens of every request catch up
//! with its known tokens; a mixed step computes prompt chunks and single decode tokens in one forward pass.

mod admit;
mod preempt;

use crate::{
    config::EngineConfig,
    kv_cache::{Ask, KvCache, pool::BlockId},
    language::Language,
    request::{RequestId, Slots},
    timing::StepShape,
};
use std::collections::VecDeque;

/// A request's share of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    /// Whose.
    pub id: RequestId,
    /// Tokens it computes in this step.
    pub tokens: u32,
    /// Whether that completes what is known of the request, so that the step gives it a token.
    pub samples: bool,
}

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
}

/// The two queues and the batch of the step in hand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scheduler {
    pub(crate) waiting: VecDeque<u32>,
    /// In order of their last admission.
    pub(crate) running: Vec<u32>,
    pub(crate) batch: Vec<Scheduled>,
    pub(crate) shape: StepShape,
    hit: Vec<BlockId>,
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
    /// Builds the next batch. Afterwards every scheduled request counts its tokens as computed, so that a next chunk
    /// could be scheduled before the results of this one are back.
    pub(crate) fn schedule(&mut self, bench: &mut Workbench<'_>) -> Decisions {
        self.batch.clear();
        self.shape = StepShape::default();
        let mut decisions = Decisions::default();
        let mut budget = bench.config.max_num_batched_tokens;
        self.schedule_running(bench, &mut budget, &mut decisions);
        if decisions.preempted == 0 {
            self.admit(bench, &mut budget, &mut decisions);
        }
        for Scheduled { id, tokens, samples } in &mut self.batch {
            let request = &mut bench.slots[id.slot];
            let prior = request.num_computed;
            request.num_computed += *tokens;
            *samples = request.num_computed >= request.num_tokens();
            self.shape.add(prior, *tokens, *samples);
        }
        decisions
    }

    fn schedule_running(&mut self, bench: &mut Workbench<'_>, budget: &mut u32, decisions: &mut Decisions) {
        let cap = self.prefill_cap(bench.config);
        let mut index = 0;
        'requests: while index < self.running.len() && *budget > 0 {
            let slot = self.running[index];
            let request = &mut bench.slots[slot];
            let behind = request.num_tokens() - request.num_computed;
            let room = (bench.config.max_model_len - 1).saturating_sub(request.num_computed);
            let tokens = behind.min(cap).min(*budget).min(room);
            if tokens == 0 {
                index += 1;
                continue;
            }
            let ask = Ask { tokens, watermark: 0, whole: false };
            while !bench.kv.allocate(&mut bench.slots[slot], bench.language, &[], ask) {
                let victim = self.preempt_tail(bench);
                decisions.preempted += u32::from(victim.is_some());
                if victim.is_none() || victim == Some(slot) {
                    break 'requests;
                }
            }
            self.batch.push(Scheduled { id: bench.slots.id_of(slot), tokens, samples: false });
            *budget -= tokens;
            index += 1;
        }
    }

    /// Most tokens of one request in a step.
    fn prefill_cap(&self, config: &EngineConfig) -> u32 {
        let alone = self.running.len() + self.waiting.len() <= 1;
        match config.long_prefill_token_threshold {
            0 => u32::MAX,
            _ if alone => u32::MAX,
            cap => cap,
        }
    }
}
