//! What a server was started with, as its log prints it.

use crate::config::{EngineConfig, GraphMode};
use crate::emit::version::Version;

/// `server_args=…`: a dictionary of resolved values from 0.5.23 on, before that the text of a Python object.
pub(super) fn line(config: &EngineConfig, version: Version, port: u16, ranks: u32) -> String {
    let pairs = pairs(config, port, ranks);
    if version >= Version::new(0, 5, 23) {
        let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("'{name}': {value}")).collect();
        format!("server_args={{{}}}", pairs.join(", "))
    } else {
        let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("server_args=ServerArgs({})", pairs.join(", "))
    }
}

/// The arguments that the simulated server has, in the order of the real one.
fn pairs(config: &EngineConfig, port: u16, ranks: u32) -> Vec<(&'static str, String)> {
    let rules = &config.sglang;
    let truth = |yes: bool| if yes { "True" } else { "False" }.to_owned();
    let number = |value: Option<u32>| value.map_or_else(|| "None".to_owned(), |value| value.to_string());
    let model = quoted(&config.model_name);
    let eviction = format!("{:?}", rules.radix_eviction_policy).to_ascii_lowercase();
    vec![
        ("model_path", model.clone()),
        ("tokenizer_path", model.clone()),
        ("context_length", config.max_model_len.to_string()),
        ("host", quoted("0.0.0.0")),
        ("port", port.to_string()),
        ("dtype", quoted("auto")),
        ("quantization", "None".into()),
        ("kv_cache_dtype", quoted(&config.kv_cache_dtype)),
        ("mem_fraction_static", format!("{:?}", rules.mem_fraction_static)),
        ("max_running_requests", rules.max_running_requests.to_string()),
        ("max_total_tokens", rules.max_total_num_tokens.to_string()),
        ("chunked_prefill_size", rules.chunked_prefill_size.map_or_else(|| "-1".to_owned(), |size| size.to_string())),
        ("prefill_max_requests", number(rules.prefill_max_requests)),
        ("max_prefill_tokens", rules.max_prefill_tokens.to_string()),
        ("schedule_policy", quoted(rules.schedule_policy.name())),
        ("schedule_conservativeness", format!("{:?}", rules.schedule_conservativeness)),
        ("page_size", rules.page_size.to_string()),
        ("tp_size", ranks.to_string()),
        ("served_model_name", model),
        ("enable_metrics", truth(true)),
        ("decode_log_interval", rules.decode_log_interval.to_string()),
        ("prefill_decode_interval", rules.prefill_decode_interval.to_string()),
        ("disable_radix_cache", truth(rules.disable_radix_cache)),
        ("radix_eviction_policy", quoted(&eviction)),
        ("disable_cuda_graph", truth(config.graphs.mode == GraphMode::None)),
        ("disable_overlap_schedule", truth(rules.disable_overlap_schedule)),
        ("enable_mixed_chunk", truth(rules.enable_mixed_chunk)),
        ("retraction_policy", quoted("length")),
    ]
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
