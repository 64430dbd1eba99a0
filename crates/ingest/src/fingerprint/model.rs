//! From the folder of a model: its configuration, weights, tokenizer, chat template and adapters.

use super::redact::{Place, state};
use firstcheck_model::fingerprint::{Fingerprint, Group, UNSET, field};
use serde_json::{Map, Value};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Settings of a model's configuration that say what it costs to serve.
const SHAPE: [&str; 16] = [
    "architectures",
    "model_type",
    "num_hidden_layers",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "max_position_embeddings",
    "sliding_window",
    "num_experts",
    "num_local_experts",
    "num_experts_per_tok",
    "tie_word_embeddings",
    "torch_dtype",
];

/// Settings of a LoRA adapter.
const ADAPTER: [&str; 5] = ["r", "lora_alpha", "target_modules", "base_model_name_or_path", "peft_type"];

/// A hash as a fingerprint holds it.
pub(crate) fn hash(bytes: &[u8]) -> String {
    shown(xxh3_64(bytes))
}

fn shown(hash: u64) -> String {
    format!("xxh3:{hash:016x}")
}

/// One file of weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// Name of the file.
    pub name: String,
    /// Bytes of the file, as its header has them.
    pub bytes: u64,
    /// Hash of its header: names, types, shapes and places of its tensors.
    pub layout: u64,
    /// Hash of the whole file, where it was read.
    pub content: Option<u64>,
}

/// What the files of a model's weights state together: the order in which they were read does not count.
pub fn from_weights(shards: &[Shard], from: &str, into: &mut Fingerprint) {
    if shards.is_empty() {
        return;
    }
    let mut sorted: Vec<&Shard> = shards.iter().collect();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    let together = |of: fn(&Shard) -> Option<u64>| {
        let mut all = Xxh3::new();
        for shard in &sorted {
            all.update(&of(shard)?.to_le_bytes());
            all.update(&shard.bytes.to_le_bytes());
        }
        Some(shown(all.digest()))
    };
    let bytes: u64 = sorted.iter().map(|shard| shard.bytes).fold(0, u64::saturating_add);
    let known = [
        (field::WEIGHTS_LAYOUT, together(|shard| Some(shard.layout))),
        (field::WEIGHTS_HASH, together(|shard| shard.content)),
        (field::WEIGHTS_BYTES, Some(bytes.to_string())),
        ("weights_files", Some(sorted.len().to_string())),
    ];
    for (name, value) in known {
        if let Some(value) = value {
            state(into, Group::Model, name, &value, Place { from, line: None });
        }
    }
}

/// What `config.json` of a model states; `false` when it is none.
pub fn from_model_config(json: &[u8], from: &str, into: &mut Fingerprint) -> bool {
    let Some(config) = object(json) else { return false };
    some(&config, &SHAPE, "", from, into);
    if let Some(Value::Object(how)) = config.get("quantization_config") {
        some(
            how,
            &["quant_method", "bits", "group_size", "fmt", "activation_scheme"],
            "quantization_config.",
            from,
            into,
        );
    }
    true
}

/// What `generation_config.json` states: defaults of sampling.
pub fn from_generation_config(json: &[u8], from: &str, into: &mut Fingerprint) -> bool {
    let Some(config) = object(json) else { return false };
    let names: Vec<&str> = config.keys().map(String::as_str).filter(|name| *name != "transformers_version").collect();
    some(&config, &names, "generation_config.", from, into);
    true
}

/// What `adapter_config.json` of a LoRA adapter states.
pub fn from_adapter_config(json: &[u8], from: &str, into: &mut Fingerprint) -> bool {
    let Some(config) = object(json) else { return false };
    some(&config, &ADAPTER, "adapter.", from, into);
    true
}

/// What `tokenizer.json` states: a hash of its vocabulary and rules.
pub fn from_tokenizer(json: &[u8], from: &str, into: &mut Fingerprint) -> bool {
    let place = Place { from, line: None };
    state(into, Group::Model, field::TOKENIZER_HASH, &hash(json), place);
    true
}

/// What `tokenizer_config.json` states: the class, and a hash of the chat template where it holds one.
pub fn from_tokenizer_config(json: &[u8], from: &str, into: &mut Fingerprint) -> bool {
    let Some(config) = object(json) else { return false };
    some(&config, &["tokenizer_class"], "", from, into);
    match config.get("chat_template") {
        Some(Value::String(template)) => from_chat_template(template.as_bytes(), from, into),
        Some(templates @ Value::Array(_)) => from_chat_template(templates.to_string().as_bytes(), from, into),
        _ => true,
    }
}

/// What a chat template states: its hash.
pub fn from_chat_template(template: &[u8], from: &str, into: &mut Fingerprint) -> bool {
    // An editor's line break at the end is none of the template.
    let hash = hash(template.trim_ascii_end());
    state(into, Group::Model, field::CHAT_TEMPLATE_HASH, &hash, Place { from, line: None });
    true
}

fn object(json: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(json).ok()
}

/// Some settings of a configuration, under `prefix`.
fn some(config: &Map<String, Value>, names: &[&str], prefix: &str, from: &str, into: &mut Fingerprint) {
    for name in names {
        let value = match config.get(*name) {
            None | Some(Value::Object(_)) => continue,
            Some(Value::Null) => UNSET.to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        state(into, Group::Model, &format!("{prefix}{name}"), &value, Place { from, line: None });
    }
}
