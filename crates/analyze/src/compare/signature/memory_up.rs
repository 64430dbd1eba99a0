//! A changed model leaves less memory for KV.

use super::{
    Reading, Rule,
    changes::{Changes, Went, said},
};
use firstcheck_model::metric::Metric;

pub(super) static RULE: Rule = Rule {
    name: "memory-up-model-changed",
    means: "the model or how it is laid out changed, and it takes more memory or leaves less for KV",
    leads: &[
        ("S14", "which term of the memory ledger grew"),
        ("S16", "whether captured graphs took the memory"),
        ("S15", "whether what is left for KV is too little for the load"),
        ("S18", "whether an encoder's peak is outside the profile"),
    ],
    read,
};

/// Fields of the fingerprint that say what the model is and how it is laid out.
const MODEL: [&str; 14] = [
    "model",
    "model_revision",
    "weights_hash",
    "weights_layout",
    "weights_bytes",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "max_model_len",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "lora",
    "compilation_level",
    "cudagraph_mode",
];

fn read(changes: &Changes<'_>) -> Reading {
    let grown = [(Metric::WeightMemory, Went::Up), (Metric::NonKvMemory, Went::Up), (Metric::KvCapacity, Went::Down)];
    let known: Vec<_> =
        grown.iter().filter_map(|(metric, bad)| Some((changes.row(&[(*metric, "total")])?, *bad))).collect();
    if known.is_empty() {
        return Reading::Unknown(vec!["the engine's start-up log, or its KV capacity, on both sides".into()]);
    }
    let Some((base, candidate)) = changes.deployments() else {
        return Reading::Unknown(vec!["fingerprints of both sides".into()]);
    };
    let changed: Vec<String> = base
        .differences(candidate)
        .filter(|(name, ..)| MODEL.contains(name))
        .map(|(name, b, c)| format!("{name} changed from {} to {}", b.stated.value, c.stated.value))
        .collect();
    let told: Vec<String> = known.iter().map(|(row, _)| said(row, changes.went(row))).collect();
    let more = known.iter().any(|(row, bad)| changes.went(row) == *bad);
    match (more, changed.is_empty()) {
        (true, false) => Reading::Present([changed, told].concat()),
        (true, true) => Reading::Absent([told, vec!["no field that says what the model is differs".into()]].concat()),
        (false, _) => Reading::Absent(told),
    }
}
