//! The engine's core: who is computed next, and whose KV is kept. One variant an engine; whoever drives the engine does
//! not care which.

use crate::{
    config::{EngineConfig, EngineKind},
    encoder::{Images, OutOfMemory},
    kv_cache::{KvCache, hash::mix, tier::Copied},
    language::Language,
    request::{RequestId, RequestState, Slots, Status},
    scheduler::{Decisions, Scheduled, Scheduler, Workbench},
    sglang::Sglang,
    step::Load,
    timing::StepShape,
};
use std::collections::VecDeque;

/// Scheduler and KV cache of one engine.
#[derive(Debug, Clone)]
pub(crate) enum Core {
    /// vLLM V1: one token budget a step, paged blocks.
    Vllm {
        /// Queues and batch.
        scheduler: Box<Scheduler>,
        /// Paged KV cache.
        kv: Box<KvCache>,
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
                Self::Vllm { scheduler: Box::new(Scheduler::new(config)), kv: Box::new(KvCache::new(config)) }
            }
            EngineKind::Sglang => Self::Sglang(Box::new(Sglang::new(config, seed))),
        }
    }

    /// Goes on under another configuration of the same capacity.
    pub(crate) fn reconfigure(&mut self, config: &EngineConfig, slots: &Slots) {
        match self {
            Self::Vllm { scheduler, kv } => {
                scheduler.reorder(config.policy, slots);
                kv.become_(config);
            }
            Self::Sglang(core) => core.become_(config),
        }
    }

    /// Puts a request into the queue: at its end, where nothing else is in force.
    pub(crate) fn enqueue(&mut self, slot: u32, config: &EngineConfig, slots: &Slots) {
        match self {
            Self::Vllm { scheduler, .. } => scheduler.enqueue(slot, config.policy, slots),
            Self::Sglang(core) => core.enqueue(slot),
        }
    }

    /// Decides the next step; [`Self::batch`] is empty afterwards when there is nothing to compute.
    pub(crate) fn schedule(&mut self, bench: &mut Bench<'_>) -> Decisions {
        match self {
            Self::Vllm { scheduler, kv } => {
                let Bench { config, language, now_ns, .. } = *bench;
                let decisions = scheduler.schedule(&mut Workbench { config, language, slots: bench.slots, kv, now_ns });
                if let Some(offload) = &config.offload {
                    kv.store(offload, now_ns);
                }
                decisions
            }
            Self::Sglang(core) => core.schedule(bench),
        }
    }

    /// Decides the step after the one in hand, before its results are back.
    pub(crate) fn schedule_ahead(&mut self, bench: &mut Bench<'_>) {
        match self {
            Self::Vllm { scheduler, kv } => {
                let Bench { config, language, now_ns, .. } = *bench;
                scheduler.schedule_ahead(&mut Workbench { config, language, slots: bench.slots, kv, now_ns });
            }
            // It overlaps steps by rules of its own.
            Self::Sglang(_) => {}
        }
    }

    /// The step in hand, or the last one.
    pub(crate) fn batch(&self) -> &[Scheduled] {
        match self {
            Self::Vllm { scheduler, .. } => &scheduler.batch.rows,
            Self::Sglang(core) => &core.step.rows,
        }
    }

    /// The step in hand as far as its time depends on it.
    pub(crate) fn shape(&self) -> &StepShape {
        match self {
            Self::Vllm { scheduler, .. } => &scheduler.batch.shape,
            Self::Sglang(core) => &core.step.shape,
        }
    }

    /// What else its time depends on.
    pub(crate) fn load(&self) -> Load {
        match self {
            Self::Vllm { scheduler, .. } => scheduler.batch.load,
            Self::Sglang(core) => Load::of(&core.step.rows),
        }
    }

    /// What the step in hand needs beyond the memory that there is.
    pub(crate) fn out_of_memory(&self) -> Option<OutOfMemory> {
        match self {
            Self::Vllm { scheduler, .. } => scheduler.batch.out_of_memory,
            Self::Sglang(_) => None,
        }
    }

    /// Whether a request that was thrown out of the batch still gets what the step in hand computes for it.
    pub(crate) fn delivers_late(&self) -> bool {
        match self {
            Self::Vllm { .. } => true,
            Self::Sglang(_) => false,
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
            Self::Vllm { scheduler, .. } => in_hand && scheduler.batch.rows.iter().any(|scheduled| scheduled.id == id),
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

    /// An ended request leaves blocks referenced, where a bug does so.
    pub(crate) fn leak(&mut self, config: &EngineConfig, request: &mut RequestState) {
        let leaked = config.defects.leaked_blocks;
        if leaked == 0.0 {
            return;
        }
        let uniform = (mix(request.begun ^ request.tag) >> 11) as f64 / (1u64 << 53) as f64;
        match self {
            Self::Vllm { kv, .. } => kv.leak(request, (leaked + uniform).floor() as u32),
            Self::Sglang(core) => core.leak((leaked + uniform).floor() as u32),
        }
    }

    /// What copies to and from a second tier have come to, where there is one.
    pub(crate) fn copied(&self) -> Option<Copied> {
        match self {
            Self::Vllm { kv, .. } => kv.copied(),
            Self::Sglang(_) => None,
        }
    }

    /// The encoder of images, where the model has one.
    pub(crate) fn images(&self) -> Option<&Images> {
        match self {
            Self::Vllm { scheduler, .. } => scheduler.images.as_ref(),
            Self::Sglang(_) => None,
        }
    }

    /// Makes nothing findable any more. Returns whether no KV was in use.
    pub(crate) fn clear_cache(&mut self) -> bool {
        match self {
            Self::Vllm { kv, .. } => kv.clear_index(),
            Self::Sglang(core) => core.flush(),
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

    /// A step has ended and its results are in.
    pub(crate) fn ended(&mut self, bench: &Bench<'_>) {
        match self {
            Self::Vllm { .. } => {}
            Self::Sglang(core) => core.ended(bench),
        }
    }

    /// Share of the KV cache that is held by live requests, 0 to 1.
    pub(crate) fn kv_usage(&self) -> f64 {
        match self {
            Self::Vllm { kv, .. } => kv.pool().usage(),
            Self::Sglang(core) => core.usage(),
        }
    }

    /// Whether no request is admitted or waits, and no step is decided.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Vllm { scheduler, .. } => {
                scheduler.running.is_empty() && scheduler.waiting.is_empty() && !scheduler.is_ahead()
            }
            Self::Sglang(core) => core.is_empty(),
        }
    }
}
