//! What a simulated deployment is: every rule as a named parameter.

use crate::timing::{Noise, Timing};
use serde::{Deserialize, Serialize};

/// In which order waiting requests are admitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// First come, first served; the victim of a preemption is the request admitted last.
    #[default]
    Fcfs,
}

/// A deployment of one engine. The defaults are those of vLLM 0.32 serving Llama 3.1 8B on one H100.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineConfig {
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
    /// Resident memory that the metrics page states in virtual time, bytes.
    pub resident_bytes: f64,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
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
            resident_bytes: 1e9,
        }
    }
}

/// A configuration that an engine would refuse at its start.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A parameter outside its range.
    #[error("{name} is {value}, but must be {expected}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// One sequence of the greatest length does not fit: it could block the queue for good.
    #[error(
        "one sequence of max_model_len = {max_model_len} needs {needed} KV blocks of {block_size} tokens, but only \
         {usable} are usable: raise num_gpu_blocks or lower max_model_len"
    )]
    PoolTooSmall {
        /// Longest sequence, tokens.
        max_model_len: u32,
        /// Blocks it needs.
        needed: u32,
        /// Tokens a block.
        block_size: u32,
        /// Blocks there are.
        usable: u32,
    },
    /// Without chunked prefill the longest prompt must fit into one step.
    #[error(
        "max_num_batched_tokens = {budget} is less than max_model_len = {max_model_len}: raise it, or set \
         enable_chunked_prefill"
    )]
    BudgetTooSmall {
        /// Token budget of a step.
        budget: u32,
        /// Longest sequence, tokens.
        max_model_len: u32,
    },
}

impl EngineConfig {
    /// Whether an engine can start with it.
    ///
    /// # Errors
    /// The first parameter that is out of range, or the pair that does not go together.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let whole = [
            ("num_gpu_blocks", self.num_gpu_blocks, 2, 1 << 28, "2 to 268435456"),
            ("block_size", self.block_size, 1, 1 << 16, "1 to 65536"),
            ("max_num_seqs", self.max_num_seqs, 1, 1 << 20, "1 to 1048576"),
            ("max_num_batched_tokens", self.max_num_batched_tokens, 1, 1 << 24, "1 to 16777216"),
            ("max_model_len", self.max_model_len, 2, 1 << 24, "2 to 16777216"),
        ];
        for (name, value, least, most, expected) in whole {
            if value < least || value > most {
                return Err(ConfigError::OutOfRange { name, value: value.to_string(), expected });
            }
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
        ];
        for (name, value, least, most, expected) in real {
            if !(least..=most).contains(&value) {
                return Err(ConfigError::OutOfRange { name, value: value.to_string(), expected });
            }
        }
        self.timing.validate()?;
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

    /// Tokens that the KV cache holds.
    pub fn kv_tokens(&self) -> u64 {
        u64::from(self.num_gpu_blocks.saturating_sub(1)) * u64::from(self.block_size)
    }

    /// Blocks that an admission must leave free while others run.
    pub(crate) fn watermark_blocks(&self) -> u32 {
        (self.watermark * f64::from(self.num_gpu_blocks)) as u32
    }
}
