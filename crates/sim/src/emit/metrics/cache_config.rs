//! The KV cache's configuration as labels of a gauge that is always 1.

use super::{EngineLabels, Family, FamilyKind, Release, Sample};
use crate::config::EngineConfig;
use firstcheck_model::signal::Part;
use std::borrow::Cow;

/// Only what the simulated engine has is stated: a subset of the real labels of that version.
pub(super) fn info(release: Release, config: &EngineConfig) -> Family<'_> {
    let truth = |yes: bool| Cow::Borrowed(if yes { "True" } else { "False" });
    let mut labels = vec![
        ("block_size", Cow::Owned(config.block_size.to_string())),
        ("cache_dtype", Cow::Borrowed(config.kv_cache_dtype.as_str())),
        ("enable_prefix_caching", truth(config.enable_prefix_caching)),
        ("gpu_memory_utilization", Cow::Owned(config.gpu_memory_utilization.to_string())),
        ("is_attention_free", truth(false)),
        ("num_cpu_blocks", Cow::Borrowed("None")),
        ("num_gpu_blocks", Cow::Owned(config.num_gpu_blocks.to_string())),
        ("num_gpu_blocks_override", Cow::Borrowed("None")),
        ("prefix_caching_hash_algo", Cow::Borrowed("sha256")),
        ("sliding_window", Cow::Borrowed("None")),
    ];
    if release >= Release::V0_20 {
        // The engine counts the null block here, although no request can have it.
        let tokens = u64::from(config.num_gpu_blocks) * u64::from(config.block_size);
        let concurrency = tokens as f64 / f64::from(config.max_model_len);
        labels.push(("kv_cache_max_concurrency", Cow::Owned(format!("{concurrency:?}"))));
        labels.push(("kv_cache_size_tokens", Cow::Owned(tokens.to_string())));
    }
    Family {
        name: "vllm:cache_config_info",
        help: "Information of the LLMEngine CacheConfig",
        kind: FamilyKind::Gauge,
        engine_labels: EngineLabels::Engine,
        samples: vec![Sample { part: Part::Value, labels, value: 1.0 }],
    }
}
