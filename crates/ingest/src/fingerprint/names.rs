//! One name and one spelling for a setting, whichever source states it: a log, an endpoint, a metrics page.

use firstcheck_model::fingerprint::{Group, UNSET, field};

/// Settings that have a name of ours, by the engines' own.
const OURS: [(&str, &str); 25] = [
    ("num_gpu_blocks", field::KV_BLOCKS),
    ("block_size", field::KV_BLOCK_SIZE),
    ("page_size", field::KV_BLOCK_SIZE),
    ("kv_cache_size_tokens", field::KV_TOKENS),
    ("kv_cache_max_concurrency", "kv_concurrency"),
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
    ("model", field::MODEL_ROOT),
    ("model_tag", field::MODEL_ROOT),
    ("model_path", field::MODEL_ROOT),
    ("version", field::ENGINE_VERSION),
    ("vllm_version", field::ENGINE_VERSION),
    ("device_config", "device"),
    ("compilation_config.mode", "compilation_mode"),
    ("attention_config.backend", "attention_backend"),
    ("load_config.load_format", "load_format"),
];

/// Parts of vLLM's configuration whose settings an engine's log and flags name without the part.
const FLAT: [&str; 6] =
    ["model_config", "cache_config", "scheduler_config", "parallel_config", "device_config", "speculative_config"];

/// Names that are of one instance of a server, not of how it was set up.
const INSTANCE: [&str; 12] = [
    "instance_id",
    "master_addr",
    "host",
    "port",
    "download_dir",
    "cache_dir",
    "local_cache_dir",
    "debug_dump_path",
    "rank",
    "local_rank",
    "node_rank",
    "startup_time",
];

/// Ends of such names.
const INSTANCE_ENDS: [&str; 9] = ["_port", "_ip", "_port_list", "_uuid", "_dir", "_path", "_root", "_address", "_time"];

/// The name of a setting, by the engine's own path to it (`cache_config.block_size`).
///
/// # Example: an endpoint, a log and a flag name one thing
/// ```
/// use firstcheck_ingest::fingerprint::setting_name;
/// assert_eq!(setting_name("model_config.max_model_len"), "max_model_len");
/// assert_eq!(setting_name("max_seq_len"), "max_model_len");
/// assert_eq!(setting_name("compilation_config.cudagraph_mode"), "cudagraph_mode");
/// assert_eq!(setting_name("compilation_config.pass_config.fuse_norm_quant"), "compilation_config.pass_config.fuse_norm_quant");
/// ```
pub fn setting_name(path: &str) -> String {
    let path = FLAT.iter().find_map(|part| path.strip_prefix(part)?.strip_prefix('.').map(|rest| (part, rest))).map_or(
        path.to_owned(),
        |(part, rest)| match *part {
            "speculative_config" => format!("speculative_{rest}"),
            _ => rest.to_owned(),
        },
    );
    if let Some((_, ours)) = OURS.iter().find(|(theirs, _)| *theirs == path) {
        return (*ours).to_owned();
    }
    // The graphs' own settings have names that need no part.
    match path.strip_prefix("compilation_config.") {
        Some(rest) if rest.contains("cudagraph") && !rest.contains('.') => rest.to_owned(),
        _ => path,
    }
}

/// The group of a setting that an engine resolved.
pub(super) fn group_of(name: &str) -> Group {
    match name {
        "tokenizer" | "tokenizer_mode" | "tokenizer_revision" | "revision" | "quantization" | "architecture" => {
            Group::Model
        }
        _ => Group::of(name),
    }
}

/// Whether a setting is of one instance, not of the set-up: such a thing differs between any two servers.
pub(super) fn is_of_instance(path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or(path).to_ascii_lowercase();
    INSTANCE.contains(&name.as_str())
        || INSTANCE_ENDS.iter().any(|end| name.ends_with(end) && name != "model_path" && name != "tokenizer_path")
}

/// Modes that an endpoint gives as numbers and a log by name, vLLM's `CompilationMode` and `CUDAGraphMode`.
const MODES: [(&str, &[(&str, &str)]); 2] = [
    (
        "compilation_mode",
        &[("0", "NONE"), ("1", "STOCK_TORCH_COMPILE"), ("2", "DYNAMO_TRACE_ONCE"), ("3", "VLLM_COMPILE")],
    ),
    (
        "cudagraph_mode",
        &[
            ("0", "NONE"),
            ("1", "PIECEWISE"),
            ("2", "FULL"),
            ("[2,0]", "FULL_DECODE_ONLY"),
            ("[2,1]", "FULL_AND_PIECEWISE"),
        ],
    ),
];

/// One spelling for what sources write differently: truth values as JSON does, nothing as [`UNSET`], lists without quotes
/// and blanks, data types without their library.
pub(super) fn spelled(name: &str, value: &str) -> String {
    let value = value.trim();
    let value = match value {
        "True" => "true".to_owned(),
        "False" => "false".to_owned(),
        "None" | "null" => UNSET.to_owned(),
        list if list.starts_with(['[', '(']) => {
            let inner: String = list.chars().filter(|c| !matches!(c, '\'' | '"' | ' ')).collect();
            inner.replace('(', "[").replace(')', "]")
        }
        _ => value.strip_prefix("torch.").unwrap_or(value).to_owned(),
    };
    let mode =
        MODES.iter().find(|(mode, _)| *mode == name).and_then(|(_, modes)| modes.iter().find(|(n, _)| *n == value));
    if let Some((_, mode)) = mode {
        return (*mode).to_owned();
    }
    // A server may serve a model under several names; most have one.
    match (
        name.strip_prefix(field::GIVEN).unwrap_or(name),
        value.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')),
    ) {
        (field::MODEL, Some(one)) if !one.contains(',') => one.to_owned(),
        _ => value,
    }
}
