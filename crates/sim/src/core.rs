//! The engine's core: who is computed next, and whose KV is kept. One variant an engine; whoever drives the engine does
//! not care which.

use crate::{
    config::{EngineConfig, EngineKind},
    kv_cache::KvCache,
    language::Language,
    request::{RequestId, Slots, Status},
    scheduler::{Decisions, Scheduled, Scheduler, Workbench},
    sglang::Sglang,
    timing::StepShape,
};
use std::collections::VecDeque;

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
    /// SGLang: prefill or decode, a radix tree.
    Sglang(Box<Sglang>),
}

/// What a core works on besides itself.
pub(crate) struct Bench<'a> {
    pub(crate) config: &'a EngineConfig,
    pub(crate) language: &'a Language,
    pub(crate) slots: &'a mut Slots,
    pub(crate) now_ns: i64,
}

impl Core {
    pub(crate) fn new(config: &EngineConfig, seed: u64) -> Self {
        match config.engine {
            EngineKind::Vllm => {
                let (blocks, size, len) = (config.num_gpu_blocks, config.block_size, config.max_model_len);
                let kv = KvCache::new(blocks, size, len, config.enable_prefix_caching);
                Self::Vllm { scheduler: Scheduler::default(), kv }
            }
            EngineKind::Sglang => Self::Sglang(Box::new(Sglang::new(config, seed))),
        }
    }

    /// Puts a request at the end of the queue.
    pub(crate) fn enqueue(&mut self, slot: u32) {
        match self {
            Self::Vllm { scheduler, .. } => scheduler.waiting.push_back(slot),
            Self::Sglang(core) => core.enqueue(slot),
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
            Self::Sglang(core) => core.schedule(bench),
        }
    }

    /// The step in hand, or the last one.
    pub(crate) fn batch(&self) -> &[Scheduled] {
        match self {
            Self::Vllm { scheduler, .. } => &scheduler.batch,
            Self::Sglang(core) => &core.step.rows,
        }
    }

    /// The step in hand as far as its time depends on it.
    pub(crate) fn shape(&self) -> &StepShape {
        match self {
            Self::Vllm { scheduler, .. } => &scheduler.shape,
            Self::Sglang(core) => &core.step.shape,
        }
    }

    /// Admitted requests, in order of last admission.
    pub(crate) fn running(&self) -> &[u32] {
        match self {
            Self::Vllm { scheduler, .. } => &scheduler.running,
            Self::Sglang(core) => &core.admitted,
        }
    }

    /// The waiting queue from its head.
    pub(crate) fn waiting(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        let waiting: &VecDeque<u32> = match self {
            Self::Vllm { scheduler, .. } => &scheduler.waiting,
            Self::Sglang(core) => &core.waiting,
        };
        waiting.iter().copied()
    }

    /// Whether a step that is decided, or in hand if there is one, computes for this request.
    pub(crate) fn computes(&self, id: RequestId, in_hand: bool) -> bool {
        match self {
            Self::Vllm { scheduler, .. } => in_hand && scheduler.batch.iter().any(|scheduled| scheduled.id == id),
            Self::Sglang(core) => core.computes(id, in_hand),
        }
    }

    /// The row at `place` of the batch has been computed, and its request goes on.
    pub(crate) fn computed(&mut self, bench: &mut Bench<'_>, place: usize) {
        match self {
            // A block is findable as soon as it is scheduled: nothing is left to do.
            Self::Vllm { .. } => {}
            Self::Sglang(core) => core.computed(bench, place),
        }
    }

    /// A request leaves: its KV is released. The caller removes it from the slots and then tells [`Self::swept`].
    pub(crate) fn release(&mut self, language: &Language, slots: &mut Slots, slot: u32) {
        match self {
            Self::Vllm { scheduler, kv } => {
                kv.free(&mut slots[slot]);
                if matches!(slots[slot].status, Status::Waiting | Status::Preempted) {
                    scheduler.waiting.retain(|held| *held != slot);
                }
            }
            Self::Sglang(core) => core.release(language, slots, slot),
        }
    }

    /// Some requests have left: drops them from the running batch.
    pub(crate) fn swept(&mut self, slots: &Slots) {
        match self {
            Self::Vllm { scheduler, .. } => scheduler.running.retain(|slot| slots[*slot].status == Status::Running),
            Self::Sglang(_) => {}
        }
    }

    /// Requests that the core has given up since it was last asked; their KV is released.
    pub(crate) fn take_failed(&mut self) -> Vec<RequestId> {
        match self {
            Self::Vllm { .. } => Vec::new(),
            Self::Sglang(core) => std::mem::take(&mut core.failed),
        }
    }

    /// Whether it has given up a request of which nobody has been told.
    pub(crate) fn has_failed(&self) -> bool {
        match self {
            Self::Vllm { .. } => false,
            Self::Sglang(core) => !core.failed.is_empty(),
        }
    }

    /// Share of the KV cache that is held by live requests, 0 to 1.
    pub(crate) fn kv_usage(&self) -> f64 {
        match self {
            Self::Vllm { kv, .. } => kv.pool().usage(),
            Self::Sglang(core) => core.usage(),
        }
    }

    /// Whether no request is admitted or waits.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Vllm { scheduler, .. } => scheduler.running.is_empty() && scheduler.waiting.is_empty(),
            Self::Sglang(core) => core.is_empty(),
        }
    }
}
