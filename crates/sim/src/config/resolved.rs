//! What a server of a given version resolves its parameters to when its user sets none.

use super::{ConfigError, EngineConfig, GraphMode, Graphs};
use firstcheck_model::hardware::Gpu;

const GIB: f64 = (1u64 << 30) as f64;

impl EngineConfig {
    /// The scheduler's and cache's parameters of an OpenAI-compatible vLLM server of `version` on `gpu`, nothing set by
    /// its user; all else as in the default. KV blocks are not resolved: they depend on the memory that is left.
    ///
    /// # Errors
    /// A version that is not two or three numbers with dots between them.
    pub fn resolved(version: &str, gpu: &Gpu) -> Result<Self, ConfigError> {
        let number = release(version).ok_or_else(|| ConfigError::OutOfRange {
            name: "version",
            value: version.into(),
            expected: "a release such as 0.32.0",
        })?;
        let a100 = gpu.name.to_ascii_lowercase().contains("a100");
        let gib = gpu.memory.0 / GIB;
        let (max_num_batched_tokens, max_num_seqs) = match () {
            () if gib >= 160.0 => (if number > (0, 26) { 16_384 } else { 8192 }, 1024),
            () if gib >= 70.0 && !a100 => (8192, 1024),
            () => (2048, 256),
        };
        let mode = if number >= (0, 11) { GraphMode::FullAndPiecewise } else { GraphMode::Piecewise };
        Ok(Self {
            version: version.into(),
            max_num_batched_tokens,
            max_num_seqs,
            gpu_memory_utilization: if number >= (0, 20) { 0.92 } else { 0.9 },
            async_scheduling: number >= (0, 14),
            scheduler_reserve_full_isl: number >= (0, 20),
            unhashed_blocks_first: number >= (0, 20),
            graphs: Graphs { mode, ..Graphs::default() },
            ..Self::default()
        })
    }
}

/// The first two numbers of a version.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
        _ => None,
    }
}
