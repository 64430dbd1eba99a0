//! What a simulated server would say of itself.

use crate::config::{EngineConfig, EngineKind};
use firstcheck_model::fingerprint::{Fingerprint, field};

/// What the server would say of itself, with where it would say it.
pub(super) fn fingerprint(config: &EngineConfig) -> Fingerprint {
    let mut fingerprint = Fingerprint::default();
    let fields = match config.engine {
        EngineKind::Vllm => vllm(config),
        EngineKind::Sglang => sglang(config),
    };
    for (name, value, from) in fields.into_iter().chain(ranks(config)) {
        fingerprint.set(name, value, from);
    }
    fingerprint
}

/// What a server of several attention ranks says of them.
fn ranks(config: &EngineConfig) -> Vec<Said> {
    let of = config.parallel.data.of;
    match config.engine {
        _ if of == 1 => Vec::new(),
        EngineKind::Vllm => vec![
            ("data_parallel_size", of.to_string(), "simulator"),
            ("enable_expert_parallel", "true".to_owned(), "simulator"),
        ],
        EngineKind::Sglang => vec![
            ("dp_size", of.to_string(), "/server_info"),
            ("enable_dp_attention", "true".to_owned(), "/server_info"),
        ],
    }
}

/// A field, its value, and where the server says it.
type Said = (&'static str, String, &'static str);

fn vllm(config: &EngineConfig) -> Vec<Said> {
    vec![
        (field::ENGINE, "vllm".to_owned(), "/metrics"),
        (field::ENGINE_VERSION, config.version.clone(), "/version"),
        (field::MODEL, config.model_name.clone(), "/v1/models"),
        (field::MAX_MODEL_LEN, config.max_model_len.to_string(), "/v1/models"),
        (field::KV_BLOCKS, config.num_gpu_blocks.to_string(), "/metrics"),
        (field::KV_BLOCK_SIZE, config.block_size.to_string(), "/metrics"),
        (field::PREFIX_CACHING, config.enable_prefix_caching.to_string(), "/metrics"),
        (field::GPU_MEMORY_UTILIZATION, config.gpu_memory_utilization.to_string(), "/metrics"),
        (field::KV_CACHE_DTYPE, config.kv_cache_dtype.clone(), "/metrics"),
        (field::MAX_NUM_SEQS, config.max_num_seqs.to_string(), "simulator"),
        (field::MAX_NUM_BATCHED_TOKENS, config.max_num_batched_tokens.to_string(), "simulator"),
    ]
}

fn sglang(config: &EngineConfig) -> Vec<Said> {
    let rules = &config.sglang;
    let pages = rules.kv_tokens() / rules.page_size.max(1);
    let mut said = vec![
        (field::ENGINE, "sglang".to_owned(), "/metrics"),
        (field::ENGINE_VERSION, config.version.clone(), "/server_info"),
        (field::MODEL, config.model_name.clone(), "/v1/models"),
        (field::MAX_MODEL_LEN, config.max_model_len.to_string(), "/metrics"),
        (field::KV_BLOCKS, pages.to_string(), "/metrics"),
        (field::KV_BLOCK_SIZE, rules.page_size.to_string(), "/metrics"),
        ("max_total_num_tokens", rules.kv_tokens().to_string(), "/metrics"),
        (field::PREFIX_CACHING, (!rules.disable_radix_cache).to_string(), "/server_info"),
        (field::KV_CACHE_DTYPE, config.kv_cache_dtype.clone(), "/server_info"),
        (field::MAX_NUM_SEQS, rules.max_running_requests.to_string(), "/server_info"),
        ("max_prefill_tokens", rules.max_prefill_tokens.to_string(), "/server_info"),
        ("schedule_policy", rules.schedule_policy.name().to_owned(), "/server_info"),
        ("schedule_conservativeness", rules.schedule_conservativeness.to_string(), "/server_info"),
        ("mem_fraction_static", rules.mem_fraction_static.to_string(), "/server_info"),
    ];
    said.extend(rules.chunked_prefill_size.map(|size| ("chunked_prefill_size", size.to_string(), "/server_info")));
    said
}
