//! From the engines' own endpoints: `/version`, `/v1/models`, `/server_info`.

use super::redact::set;
use firstcheck_model::fingerprint::{Fingerprint, field};
use serde_json::{Map, Value};

/// Settings that have a name of ours, by the engines' own.
const OURS: [(&str, &str); 17] = [
    ("num_gpu_blocks", field::KV_BLOCKS),
    ("block_size", field::KV_BLOCK_SIZE),
    ("page_size", field::KV_BLOCK_SIZE),
    ("enable_prefix_caching", field::PREFIX_CACHING),
    ("gpu_memory_utilization", field::GPU_MEMORY_UTILIZATION),
    ("cache_dtype", field::KV_CACHE_DTYPE),
    ("kv_cache_dtype", field::KV_CACHE_DTYPE),
    ("max_num_seqs", field::MAX_NUM_SEQS),
    ("max_running_requests", field::MAX_NUM_SEQS),
    ("max_num_batched_tokens", field::MAX_NUM_BATCHED_TOKENS),
    ("max_model_len", field::MAX_MODEL_LEN),
    ("max_seq_len", field::MAX_MODEL_LEN),
    ("context_length", field::MAX_MODEL_LEN),
    ("served_model_name", field::MODEL),
    ("version", field::ENGINE_VERSION),
    ("vllm_version", field::ENGINE_VERSION),
    ("model_path", "model_root"),
];

/// Parts of vLLM's configuration whose scalars are settings of the engine (not of the host it runs on).
const VLLM_SECTIONS: [(&str, &[&str]); 6] = [
    ("model_config", &["model", "dtype", "max_model_len", "quantization", "enforce_eager", "served_model_name"]),
    ("cache_config", &[]),
    ("scheduler_config", &[]),
    (
        "parallel_config",
        &["tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel"],
    ),
    ("compilation_config", &["mode", "cudagraph_mode"]),
    ("speculative_config", &["method", "model", "num_speculative_tokens"]),
];

/// What SGLang's answer holds besides settings: how it was started (keys may stand in it), and states.
const SGLANG_LEFT_OUT: [&str; 4] = ["launch_command", "startup_time", "internal_states", "host"];

fn object(json: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(json).ok()
}

/// Adds what `/version` says; `false` when the answer is not understood.
pub fn from_version(json: &[u8], from: &str, into: &mut Fingerprint) -> bool {
    let Some(Value::String(version)) = object(json).and_then(|o| o.get("version").cloned()) else { return false };
    set(into, field::ENGINE_VERSION, &version, from);
    true
}

/// Adds what `/v1/models` says of the first model; `false` when the answer is not understood.
pub fn from_models(json: &[u8], from: &str, into: &mut Fingerprint) -> bool {
    let Some(answer) = object(json) else { return false };
    let Some(model) = answer.get("data").and_then(|data| data.get(0)) else { return false };
    let Some(id) = model.get("id").and_then(Value::as_str) else { return false };
    set(into, field::MODEL, id, from);
    if let Some(root) = model.get("root").and_then(scalar) {
        set(into, "model_root", &root, from);
    }
    if let Some(length) = model.get("max_model_len").and_then(scalar) {
        set(into, field::MAX_MODEL_LEN, &length, from);
    }
    if let Some(owner @ ("vllm" | "sglang")) = model.get("owned_by").and_then(Value::as_str) {
        set(into, field::ENGINE, owner, from);
    }
    true
}

/// Adds what `/server_info` of vLLM (as JSON or text) or SGLang says; `false` when the answer is not understood.
pub fn from_server_info(json: &[u8], from: &str, into: &mut Fingerprint) -> bool {
    let Some(answer) = object(json) else { return false };
    match answer.get("vllm_config") {
        Some(Value::Object(config)) => vllm(config, &answer, from, into),
        Some(Value::String(text)) => vllm_text(text, from, into),
        _ if answer.contains_key("model_path") => sglang(&answer, from, into),
        _ => return false,
    }
    true
}

fn vllm(config: &Map<String, Value>, answer: &Map<String, Value>, from: &str, into: &mut Fingerprint) {
    set(into, field::ENGINE, "vllm", from);
    for (section, wanted) in VLLM_SECTIONS {
        let Some(Value::Object(settings)) = config.get(section) else { continue };
        for (name, value) in settings.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(&name.as_str())) {
            let Some(value) = scalar(value) else { continue };
            match ours(name) {
                Some(name) => set(into, name, &value, from),
                None if section == "model_config" && name == "model" => set(into, "model_root", &value, from),
                None if section == "speculative_config" => set(into, &format!("speculative_{name}"), &value, from),
                None => set(into, name, &value, from),
            }
        }
    }
    if let Some(version) = answer.get("system_env").and_then(|env| env.get("vllm_version")).and_then(scalar) {
        set(into, field::ENGINE_VERSION, &version, from);
    }
}

/// The text form is a Python representation; only flat `name=value` pairs of settings that have a name of ours, or that
/// say how the model is split, can be told from it.
fn vllm_text(text: &str, from: &str, into: &mut Fingerprint) {
    set(into, field::ENGINE, "vllm", from);
    const FLAT: [&str; 6] = [
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "data_parallel_size",
        "dtype",
        "quantization",
        "enforce_eager",
    ];
    for pair in text.split(", ") {
        let Some((name, value)) = pair.split_once('=') else { continue };
        let value = value.trim_matches(['\'', '"']);
        if value.contains(['(', '{', '[', '=']) {
            continue;
        }
        if let Some(name) = ours(name).or_else(|| FLAT.into_iter().find(|flat| *flat == name)) {
            set(into, name, value, from);
        }
    }
}

fn sglang(answer: &Map<String, Value>, from: &str, into: &mut Fingerprint) {
    set(into, field::ENGINE, "sglang", from);
    for (name, value) in answer.iter().filter(|(name, _)| !SGLANG_LEFT_OUT.contains(&name.as_str())) {
        if let Some(value) = scalar(value) {
            set(into, ours(name).unwrap_or(name), &value, from);
        }
    }
    // The flag says what is off.
    if let Some(off) = answer.get("disable_radix_cache").and_then(Value::as_bool) {
        set(into, field::PREFIX_CACHING, if off { "False" } else { "True" }, from);
    }
}

fn ours(name: &str) -> Option<&'static str> {
    OURS.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours)
}

/// A scalar as the metrics page would write it (`True`, as Python does), so that both sources compare equal.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("True".into()),
        Value::Bool(false) => Some("False".into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
