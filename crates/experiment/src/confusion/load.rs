//! What is asked of the deployment in which a fault acts.

use crate::error::Error;
use firstcheck_sim::{Deployment, EngineConfig, EngineKind, Noise};
use firstcheck_workload::{
    arrivals::ArrivalProcess, distribution::Distribution, prefix::SharedPrefix, spec::Spec, trace::Trace,
};

/// Length of a run, its warm-up included, seconds.
pub(super) const LENGTH_S: f64 = 100.0;
/// Of which warm-up.
pub(super) const WARM_UP_S: f64 = 10.0;
/// Longest that a client waits for an answer, seconds.
const TIMEOUT_S: f64 = 60.0;
/// Standard deviation of a run's factor on step times: no two runs are alike.
const RUN_SD: f64 = 0.02;

/// A deployment in good health and what it is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Its name.
    pub name: &'static str,
    /// What is special about it.
    pub what: &'static str,
    /// Requests a second.
    pub rate: f64,
    /// KV blocks of each replica.
    pub blocks: u32,
    /// Most sequences in a replica's batch.
    pub seats: u32,
}

/// Replicas behind the address.
const REPLICAS: u32 = 2;

impl Load {
    /// All loads: what leaves room shows faults of time, what fills the KV pool those of memory.
    pub const ALL: [Self; 2] = [
        Self { name: "roomy", what: "a fifth of what it could serve", rate: 6.0, blocks: 4000, seats: 64 },
        Self { name: "full", what: "its KV pool nearly full at peaks", rate: 24.0, blocks: 1800, seats: 64 },
    ];

    /// The deployment.
    pub fn deployment(&self, kind: EngineKind) -> Deployment {
        let mut engine = match kind {
            EngineKind::Vllm => EngineConfig::default(),
            EngineKind::Sglang => EngineConfig::sglang(),
        };
        engine.num_gpu_blocks = self.blocks;
        engine.sglang.max_total_num_tokens = self.blocks.saturating_mul(engine.block_size);
        engine.max_num_seqs = self.seats;
        engine.max_model_len = 8192;
        engine.noise = Noise { run_sd: RUN_SD, ..engine.noise };
        let mut deployment = Deployment::uniform(engine, REPLICAS);
        deployment.client.timeout_seconds = Some(TIMEOUT_S);
        deployment
    }

    /// What it is asked: prompts of which most begin with one of three texts, and answers of some sentences.
    ///
    /// # Errors
    /// None for these parameters; the workload's own otherwise.
    pub fn trace(&self, seed: u64) -> Result<Trace, Error> {
        let spec = Spec {
            arrivals: Some(ArrivalProcess::Poisson { rate: self.rate }),
            duration_s: Some(LENGTH_S),
            input: Some(Distribution::uniform(100, 500)),
            output: Some(Distribution::uniform(40, 120)),
            prefix: Some(SharedPrefix { groups: 3, tokens: 640, share: 0.9 }),
            ..Spec::default()
        };
        Ok(spec.generate(seed, None)?.trace)
    }
}
