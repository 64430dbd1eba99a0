//! What the user gave and what the engine resolved, as the log prints both.

use super::style::Style;
use crate::{
    config::{EngineConfig, GraphMode},
    memory::ledger,
};

/// A default that a release has for a server on a large GPU.
struct Defaults {
    utilization: f64,
    max_num_seqs: u32,
    max_num_batched_tokens: u32,
}

impl Defaults {
    fn of(style: &Style) -> Self {
        let utilization = if style.since(20) { 0.92 } else { 0.9 };
        Self { utilization, max_num_seqs: 1024, max_num_batched_tokens: 8192 }
    }
}

/// A Python dictionary of the arguments that are not at the default.
pub(super) fn non_default(config: &EngineConfig, style: &Style, port: u16, access: bool) -> String {
    let defaults = Defaults::of(style);
    let model = quoted(&config.model_name);
    let mut pairs = vec![("model_tag", model.clone()), ("port", port.to_string()), ("model", model)];
    let mut add = |differs: bool, name, value: String| {
        if differs {
            pairs.push((name, value));
        }
    };
    let (memory, truth) = (&config.memory, |yes: bool| if yes { "True" } else { "False" }.to_owned());
    add(true, "max_model_len", config.max_model_len.to_string());
    let ranks = style.ranks;
    add(ranks > 1, "tensor_parallel_size", ranks.to_string());
    add(style.data_ranks > 1, "data_parallel_size", style.data_ranks.to_string());
    add(style.data_ranks > 1, "enable_expert_parallel", truth(true));
    add(config.graphs.mode == GraphMode::None, "enforce_eager", truth(true));
    add(config.block_size != 16, "block_size", config.block_size.to_string());
    let utilization = config.gpu_memory_utilization;
    add(utilization != defaults.utilization, "gpu_memory_utilization", utilization.to_string());
    add(config.kv_cache_dtype != "auto", "kv_cache_dtype", quoted(&config.kv_cache_dtype));
    let kv_bytes = memory.kv_gib.map(|size| (size * crate::memory::GIB).round());
    add(kv_bytes.is_some(), "kv_cache_memory_bytes", kv_bytes.unwrap_or(0.0).to_string());
    let by_hand = ledger::stated_pool(config);
    add(by_hand.is_some(), "num_gpu_blocks_override", by_hand.unwrap_or(0).to_string());
    add(!config.enable_prefix_caching, "enable_prefix_caching", truth(false));
    let (budget, seats) = (config.max_num_batched_tokens, config.max_num_seqs);
    add(budget != defaults.max_num_batched_tokens, "max_num_batched_tokens", budget.to_string());
    add(seats != defaults.max_num_seqs, "max_num_seqs", seats.to_string());
    let long = config.long_prefill_token_threshold;
    add(long != 0, "long_prefill_token_threshold", long.to_string());
    add(!config.enable_chunked_prefill, "enable_chunked_prefill", truth(false));
    add(!access, "disable_uvicorn_access_log", truth(true));
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("'{name}': {value}")).collect();
    format!("{{{}}}", pairs.join(", "))
}

/// The resolved configuration as `key=value`, those keys of it that the simulated engine has.
pub(super) fn resolved(config: &EngineConfig, style: &Style) -> String {
    let truth = |yes: bool| if yes { "True" } else { "False" };
    let model = quoted(&config.model_name);
    let mode = match config.graphs.mode {
        GraphMode::FullAndPiecewise => "<CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>",
        GraphMode::Full => "<CUDAGraphMode.FULL: 2>",
        GraphMode::FullDecodeOnly => "<CUDAGraphMode.FULL_DECODE_ONLY: (2, 0)>",
        GraphMode::Piecewise => "<CUDAGraphMode.PIECEWISE: 1>",
        GraphMode::None => "<CUDAGraphMode.NONE: 0>",
    };
    let sizes: Vec<String> = config.graphs.sizes(config.max_num_seqs).iter().map(u32::to_string).collect();
    format!(
        "model={model}, speculative_config={}, tokenizer={model}, skip_tokenizer_init=False, tokenizer_mode=auto, \
         revision=None, trust_remote_code=False, dtype=torch.bfloat16, max_seq_len={}, download_dir=None, \
         load_format=auto, tensor_parallel_size={}, pipeline_parallel_size=1, data_parallel_size={}, \
         disable_custom_all_reduce=False, quantization=None, enforce_eager={}, kv_cache_dtype={}, device_config=cuda, \
         seed=0, served_model_name={}, enable_prefix_caching={}, enable_chunked_prefill={}, \
         compilation_config={{'mode': <CompilationMode.VLLM_COMPILE: 3>, 'cudagraph_mode': {mode}, \
         'cudagraph_capture_sizes': [{}], 'max_cudagraph_capture_size': {}}}",
        speculation(config),
        config.max_model_len,
        style.ranks,
        style.data_ranks,
        truth(config.graphs.mode == GraphMode::None),
        config.kv_cache_dtype,
        config.model_name,
        truth(config.enable_prefix_caching),
        truth(config.enable_chunked_prefill),
        sizes.join(", "),
        sizes.last().map_or("0", String::as_str),
    )
}

fn speculation(config: &EngineConfig) -> String {
    match &config.speculation {
        None => "None".into(),
        Some(speculation) => {
            format!("SpeculativeConfig(method='{}', num_spec_tokens={})", speculation.method, speculation.tokens)
        }
    }
}

/// A string as Python prints it.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
    format!("'{escaped}'")
}
