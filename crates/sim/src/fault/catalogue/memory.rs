//! Memory, preemption and start-up (S14–S19).

use crate::fault::{FaultSpec, Param};

pub(super) const FAULTS: &[FaultSpec] = &[FaultSpec {
    slug: "kv-pool-shrank",
    symptom: "S15",
    cause: "kv-pool-shrank",
    acts_in: "KV cache",
    doc: "the KV pool of every replica is smaller than it was: graphs, a new version or a lower memory share took the \
          rest",
    params: &[Param {
        name: "share",
        unit: "",
        by_severity: [0.5, 0.2, 0.08],
        range: [0.001, 1.0],
        doc: "what is left of the pool",
    }],
    apply: |values, rig| {
        let share = values.get("share");
        rig.deployment.each_engine(|engine| {
            let left = (f64::from(engine.num_gpu_blocks) * share) as u32;
            // An engine does not start with less than one longest sequence: who shrinks the pool lowers that as well.
            engine.num_gpu_blocks = left.max(2);
            let tokens = u64::from(engine.num_gpu_blocks - 1) * u64::from(engine.block_size);
            engine.max_model_len = engine.max_model_len.min(u32::try_from(tokens).unwrap_or(u32::MAX)).max(2);
        });
    },
}];
