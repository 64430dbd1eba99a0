//! What a deployment is.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a deployment says it is: fields by name, each with where it was read. Secrets never enter it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub BTreeMap<String, Stated>);

/// A value with where it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated {
    /// The value as text.
    pub value: String,
    /// Where it was read: `/version`, `/metrics`, `run file`.
    pub from: String,
}

/// Names of the fields that code asks for. Others may stand beside them under the engine's own names.
pub mod field {
    /// `vllm`, `sglang`, …
    pub const ENGINE: &str = "engine";
    /// The engine's version.
    pub const ENGINE_VERSION: &str = "engine_version";
    /// Model as served.
    pub const MODEL: &str = "model";
    /// Longest sequence, tokens.
    pub const MAX_MODEL_LEN: &str = "max_model_len";
    /// KV blocks of one replica.
    pub const KV_BLOCKS: &str = "kv_blocks";
    /// Tokens a KV block.
    pub const KV_BLOCK_SIZE: &str = "kv_block_size";
    /// Whether prefix caching is on.
    pub const PREFIX_CACHING: &str = "prefix_caching";
    /// Upper bound on running requests.
    pub const MAX_NUM_SEQS: &str = "max_num_seqs";
    /// Token budget of a step.
    pub const MAX_NUM_BATCHED_TOKENS: &str = "max_num_batched_tokens";
    /// GPU memory share the engine may use.
    pub const GPU_MEMORY_UTILIZATION: &str = "gpu_memory_utilization";
    /// Data type of the KV cache.
    pub const KV_CACHE_DTYPE: &str = "kv_cache_dtype";
}

impl Fingerprint {
    /// Sets `name`, replacing an earlier value.
    pub fn set(&mut self, name: &str, value: impl Into<String>, from: &str) {
        self.0.insert(name.into(), Stated { value: value.into(), from: from.into() });
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|stated| stated.value.as_str())
    }

    /// The value of `name` as a number, if it is one.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.parse().ok()
    }

    /// Fields that both have with different values: (name, ours, theirs).
    pub fn differences<'a>(&'a self, other: &'a Self) -> Vec<(&'a str, &'a str, &'a str)> {
        let both =
            self.0.iter().filter_map(|(name, ours)| Some((name.as_str(), ours.value.as_str(), other.get(name)?)));
        both.filter(|(_, ours, theirs)| ours != theirs).collect()
    }
}
