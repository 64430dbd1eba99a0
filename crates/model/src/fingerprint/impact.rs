//! What fields of a fingerprint are known to do to serving: the ranking of differences.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// What a field is known to do to serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Impact {
    /// It decides latency, capacity or the answers.
    High,
    /// It shows in some workloads.
    Medium,
    /// It rarely shows.
    Low,
    /// Nothing is known of it.
    Unknown,
}

/// What is known of some fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Names of fields; one that ends in `*` stands for all that begin so.
    pub fields: &'static [&'static str],
    /// How much.
    pub impact: Impact,
    /// What they do, in words.
    pub effect: &'static str,
}

macro_rules! known {
    ($($impact:ident: [$($field:literal),+] $effect:literal;)+) => {
        /// All that is known, the most telling first.
        pub static KNOWN: &[Known] = &[$(Known {
            fields: &[$($field),+], impact: Impact::$impact, effect: $effect,
        }),+];
    };
}

known! {
    High: ["engine"] "another engine: scheduler, kernels and metrics are its own";
    High: ["engine_version"] "kernels, scheduler and defaults change with the version";
    High: ["model", "model_root", "weights_hash", "weights_layout", "weights_bytes", "quantization", "architectures", "num_hidden_layers", "hidden_size", "num_key_value_heads"] "another model: bytes a token and the answers change";
    High: ["gpu_model", "gpu_count", "gpu_memory", "gpu_mig", "cpu_model"] "compute, bandwidth and memory that everything else is bound by";
    High: ["enforce_eager", "cudagraph_mode", "compilation_mode", "optimization_level", "disable_cuda_graph", "cuda_graph_max_bs", "max_cudagraph_capture_size", "cudagraph_capture_sizes"] "without graphs every decode step pays for launching its kernels: ITL, most of all at small batches";
    High: ["attention_backend", "attention_config.backend", "moe_backend", "linear_backend", "kernel_config.moe_backend", "kernel_config.linear_backend", "prefill_attention_backend", "decode_attention_backend", "sampling_backend", "compilation_config.backend", "compilation_config.custom_ops"] "another kernel in every step";
    High: ["kv_tokens", "kv_blocks", "kv_concurrency", "max_total_num_tokens", "kv_cache_size_tokens", "kv_cache_max_concurrency", "kv_cache_memory_bytes", "cpu_kvcache_space_bytes", "gpu_memory_utilization", "mem_fraction_static", "swap_space", "env.VLLM_CPU_KVCACHE_SPACE"] "room for KV: with too little requests wait or are preempted";
    High: ["max_num_seqs", "max_running_requests", "max_num_batched_tokens", "chunked_prefill_size", "max_prefill_tokens", "enable_chunked_prefill", "long_prefill_token_threshold", "max_num_partial_prefills", "max_long_partial_prefills"] "how many requests and prompt tokens share a step: queue against ITL";
    High: ["prefix_caching", "disable_radix_cache", "prefix_caching_hash_algo", "prefix_cache_retention_interval", "kv_block_size"] "what of a prompt need not be computed again: TTFT";
    High: ["tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "decode_context_parallel_size", "prefill_context_parallel_size", "enable_expert_parallel", "tp_size", "dp_size", "pp_size", "ep_size", "world_size"] "how the model is split: memory a device, and collectives in every step";
    High: ["dtype", "kv_cache_dtype"] "bytes a weight and a KV entry, and the answers";
    High: ["speculative_config*", "speculative_*"] "tokens a step, and what a rejected draft costs";
    High: ["async_scheduling", "scheduler_reserve_full_isl", "policy", "schedule_policy", "schedule_conservativeness", "env.VLLM_USE_V1", "env.VLLM_USE_V2_MODEL_RUNNER", "disable_overlap_schedule"] "in which order and when requests are admitted";
    High: ["max_model_len"] "the longest sequence: what the KV cache must at least hold, and what graphs are sized for";
    High: ["profiler", "observability_config.enable_layerwise_nvtx_tracing", "observability_config.collect_detailed_traces"] "watching costs time in every step";
    High: ["env.VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "memory.*"] "what the KV cache is sized from";
    Medium: ["chat_template_hash", "tokenizer_hash", "tokenizer", "tokenizer_mode", "vocab_size"] "the same text becomes other tokens: lengths, cache hits, answers";
    Medium: ["generation_config*", "override_generation_config*"] "sampling defaults: lengths of answers and their quality";
    Medium: ["driver_version", "cuda_version", "torch_version", "nccl_version", "triton_version", "flashinfer_version", "flash_attn_version", "cublas_version", "cudnn_version", "package.*"] "kernels and collectives come with these";
    Medium: ["gpu_power_limit_watts", "gpu_sm_clock_max_mhz", "gpu_memory_clock_max_mhz", "gpu_throttled_by", "gpu_ecc", "gpu_confidential_computing"] "how fast the device may run";
    Medium: ["gpu_links", "gpu_numa", "gpu_pcie", "nccl_network", "nccl_devices", "nccl_paths", "all2all_backend", "disable_custom_all_reduce", "distributed_executor_backend", "collective_backend"] "what collectives and copies run over";
    Medium: ["gpu_co_tenants", "cpu_count"] "who else is on the device and the host";
    Medium: ["compilation_*", "cudagraph_*", "kernel_config.*"] "which operations are fused and compiled";
    Medium: ["attention_config.*", "mamba_*"] "details of a kernel";
    Medium: ["lora*", "adapter*"] "adapters add work to every step";
    Medium: ["kv_transfer_config*", "kv_connector", "kv_offloading_*", "offload_config*", "cpu_offload_gb", "hicache_*"] "KV or weights travel between tiers";
    Medium: ["structured_outputs_config.*", "grammar_backend"] "how structured answers are forced";
    Medium: ["front", "router", "server_header", "address"] "what stands between client and engine";
    Medium: ["env.*"] "an environment variable of the engine";
    Low: ["load_config*", "load_format", "safetensors_load_strategy", "ignore_patterns"] "how fast a server starts";
    Low: ["gpu_sm_clock_mhz", "gpu_memory_clock_mhz", "gpu_power_watts", "gpu_memory_used", "gpu_memory_reserved", "gpu_utilisation"] "a moment's state: compare it under load only";
    Low: ["observability_config.*", "logging_config.*", "profiler_config.*"] "what the engine says of itself";
    Low: ["python_version", "os", "kernel_version"] "the host's software";
}

/// What is known of a field.
pub fn of(name: &str) -> Option<&'static Known> {
    place(name).map(|at| &KNOWN[at])
}

fn place(name: &str) -> Option<usize> {
    // What was given counts as what it sets.
    let name = name.strip_prefix(super::field::GIVEN).unwrap_or(name);
    let exact = KNOWN.iter().position(|known| known.fields.contains(&name));
    exact.or_else(|| {
        let begins = |pattern: &&&str| pattern.strip_suffix('*').is_some_and(|start| name.starts_with(start));
        KNOWN.iter().position(|known| known.fields.iter().any(|field| begins(&field)))
    })
}

/// By what fields are ordered: the most telling first, those of which nothing is known last.
pub fn rank(name: &str) -> (usize, String) {
    (place(name).unwrap_or(KNOWN.len()), name.to_owned())
}

/// The table as Markdown.
pub fn page() -> String {
    let mut page = String::from("| impact | fields | what they do |\n|---|---|---|\n");
    for known in KNOWN {
        let impact = match known.impact {
            Impact::High => "high",
            Impact::Medium => "medium",
            Impact::Low => "low",
            Impact::Unknown => "unknown",
        };
        let fields: Vec<String> = known.fields.iter().map(|field| format!("`{field}`")).collect();
        let _ = writeln!(page, "| {impact} | {} | {} |", fields.join(", "), known.effect);
    }
    page
}
