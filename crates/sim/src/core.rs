//! The engine's core: who is computed next, and whose KV is kept. One variant an engine; whoever drives the engine does
//! not care which.

use crate::{
    config::EngineConfig,
    kv_cache::KvCache,
    language::Language,
    request::{RequestId, Slots, Status},
    scheduler::{Decisions, Scheduled, Scheduler, Workbench},
    timing::StepShape,
};

/// Scheduler and KV cache of one engine.
#[derive(Debug, Clone)]
pub(crate) enum Core {
    /// vLLM V1: one token budget a step, paged blocks.
    Vllm {
        /// Queues and batch.
        scheduler: Scheduler,
        /// Paged KV cache.
        kv: KvCache,
    },
}

/// What a core works on besides itself.
pub(crate) struct Bench<'a> {
    pub(crate) config: &'a EngineConfig,
    pub(crate) language: &'a Language,
    pub(crate) slots: &'a mut Slots,
    pub(crate) now_ns: i64,
}

impl Core {
    pub(crate) fn new(config: &EngineConfig) -> Self {
        let (blocks, size, len) = (config.num_gpu_blocks, config.block_size, config.max_model_len);
        Self::Vllm {
            scheduler: Scheduler::default(),
            kv: KvCache::new(blocks, size, len, config.enable_prefix_caching),
        }
    }

    /// Puts a request at the end of the queue.
    pub(crate) fn enqueue(&mut self, slot: u32) {
        match self {
            Self::Vllm { scheduler, .. } => scheduler.waiting.push_back(slot),
        }
    }

    /// Decides the next step; [`Self::batch`] is empty afterwards when there is nothing to compute.
    pub(crate) fn schedule(&mut self, bench: &mut Bench<'_>) -> Decisions {
        match self {
            Self::Vllm { scheduler, kv } => {
                if scheduler.running.is_empty() && scheduler.waiting.is_empty() {
                    scheduler.batch.clear();
                    return Decisions::default();
                }
                let Bench { config, language, now_ns, .. } = *bench;
                scheduler.schedule(&mut Workbench { config, language, slots: bench.slots, kv, now_ns })
            }
        }
    }

    /// The step in hand, or the last one.
    pub(crate) fn batch(&self) -> &[Scheduled] {
        match self {
            Self::Vllm { scheduler, .. } => &scheduler.batch,
        }
    }

    /// The step in hand as far as its time depends on it.
    pub(crate) fn shape(&self) -> &StepShape {
        match self {
            Self::Vllm { scheduler, .. } => &scheduler.shape,
        }
    }

    /// Admitted requests, in order of last admission.
    pub(crate) fn running(&self) -> &[u32] {
        match self {
            Self::Vllm { scheduler, .. } => &scheduler.running,
        }
    }

    /// The waiting queue from its head.
    pub(crate) fn waiting(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        match self {
            Self::Vllm { scheduler, .. } => scheduler.waiting.iter().copied(),
        }
    }

    /// Whether a step that is decided, or in hand if there is one, computes for this request.
    pub(crate) fn computes(&self, id: RequestId, in_hand: bool) -> bool {
        in_hand && self.batch().iter().any(|scheduled| scheduled.id == id)
    }

    /// The row at `place` of the batch has been computed, and its request goes on.
    pub(crate) fn computed(&mut self, _bench: &mut Bench<'_>, _place: usize) {
        match self {
            // A block is findable as soon as it is scheduled: nothing is left to do.
            Self::Vllm { .. } => {}
        }
    }

    /// A request leaves: its KV is released. The caller removes it from the slots and then tells [`Self::swept`].
    pub(crate) fn release(&mut self, _language: &Language, slots: &mut Slots, slot: u32) {
        match self {
            Self::Vllm { scheduler, kv } => {
                kv.free(&mut slots[slot]);
                if matches!(slots[slot].status, Status::Waiting | Status::Preempted) {
                    scheduler.waiting.retain(|held| *held != slot);
                }
            }
        }
    }

    /// Some requests have left: drops them from the running batch.
    pub(crate) fn swept(&mut self, slots: &Slots) {
        match self {
            Self::Vllm { scheduler, .. } => scheduler.running.retain(|slot| slots[*slot].status == Status::Running),
        }
    }

    /// Share of the KV cache that is held by live requests, 0 to 1.
    pub(crate) fn kv_usage(&self) -> f64 {
        match self {
            Self::Vllm { kv, .. } => kv.pool().usage(),
        }
    }

    /// Whether no request is admitted or waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.running().is_empty() && self.waiting().len() == 0
    }
}
