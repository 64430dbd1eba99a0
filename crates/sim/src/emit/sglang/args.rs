//! What a server was started with: as its log prints it, and as it answers to `/server_info`.

use crate::{
    config::{EngineConfig, GraphMode},
    emit::version::Version,
    memory::ledger,
};
#[cfg(feature = "serve")]
use serde_json::Map;
use serde_json::{Value, json};

/// `server_args=…`: a dictionary of resolved values from 0.5.23 on, before that the text of a Python object.
pub(super) fn line(config: &EngineConfig, version: Version, port: u16) -> String {
    let pairs = pairs(config, port);
    if version >= Version::new(0, 5, 23) {
        let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("'{name}': {}", python(value))).collect();
        format!("server_args={{{}}}", pairs.join(", "))
    } else {
        let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", python(value))).collect();
        format!("server_args=ServerArgs({})", pairs.join(", "))
    }
}

/// The answer to `/server_info`: the arguments, the version, and the pool.
#[cfg(feature = "serve")]
pub(crate) fn server_info(config: &EngineConfig, port: u16) -> Value {
    let mut answer: Map<String, Value> =
        pairs(config, port).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    answer.insert("max_total_num_tokens".into(), json!(config.sglang.kv_tokens()));
    answer.insert("max_req_input_len".into(), json!(config.max_model_len.saturating_sub(6)));
    answer.insert("version".into(), json!(config.version));
    answer.insert("frontend".into(), json!("python"));
    Value::Object(answer)
}

/// The arguments that the simulated server has, in the order of the real one.
fn pairs(config: &EngineConfig, port: u16) -> Vec<(&'static str, Value)> {
    let (rules, ranks) = (&config.sglang, config.parallel.data.of);
    let eviction = format!("{:?}", rules.radix_eviction_policy).to_ascii_lowercase();
    vec![
        ("model_path", json!(config.model_name)),
        ("tokenizer_path", json!(config.model_name)),
        ("context_length", json!(config.max_model_len)),
        ("host", json!("0.0.0.0")),
        ("port", json!(port)),
        ("dtype", json!("auto")),
        ("quantization", Value::Null),
        ("kv_cache_dtype", json!(config.kv_cache_dtype)),
        ("mem_fraction_static", json!(rules.mem_fraction_static)),
        ("max_running_requests", json!(rules.max_running_requests)),
        ("max_total_tokens", json!(rules.max_total_num_tokens)),
        ("chunked_prefill_size", rules.chunked_prefill_size.map_or_else(|| json!(-1), |size| json!(size))),
        ("prefill_max_requests", json!(rules.prefill_max_requests)),
        ("max_prefill_tokens", json!(rules.max_prefill_tokens)),
        ("schedule_policy", json!(rules.schedule_policy.name())),
        ("schedule_conservativeness", json!(rules.schedule_conservativeness)),
        ("page_size", json!(rules.page_size)),
        // Attention ranks share the GPUs over which everything else is split.
        ("tp_size", json!((ledger::ledgers(config).len() as u32).max(ranks))),
        ("dp_size", json!(ranks)),
        ("enable_dp_attention", json!(ranks > 1)),
        ("served_model_name", json!(config.model_name)),
        ("enable_metrics", json!(true)),
        ("decode_log_interval", json!(rules.decode_log_interval)),
        ("prefill_decode_interval", json!(rules.prefill_decode_interval)),
        ("disable_radix_cache", json!(rules.disable_radix_cache)),
        ("radix_eviction_policy", json!(eviction)),
        ("disable_cuda_graph", json!(config.graphs.mode == GraphMode::None)),
        ("disable_overlap_schedule", json!(rules.disable_overlap_schedule)),
        ("enable_mixed_chunk", json!(rules.enable_mixed_chunk)),
        ("retraction_policy", json!("length")),
    ]
}

/// A value as Python prints it.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        other => other.to_string(),
    }
}
