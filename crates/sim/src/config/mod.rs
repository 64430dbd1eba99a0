//! What a simulated engine is: every rule as a named parameter, every part that can misbehave as a section whose
//! default is healthy.

mod change;
mod defects;
mod encoder;
mod error;
mod frontend;
mod graphs;
mod hang;
mod host;
mod machine;
mod memory;
mod offload;
mod parallel;
mod resolved;
mod sglang;
mod speculation;
mod structured;

pub use defects::Defects;
pub use encoder::Encoder;
pub use error::ConfigError;
pub use frontend::Frontend;
pub use graphs::{GraphMode, Graphs};
pub use hang::{Hang, HangCause};
pub use host::{Host, Pause, PauseClock};
pub use machine::{Machine, Throttle};
pub use memory::{HostMemory, Leak, LeakKind, Leaker, Memory};
pub use offload::Offload;
pub use parallel::{AllReduce, DataRank, Experts, LateRank, Parallel, SlowRank};
pub use sglang::{SchedulePolicy, Sglang};
pub use speculation::{ClassAcceptance, Speculation};
pub use structured::Structured;

pub mod sampler;

use crate::timing::{Noise, Timing};
use error::within;
use sampler::Sampler;
use serde::{Deserialize, Serialize};

/// Most tokens that a step may be allowed to compute; beyond all engines, and still few enough to be counted and listed.
const MOST_STEP_TOKENS: u32 = 1 << 24;

/// Which engine a deployment runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// vLLM V1: its rules are the flat fields of [`EngineConfig`].
    #[default]
    Vllm,
    /// SGLang: its rules are [`EngineConfig::sglang`]; the flat fields of vLLM's scheduler and KV blocks do not count.
    Sglang,
}

/// In which order waiting requests are admitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// First come, first served; the victim of a preemption is the request admitted last.
    #[default]
    Fcfs,
    /// By the priority that a request states, the smallest first, then by arrival; the victim of a preemption is the
    /// running request that is last in this order.
    Priority,
}

/// One engine. The defaults are those of vLLM 0.32 serving Llama 3.1 8B on one H100.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineConfig {
    /// Which engine.
    pub engine: EngineKind,
    /// Scheduler and cache of SGLang, where it is the engine.
    pub sglang: Sglang,
    /// Name under which the model is served.
    pub model_name: String,
    /// Version that the server states.
    pub version: String,
    /// KV blocks, the null block included. Capacity is this count, never a guess from memory sizes.
    pub num_gpu_blocks: u32,
    /// Tokens a KV block.
    pub block_size: u32,
    /// Most requests in the running batch.
    pub max_num_seqs: u32,
    /// Token budget of a step.
    pub max_num_batched_tokens: u32,
    /// Longest sequence, prompt and answer together.
    pub max_model_len: u32,
    /// Whether blocks of earlier requests are found again.
    pub enable_prefix_caching: bool,
    /// Whether a prompt may be computed in several steps.
    pub enable_chunked_prefill: bool,
    /// Most tokens of one request in a step while others are there; 0: no such limit.
    pub long_prefill_token_threshold: u32,
    /// Whether that limit is at least each request's fair share of the budget.
    pub long_prefill_token_threshold_adaptive: bool,
    /// Most requests in the engine, waiting and running; more are refused. `None`: no limit.
    pub max_num_queued_reqs: Option<u32>,
    /// Prompt tokens of requests without a first token above which more are refused. `None`: no limit.
    pub max_num_queued_tokens: Option<u64>,
    /// Prompts are computed in every how manieth step only, while anybody decodes.
    pub prefill_schedule_interval: u32,
    /// Whether a step is scheduled before the results of the one before it are back.
    pub async_scheduling: bool,
    /// Whether freed blocks without reusable content are taken first; older versions put all at the queue's end.
    pub unhashed_blocks_first: bool,
    /// Share of blocks that an admission must leave free while others run.
    pub watermark: f64,
    /// Whether a request is admitted only if all its known tokens fit, not just those of its first step.
    pub scheduler_reserve_full_isl: bool,
    /// In which order waiting requests are admitted.
    pub policy: Policy,
    /// Stated in `cache_config_info`; the capacity is [`Self::num_gpu_blocks`].
    pub gpu_memory_utilization: f64,
    /// Stated in `cache_config_info`.
    pub kv_cache_dtype: String,
    /// How long the GPU takes for a step.
    pub timing: Timing,
    /// Time of a step on the host, seconds: what an overlapped scheduler leaves on the way (fitted: 0.36 ms).
    pub host_seconds: f64,
    /// Time between a request's arrival at the server and its being ready for the engine's core, seconds: parsing and
    /// tokenising.
    pub frontend_seconds: f64,
    /// Random spread of step times.
    pub noise: Noise,
    /// Mean length of answers that end of themselves, tokens.
    pub mean_output_tokens: f64,
    /// Which toy model answers: equal seeds give equal answers to equal prompts.
    pub model_seed: u64,
    /// How tokens are chosen and what is told of it.
    pub sampler: Sampler,
    /// Resident memory of the API server at rest, bytes: what the metrics page states in virtual time.
    pub resident_bytes: f64,
    /// What all time on the GPU is multiplied by: a slower board, lower clocks.
    pub gpu_slowness: f64,
    /// CUDA graphs.
    pub graphs: Graphs,
    /// The host beside the GPU.
    pub host: Host,
    /// Several GPUs that take each step together.
    pub parallel: Parallel,
    /// Speculative decoding; `None`: off.
    pub speculation: Option<Speculation>,
    /// Structured output.
    pub structured: Structured,
    /// A second tier of the KV cache; `None`: there is none.
    pub offload: Option<Offload>,
    /// The encoder of images; `None`: the model takes text only.
    pub encoder: Option<Encoder>,
    /// The processes between the network and the core.
    pub frontend: Frontend,
    /// Bugs.
    pub defects: Defects,
    /// Memory of the GPUs at the start, and of the host.
    pub memory: Memory,
    /// The machine as its own tools see it.
    pub machine: Machine,
    /// Where its ranks stand while it hangs; `None`: it does not.
    pub hang: Option<Hang>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            engine: EngineKind::Vllm,
            sglang: Sglang::default(),
            model_name: "llama-3.1-8b".into(),
            version: "0.32.0".into(),
            num_gpu_blocks: 27_000,
            block_size: 16,
            max_num_seqs: 1024,
            max_num_batched_tokens: 8192,
            max_model_len: 131_072,
            enable_prefix_caching: true,
            enable_chunked_prefill: true,
            long_prefill_token_threshold: 0,
            long_prefill_token_threshold_adaptive: false,
            max_num_queued_reqs: None,
            max_num_queued_tokens: None,
            prefill_schedule_interval: 1,
            async_scheduling: false,
            unhashed_blocks_first: true,
            watermark: 0.0,
            scheduler_reserve_full_isl: true,
            policy: Policy::Fcfs,
            gpu_memory_utilization: 0.92,
            kv_cache_dtype: "auto".into(),
            timing: Timing::default(),
            host_seconds: 0.000_36,
            frontend_seconds: 0.002,
            noise: Noise::default(),
            mean_output_tokens: 200.0,
            model_seed: 0,
            sampler: Sampler::default(),
            resident_bytes: 1e9,
            gpu_slowness: 1.0,
            graphs: Graphs::default(),
            host: Host::default(),
            parallel: Parallel::default(),
            speculation: None,
            structured: Structured::default(),
            offload: None,
            encoder: None,
            frontend: Frontend::default(),
            defects: Defects::default(),
            memory: Memory::default(),
            machine: Machine::default(),
            hang: None,
        }
    }
}

impl EngineConfig {
    /// The defaults of SGLang 0.5.23 serving Llama 3.1 8B on one H100.
    pub fn sglang() -> Self {
        Self { engine: EngineKind::Sglang, version: "0.5.23".into(), ..Self::default() }
    }

    /// Whether an engine can start with it.
    ///
    /// # Errors
    /// The first parameter that is out of range, or the pair that does not go together.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let whole = [
            ("num_gpu_blocks", self.num_gpu_blocks, 2, 1 << 28, "2 to 268435456"),
            ("block_size", self.block_size, 1, 1 << 16, "1 to 65536"),
            ("max_num_seqs", self.max_num_seqs, 1, 1 << 20, "1 to 1048576"),
            ("max_num_batched_tokens", self.max_num_batched_tokens, 1, MOST_STEP_TOKENS, "1 to 16777216"),
            ("max_model_len", self.max_model_len, 2, 1 << 24, "2 to 16777216"),
            ("prefill_schedule_interval", self.prefill_schedule_interval, 1, 1 << 20, "1 to 1048576"),
        ];
        for (name, value, least, most, expected) in whole {
            within(name, value, least, most, expected)?;
        }
        let real = [
            ("watermark", self.watermark, 0.0, 0.9, "0 to 0.9"),
            ("gpu_memory_utilization", self.gpu_memory_utilization, 0.0, 1.0, "0 to 1"),
            ("host_seconds", self.host_seconds, 0.0, 10.0, "0 to 10 s"),
            ("frontend_seconds", self.frontend_seconds, 0.0, 60.0, "0 to 60 s"),
            ("noise.run_sd", self.noise.run_sd, 0.0, 2.0, "0 to 2"),
            ("noise.step_sd", self.noise.step_sd, 0.0, 2.0, "0 to 2"),
            ("mean_output_tokens", self.mean_output_tokens, 1.0, 1e6, "1 to 1000000"),
            ("resident_bytes", self.resident_bytes, 0.0, 1e15, "0 to 1e15"),
            ("gpu_slowness", self.gpu_slowness, 1e-3, 1e4, "0.001 to 10000"),
        ];
        for (name, value, least, most, expected) in real {
            within(name, value, least, most, expected)?;
        }
        self.timing.validate()?;
        self.sections()?;
        self.sampler.validate()?;
        match self.engine {
            EngineKind::Vllm => self.validate_vllm(),
            EngineKind::Sglang => self.sglang.validate(self.max_model_len),
        }
    }

    fn validate_vllm(&self) -> Result<(), ConfigError> {
        let (usable, needed) = (self.num_gpu_blocks - 1, self.max_model_len.div_ceil(self.block_size));
        if needed > usable {
            let (max_model_len, block_size) = (self.max_model_len, self.block_size);
            return Err(ConfigError::PoolTooSmall { max_model_len, needed, block_size, usable });
        }
        if !self.enable_chunked_prefill && self.max_num_batched_tokens < self.max_model_len {
            let (budget, max_model_len) = (self.max_num_batched_tokens, self.max_model_len);
            return Err(ConfigError::BudgetTooSmall { budget, max_model_len });
        }
        Ok(())
    }

    fn sections(&self) -> Result<(), ConfigError> {
        self.graphs.validate()?;
        self.host.validate()?;
        self.memory.validate()?;
        self.machine.validate()?;
        self.hang.as_ref().map_or(Ok(()), Hang::validate)?;
        self.parallel.validate()?;
        self.speculation.as_ref().map_or(Ok(()), Speculation::validate)?;
        self.structured.validate()?;
        self.offload.as_ref().map_or(Ok(()), Offload::validate)?;
        self.encoder.as_ref().map_or(Ok(()), Encoder::validate)?;
        self.frontend.validate()?;
        self.defects.validate()
    }

    /// Tokens that the KV cache holds.
    pub fn kv_tokens(&self) -> u64 {
        match self.engine {
            EngineKind::Vllm => u64::from(self.num_gpu_blocks.saturating_sub(1)) * u64::from(self.block_size),
            EngineKind::Sglang => u64::from(self.sglang.kv_tokens()),
        }
    }

    /// Blocks that an admission must leave free while others run.
    pub(crate) fn watermark_blocks(&self) -> u32 {
        (self.watermark * f64::from(self.num_gpu_blocks)) as u32
    }
}
