//! The engine's metrics under vLLM 0.32's names, types and labels.

use super::{histogram::Histogram, page, stats::Stats};
use crate::{config::EngineConfig, engine::Engine};
use firstcheck_model::signal::{Part, SeriesKind};
use std::borrow::Cow;

pub use super::page::Process;
pub(crate) use super::page::{engine_labels, suffix};

/// Type of a family as a page states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Buckets, sum and count.
    Histogram,
}

/// One sample of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// Which part of the family.
    pub part: Part,
    /// Labels besides `engine`, `model_name` and the bucket's bound.
    pub labels: Vec<(&'static str, Cow<'a, str>)>,
    /// Its value.
    pub value: f64,
}

/// A family with its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Family<'a> {
    /// Name as the type line states it.
    pub name: &'static str,
    /// What it is, for the help line.
    pub help: &'static str,
    /// Its type.
    pub kind: FamilyKind,
    /// Whether its samples carry the engine's labels.
    pub engine_labels: EngineLabels,
    /// Its samples.
    pub samples: Vec<Sample<'a>>,
}

/// Which labels every sample of a family carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineLabels {
    /// `engine` and `model_name`.
    Both,
    /// `engine`.
    Engine,
    /// `model_name`.
    Model,
    /// None: a family of the process.
    None,
}

impl Family<'_> {
    /// How the values of its series behave: buckets, sums and counts grow as counters do.
    pub fn series_kind(&self) -> SeriesKind {
        match self.kind {
            FamilyKind::Counter | FamilyKind::Histogram => SeriesKind::Counter,
            FamilyKind::Gauge => SeriesKind::Gauge,
        }
    }
}

/// The page in the Prometheus text format.
pub fn page(engine: &Engine, process: &Process) -> String {
    page::render(&families(engine, process), &engine.config().model_name)
}

/// All families as they stand after the last finished step; for one engine and process always the same ones in the
/// same order.
pub fn families<'a>(engine: &'a Engine, process: &Process) -> Vec<Family<'a>> {
    let stats = engine.stats();
    let mut families = process_families(process);
    families.extend(levels(stats));
    families.extend(counters(stats));
    families.extend(histograms(stats));
    families.push(cache_config(engine.config()));
    families
}

fn process_families(process: &Process) -> Vec<Family<'static>> {
    let family = |name, help, value| Family { engine_labels: EngineLabels::None, ..gauge(name, help, value) };
    let resident = process
        .resident_bytes
        .map(|bytes| family("process_resident_memory_bytes", "Resident memory size in bytes.", bytes));
    let started = family(
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        process.start_unix_seconds,
    );
    resident.into_iter().chain([started]).collect()
}

fn levels(stats: &Stats) -> Vec<Family<'static>> {
    let waiting = stats.gauges.waiting as f64;
    vec![
        gauge(
            "vllm:num_requests_running",
            "Number of requests in model execution batches.",
            stats.gauges.running as f64,
        ),
        gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", waiting),
        Family {
            samples: vec![labelled("reason", "capacity", waiting), labelled("reason", "deferred", 0.0)],
            ..gauge("vllm:num_requests_waiting_by_reason", "Number of waiting requests by reason.", 0.0)
        },
        Family {
            samples: vec![
                labelled("sleep_state", "awake", 1.0),
                labelled("sleep_state", "weights_offloaded", 0.0),
                labelled("sleep_state", "discard_all", 0.0),
            ],
            ..gauge("vllm:engine_sleep_state", "Engine sleep state.", 0.0)
        },
        gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", stats.gauges.kv_usage),
    ]
}

fn counters(stats: &Stats) -> Vec<Family<'static>> {
    let cached = stats.cached_prompt_tokens as f64;
    let computed = stats.prompt_tokens.saturating_sub(stats.cached_prompt_tokens) as f64;
    let hits = stats.prefix_hits as f64;
    vec![
        counter(
            "vllm:prefix_cache_queries_total",
            "Prefix cache queries, in number of queried tokens.",
            stats.prefix_queries as f64,
        ),
        counter("vllm:prefix_cache_hits_total", "Prefix cache hits, in number of cached tokens.", hits),
        counter(
            "vllm:num_preemptions_total",
            "Cumulative number of preemption from the engine.",
            stats.preemptions as f64,
        ),
        counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.", stats.prompt_tokens as f64),
        Family {
            samples: vec![
                labelled("source", "local_compute", computed),
                labelled("source", "local_cache_hit", cached),
                labelled("source", "external_kv_transfer", 0.0),
            ],
            ..counter("vllm:prompt_tokens_by_source_total", "Number of prompt tokens by source.", 0.0)
        },
        counter("vllm:prompt_tokens_cached_total", "Number of cached prompt tokens.", cached),
        Family {
            samples: ["device", "host", "p2p", "disk", "external_unspecified"]
                .map(|tier| labelled("source", tier, if tier == "device" { hits } else { 0.0 }))
                .to_vec(),
            ..counter("vllm:prompt_tokens_cached_by_source_total", "Prefix-cache hit tokens by cache tier.", 0.0)
        },
        counter(
            "vllm:generation_tokens_total",
            "Number of generation tokens processed.",
            stats.generation_tokens as f64,
        ),
        Family {
            samples: vec![
                labelled("finished_reason", "stop", stats.finished_stop as f64),
                labelled("finished_reason", "length", stats.finished_length as f64),
                labelled("finished_reason", "abort", 0.0),
                labelled("finished_reason", "error", 0.0),
                labelled("finished_reason", "repetition", 0.0),
            ],
            ..counter("vllm:request_success_total", "Count of successfully processed requests.", 0.0)
        },
        Family {
            engine_labels: EngineLabels::Model,
            samples: vec![
                labelled("reason", "max_num_queued_reqs", 0.0),
                labelled("reason", "max_num_queued_tokens", 0.0),
            ],
            ..counter("vllm:admission_rejections_total", "Number of admission attempts rejected by a queue limit.", 0.0)
        },
    ]
}

fn histograms(stats: &Stats) -> Vec<Family<'static>> {
    let families: [(&'static str, &'static str, &Histogram); 15] = [
        ("vllm:request_prompt_tokens", "Number of prefill tokens processed.", &stats.request_prompt_tokens),
        ("vllm:request_generation_tokens", "Number of generation tokens processed.", &stats.request_generation_tokens),
        ("vllm:iteration_tokens_total", "Histogram of number of tokens per engine_step.", &stats.iteration_tokens),
        (
            "vllm:request_max_num_generation_tokens",
            "Histogram of maximum number of requested generation tokens.",
            &stats.request_max_tokens,
        ),
        ("vllm:request_params_n", "Histogram of the n request parameter.", &stats.request_choices),
        ("vllm:request_params_max_tokens", "Histogram of the max_tokens request parameter.", &stats.request_max_tokens),
        ("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", &stats.ttft),
        ("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", &stats.itl),
        (
            "vllm:request_time_per_output_token_seconds",
            "Histogram of time_per_output_token_seconds per request.",
            &stats.tpot,
        ),
        ("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &stats.e2e),
        ("vllm:request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", &stats.queue),
        (
            "vllm:request_inference_time_seconds",
            "Histogram of time spent in RUNNING phase for request.",
            &stats.inference,
        ),
        ("vllm:request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", &stats.prefill),
        ("vllm:request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", &stats.decode),
        (
            "vllm:request_num_preemptions",
            "Histogram of the number of times a request was preempted.",
            &stats.request_preemptions,
        ),
    ];
    let computed = (
        "vllm:request_prefill_kv_computed_tokens",
        "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
        &stats.request_computed_tokens,
    );
    families.into_iter().chain([computed]).map(|(name, help, values)| histogram(name, help, values)).collect()
}

/// The KV cache's configuration as labels. Only what the simulated engine has is stated.
fn cache_config(config: &EngineConfig) -> Family<'_> {
    let truth = |yes: bool| Cow::Borrowed(if yes { "True" } else { "False" });
    let concurrency = config.kv_tokens() as f64 / f64::from(config.max_model_len);
    let labels = vec![
        ("block_size", Cow::Owned(config.block_size.to_string())),
        ("cache_dtype", Cow::Borrowed(config.kv_cache_dtype.as_str())),
        ("enable_prefix_caching", truth(config.enable_prefix_caching)),
        ("gpu_memory_utilization", Cow::Owned(config.gpu_memory_utilization.to_string())),
        ("is_attention_free", truth(false)),
        ("kv_cache_max_concurrency", Cow::Owned(format!("{concurrency:?}"))),
        ("kv_cache_size_tokens", Cow::Owned(config.kv_tokens().to_string())),
        ("num_cpu_blocks", Cow::Borrowed("None")),
        ("num_gpu_blocks", Cow::Owned(config.num_gpu_blocks.to_string())),
        ("num_gpu_blocks_override", Cow::Borrowed("None")),
        ("prefix_caching_hash_algo", Cow::Borrowed("sha256")),
        ("sliding_window", Cow::Borrowed("None")),
    ];
    Family {
        name: "vllm:cache_config_info",
        help: "Information of the LLMEngine CacheConfig",
        kind: FamilyKind::Gauge,
        engine_labels: EngineLabels::Engine,
        samples: vec![Sample { part: Part::Value, labels, value: 1.0 }],
    }
}

fn gauge(name: &'static str, help: &'static str, value: f64) -> Family<'static> {
    let samples = vec![Sample { part: Part::Value, labels: Vec::new(), value }];
    Family { name, help, kind: FamilyKind::Gauge, engine_labels: EngineLabels::Both, samples }
}

fn counter(name: &'static str, help: &'static str, value: f64) -> Family<'static> {
    Family { kind: FamilyKind::Counter, ..gauge(name, help, value) }
}

fn labelled(name: &'static str, label: &'static str, value: f64) -> Sample<'static> {
    Sample { part: Part::Value, labels: vec![(name, Cow::Borrowed(label))], value }
}

fn histogram(name: &'static str, help: &'static str, values: &Histogram) -> Family<'static> {
    let sample = |part, value| Sample { part, labels: Vec::new(), value };
    let mut samples: Vec<_> =
        values.cumulative().map(|(bound, count)| sample(Part::Bucket(bound), count as f64)).collect();
    samples.push(sample(Part::Count, values.count() as f64));
    samples.push(sample(Part::Sum, values.sum()));
    Family { name, help, kind: FamilyKind::Histogram, engine_labels: EngineLabels::Both, samples }
}
