//! From a metrics page: the engine by its prefix, the model by its label, the KV pool by its info metric or gauges.

use super::{names::setting_name, redact::set};
use crate::{prometheus::Page, vocabulary::engine_of};
use firstcheck_model::fingerprint::{Fingerprint, field};
use std::collections::{BTreeMap, BTreeSet};

/// Info metrics whose labels are the configuration of the cache.
const CACHE_INFO: [&str; 3] = ["vllm:cache_config_info", "sglang:cache_config_info", "trtllm_kv_cache_config_info"];

/// Gauges that state a setting.
const GAUGES: [(&str, &str); 11] = [
    ("sglang:num_pages", field::KV_BLOCKS),
    ("sglang:page_size", field::KV_BLOCK_SIZE),
    ("sglang:context_len", field::MAX_MODEL_LEN),
    ("sglang:max_total_num_tokens", "max_total_num_tokens"),
    ("trtllm_kv_cache_max_blocks", field::KV_BLOCKS),
    ("trtllm_kv_cache_tokens_per_block", field::KV_BLOCK_SIZE),
    ("dynamo_frontend_model_total_kv_blocks", field::KV_BLOCKS),
    ("dynamo_frontend_model_kv_cache_block_size", field::KV_BLOCK_SIZE),
    ("dynamo_frontend_model_context_length", field::MAX_MODEL_LEN),
    ("dynamo_frontend_model_max_num_seqs", field::MAX_NUM_SEQS),
    ("dynamo_frontend_model_max_num_batched_tokens", field::MAX_NUM_BATCHED_TOKENS),
];

/// Labels that name a replica or rank, not a setting.
const PLACE_LABELS: [&str; 8] =
    ["engine", "model_name", "engine_type", "tp_rank", "pp_rank", "dp_rank", "moe_ep_rank", "pid"];

/// Adds what a metrics page states. Where several engines of one page state different values, all stand in the field,
/// separated by commas.
pub fn from_page(page: &Page, from: &str, into: &mut Fingerprint) {
    let mut stated: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sample in &page.samples {
        // Dynamo passes an engine's own metrics through: the engine is the engine, not its front.
        if let Some(engine) = engine_of(&sample.name) {
            stated
                .entry(if engine == "dynamo" { field::FRONT } else { field::ENGINE }.into())
                .or_default()
                .insert(engine.into());
            if let Some(model) = sample.labels.get("model_name") {
                stated.entry(field::MODEL.into()).or_default().insert(model.into());
            }
        }
        if CACHE_INFO.contains(&sample.name.as_str()) {
            let labels = sample.labels.0.iter().filter(|(label, _)| !PLACE_LABELS.contains(&label.as_str()));
            for (label, value) in labels {
                stated.entry(setting_name(label)).or_default().insert(value.clone());
            }
        }
        let gauge = GAUGES.iter().find(|(gauge, _)| *gauge == sample.name);
        if let Some((_, name)) = gauge.filter(|_| sample.value.is_finite()) {
            stated.entry((*name).to_owned()).or_default().insert(sample.value.to_string());
        }
    }
    if let (None, Some(front)) = (stated.get(field::ENGINE), stated.get(field::FRONT).cloned()) {
        stated.insert(field::ENGINE.into(), front);
    }
    for (name, values) in stated {
        let values: Vec<String> = values.into_iter().collect();
        set(into, &name, &values.join(","), from);
    }
}
