//! A second tier of the KV cache in host memory or beyond.

use super::error::{ConfigError, seconds, within};
use serde::{Deserialize, Serialize};

/// A tier that keeps KV blocks when the GPU's pool evicts them. Every block is stored as it is computed; an admission
/// that finds more in the tier than on the GPU waits for a copy before it is scheduled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Offload {
    /// Where it is, as the metrics name it: `host`, `disk`, `p2p`, anything else.
    pub tier: String,
    /// Tokens that it holds; the least recently used go first.
    pub capacity_tokens: u64,
    /// KV bytes a token.
    pub bytes_per_token: f64,
    /// Rate of copies, bytes a second and direction.
    pub bytes_per_second: f64,
    /// Fixed time of a copy operation, seconds.
    pub operation_seconds: f64,
    /// Tokens that one operation copies.
    pub operation_tokens: u32,
    /// Time to look a request up, seconds.
    pub lookup_seconds: f64,
    /// Whether stores and loads share the link, so that loads wait behind stores; else only loads behind loads.
    pub stores_block_loads: bool,
    /// Whether a load is waited for within the step, which stalls the whole batch; else the request waits by itself.
    pub loads_block_steps: bool,
    /// Fewest tokens worth a load; shorter finds are computed.
    pub min_hit_tokens: u32,
    /// Most loads at a time; `None`: no such limit. A request that finds no place is computed.
    pub max_loads: Option<u32>,
}

impl Default for Offload {
    fn default() -> Self {
        Self {
            tier: "host".into(),
            capacity_tokens: 2_000_000,
            bytes_per_token: 131_072.0,
            bytes_per_second: 25e9,
            operation_seconds: 10e-6,
            operation_tokens: 256,
            lookup_seconds: 0.000_5,
            stores_block_loads: false,
            loads_block_steps: false,
            min_hit_tokens: 0,
            max_loads: None,
        }
    }
}

impl Offload {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        within("offload.bytes_per_token", self.bytes_per_token, 1.0, 1e12, "1 to 1e12")?;
        within("offload.bytes_per_second", self.bytes_per_second, 1.0, 1e18, "1 to 1e18")?;
        seconds("offload.operation_seconds", self.operation_seconds)?;
        within("offload.operation_tokens", self.operation_tokens, 1, u32::MAX, "1 or more")?;
        seconds("offload.lookup_seconds", self.lookup_seconds)
    }
}
