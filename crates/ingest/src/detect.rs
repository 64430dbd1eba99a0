//! What a file is, by its content.

use crate::{
    Error, Limits,
    guarded::{guarded, read_all, read_start},
    json::{Outline, lenient},
    prometheus,
};
use firstcheck_bundle::Bundle;
use std::path::Path;

/// What a path holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A run bundle (a folder with `run.json`).
    Bundle,
    /// Any other folder.
    Folder,
    /// Result of `vllm bench serve`, Python or Rust client, one object or several.
    VllmBench,
    /// Result of SGLang's serving benchmark, one object a line.
    SglangBench,
    /// AIPerf's records, one request a line.
    AiperfRecords,
    /// AIPerf's summary.
    AiperfSummary,
    /// GuideLLM's report.
    Guidellm,
    /// A lifecycle summary of inference-perf, of a run or of a stage.
    InferencePerf,
    /// A metrics page.
    MetricsPage,
    /// The answer of `/version`.
    Version,
    /// The answer of `/v1/models`.
    Models,
    /// The answer of `/server_info`.
    ServerInfo,
    /// None of these.
    Unknown,
}

impl Format {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bundle => "a run bundle",
            Self::Folder => "a folder",
            Self::VllmBench => "vllm bench result",
            Self::SglangBench => "sglang benchmark result",
            Self::AiperfRecords => "aiperf records",
            Self::AiperfSummary => "aiperf summary",
            Self::Guidellm => "guidellm report",
            Self::InferencePerf => "inference-perf summary",
            Self::MetricsPage => "a metrics page",
            Self::Version => "an answer of /version",
            Self::Models => "an answer of /v1/models",
            Self::ServerInfo => "an answer of /server_info",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it holds the results of a benchmark.
    pub const fn is_result(self) -> bool {
        matches!(
            self,
            Self::VllmBench
                | Self::SglangBench
                | Self::AiperfRecords
                | Self::AiperfSummary
                | Self::Guidellm
                | Self::InferencePerf
        )
    }
}

/// Bytes that decide whether a file can be JSON or a metrics page at all.
const SNIFF: u64 = 1 << 16;

/// Tells what `path` holds. A file's name plays no part.
///
/// # Errors
/// [`Error::Io`], [`Error::NotAFile`], [`Error::TooLarge`], and [`Error::Malformed`] for a file that begins as JSON and is
/// none: it may be a result that was cut off, or stand in UTF-16.
pub fn detect(path: &Path, limits: &Limits) -> Result<Format, Error> {
    if path.is_dir() {
        return Ok(if Bundle::is_bundle(path) { Format::Bundle } else { Format::Folder });
    }
    let start = read_start(path, SNIFF)?;
    match start.trim_ascii_start().first() {
        Some(b'{' | b'[') => guarded(path, "JSON", || of_json(path, &read_all(path, limits)?)),
        Some(_) if is_page(&start) => Ok(Format::MetricsPage),
        Some(0xff | 0xfe) if is_utf16_json(&start) => {
            Err(Error::malformed(path, None, "JSON", "it is written in UTF-16: save it as UTF-8"))
        }
        _ => Ok(Format::Unknown),
    }
}

/// Whether a text begins with the byte-order mark of UTF-16 and the bracket of a JSON value.
fn is_utf16_json(start: &[u8]) -> bool {
    matches!(start, [0xff, 0xfe, b'{' | b'[', 0, ..] | [0xfe, 0xff, 0, b'{' | b'[', ..])
}

/// The format of JSON bytes, by the keys of their first value.
fn of_json(path: &Path, bytes: &[u8]) -> Result<Format, Error> {
    let bytes = lenient(bytes);
    let first = serde_json::Deserializer::from_slice(&bytes).into_iter::<Outline>().next();
    match first {
        None => Ok(Format::Unknown),
        Some(Ok(outline)) => Ok(of_outline(&outline)),
        // Prometheus-like or log text may begin with a bracket too: JSON is claimed only once a key was seen.
        Some(Err(_)) if !begins_with_key(&bytes) => Ok(Format::Unknown),
        Some(Err(error)) => Err(Error::json(path, "JSON", &error)),
    }
}

fn begins_with_key(bytes: &[u8]) -> bool {
    let rest = bytes.trim_ascii_start();
    let inside = rest.strip_prefix(b"[").unwrap_or(rest).trim_ascii_start();
    inside.strip_prefix(b"{").is_some_and(|inside| inside.trim_ascii_start().starts_with(b"\""))
}

fn of_outline(outline: &Outline) -> Format {
    let Some(first) = outline.first() else { return Format::Unknown };
    let is = |keys: &[&str]| first.has(keys);
    let inside = |outer: &str, key: &str| first.get(outer).is_some_and(|value| value.get(key).is_some());
    let vllm = is(&["num_prompts", "completed", "request_throughput"]);
    let sglang = is(&["completed", "request_throughput", "mean_e2e_latency_ms"]);
    if vllm && !is(&["mean_e2e_latency_ms"]) {
        Format::VllmBench
    } else if sglang {
        Format::SglangBench
    } else if is(&["metrics"]) && inside("metadata", "request_start_ns") {
        Format::AiperfRecords
    } else if inside("request_latency", "unit") && is(&["input_config"]) {
        Format::AiperfSummary
    } else if first.get("benchmarks").and_then(Outline::first).is_some_and(|b| b.has(&["metrics", "requests"])) {
        Format::Guidellm
    } else if is(&["load_summary", "successes"]) {
        Format::InferencePerf
    } else if is(&["vllm_config"]) || is(&["model_path", "tp_size"]) {
        Format::ServerInfo
    } else if first.get("object") == Some(&Outline::Text("list".into())) && is(&["data"]) {
        Format::Models
    } else if matches!(first, Outline::Object(fields) if fields.len() == 1) && is(&["version"]) {
        Format::Version
    } else {
        Format::Unknown
    }
}

/// Whether the start of a file is that of a metrics page: it states a type, and most lines can be read.
fn is_page(start: &[u8]) -> bool {
    let whole = start.iter().rposition(|b| *b == b'\n').map_or(start, |end| &start[..end]);
    let states_type =
        whole.split(|b| *b == b'\n').any(|line| line.starts_with(b"# TYPE ") || line.starts_with(b"# HELP "));
    if !states_type {
        return false;
    }
    let page = prometheus::parse(whole);
    !page.samples.is_empty() && page.unread_total * 2 <= page.samples.len() as u64
}
