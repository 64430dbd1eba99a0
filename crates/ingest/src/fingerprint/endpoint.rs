//! From the engines' own endpoints: `/version`, `/v1/models`, `/server_info`.

use super::{
    environment::{from_environment, from_packages},
    names::{group_of, is_of_instance, setting_name},
    redact::{Place, set, state},
};
use crate::{json::clip, log::settings::settings as settings_of};
use firstcheck_model::fingerprint::{Fingerprint, Group, UNSET, field};
use serde_json::{Map, Value};

/// Levels of vLLM's configuration that are taken apart.
const DEPTH: usize = 4;

/// Settings of one answer that are kept at most.
const MOST_SETTINGS: usize = 4_000;

/// Characters of a value that are kept.
const LONGEST_VALUE: usize = 400;

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
        set(into, field::MODEL_ROOT, &root, from);
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
    let mut left = MOST_SETTINGS;
    settings("", config, from, into, DEPTH, &mut left);
    if let Some(Value::Object(variables)) = answer.get("vllm_env") {
        for (name, value) in variables.iter().filter(|(name, _)| !is_of_instance(name)) {
            if let Some(value) = scalar(value) {
                set(into, &format!("{}{name}", field::ENV), &value, from);
            }
        }
    }
    if let Some(Value::Object(host)) = answer.get("system_env") {
        system(host, from, into);
    }
}

/// Settings of a nested configuration, each under its name.
fn settings(
    outer: &str,
    object: &Map<String, Value>,
    from: &str,
    into: &mut Fingerprint,
    depth: usize,
    left: &mut usize,
) {
    for (name, value) in object {
        let path = if outer.is_empty() { name.clone() } else { format!("{outer}.{name}") };
        match value {
            Value::Object(inner) if depth > 1 => settings(&path, inner, from, into, depth - 1, left),
            _ if is_of_instance(&path) || *left == 0 => {}
            _ => {
                let Some(value) = scalar(value) else { continue };
                *left -= 1;
                let name = setting_name(&path);
                state(into, group_of(&name), &name, &value, Place { from, line: None });
            }
        }
    }
}

/// What vLLM says of the host and its software.
fn system(host: &Map<String, Value>, from: &str, into: &mut Fingerprint) {
    const SAID: [(&str, Group, &str); 12] = [
        ("torch_version", Group::Software, "torch_version"),
        ("cuda_compiled_version", Group::Software, "cuda_version"),
        ("cuda_runtime_version", Group::Software, "cuda_runtime_version"),
        ("nvidia_driver_version", Group::Software, "driver_version"),
        ("cudnn_version", Group::Software, "cudnn_version"),
        ("rocm_version", Group::Software, "rocm_version"),
        ("python_version", Group::Software, "python_version"),
        ("libc_version", Group::Software, "libc_version"),
        ("os", Group::Software, "os"),
        ("vllm_build_flags", Group::Software, "vllm_build_flags"),
        ("nvidia_gpu_models", Group::Hardware, field::GPU_MODEL),
        ("vllm_version", Group::Engine, field::ENGINE_VERSION),
    ];
    let text = |name: &str| host.get(name).and_then(scalar).filter(|text| text != UNSET && text != "N/A");
    if let Some(packages) = text("pip_packages") {
        from_packages(&packages, from, into);
    }
    for (name, group, ours) in SAID {
        if let Some(value) = text(name) {
            state(into, group, ours, &value, Place { from, line: None });
        }
    }
    if let Some(variables) = text("env_vars") {
        from_environment(&variables, from, into);
    }
    let processor = text("cpu_info").unwrap_or_default();
    for (label, name) in [("Model name:", "cpu_model"), ("CPU(s):", "cpu_count")] {
        if let Some(value) = processor.lines().find_map(|line| line.trim().strip_prefix(label)) {
            state(into, Group::Hardware, name, value.trim(), Place { from, line: None });
        }
    }
}

/// The text form is what the engine logs of itself.
fn vllm_text(text: &str, from: &str, into: &mut Fingerprint) {
    set(into, field::ENGINE, "vllm", from);
    for setting in settings_of(text, 0).into_iter().filter(|setting| !is_of_instance(&setting.name)) {
        let name = setting_name(&setting.name);
        state(into, group_of(&name), &name, &setting.value, Place { from, line: None });
    }
}

fn sglang(answer: &Map<String, Value>, from: &str, into: &mut Fingerprint) {
    set(into, field::ENGINE, "sglang", from);
    for (name, value) in answer {
        if SGLANG_LEFT_OUT.contains(&name.as_str()) || (is_of_instance(name) && name != "model_path") {
            continue;
        }
        if let Some(value) = scalar(value) {
            let name = setting_name(name);
            state(into, group_of(&name), &name, &value, Place { from, line: None });
        }
    }
    // The flag says what is off.
    if let Some(off) = answer.get("disable_radix_cache").and_then(Value::as_bool) {
        set(into, field::PREFIX_CACHING, if off { "false" } else { "true" }, from);
    }
}

/// A value as text: a scalar, or a list of scalars.
fn scalar(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => UNSET.to_owned(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Array(items) if items.iter().all(|item| !item.is_array() && !item.is_object()) => value.to_string(),
        Value::Array(_) | Value::Object(_) => return None,
    };
    Some(if value.is_array() { clip(&text, LONGEST_VALUE) } else { text })
}
