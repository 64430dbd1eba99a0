//! What engines call their metrics: raw names, old and new, onto the engine-neutral signals.
//!
//! One table an engine. A name that no table knows keeps its raw name and no signal. Where an engine shows one quantity
//! under an old and a new name on the same page, only the new one carries the signal, so that nothing counts twice.
//!
//! Left out are rates, ratios and means that an engine forms itself (no growth can be taken of them), parts of what a
//! signal counts as a whole, and what no other engine has and no check asks for: their series keep their raw names.

mod container;
mod dcgm;
mod dynamo;
mod llama_cpp;
mod lmcache;
mod process;
mod sglang;
mod tgi;
mod trtllm;
mod vllm;

use firstcheck_model::signal::{Labels, Part, Series, SeriesKind, Signal};
use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

/// How a family is exposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Counter,
    Gauge,
    Histogram,
}

/// A family that carries a signal.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Name of the family as a page of text 0.0.4 writes it.
    family: &'static str,
    signal: Signal,
    shape: Shape,
    /// A name that gives way where the page also has another one for the signal: an older one, or another program's.
    old: bool,
    /// A label and the value that it must have.
    only: Option<(&'static str, &'static str)>,
}

const fn counter(family: &'static str, signal: Signal) -> Entry {
    Entry { family, signal, shape: Shape::Counter, old: false, only: None }
}

const fn gauge(family: &'static str, signal: Signal) -> Entry {
    Entry { family, signal, shape: Shape::Gauge, old: false, only: None }
}

const fn histogram(family: &'static str, signal: Signal) -> Entry {
    Entry { family, signal, shape: Shape::Histogram, old: false, only: None }
}

const fn old(entry: Entry) -> Entry {
    Entry { old: true, ..entry }
}

/// An entry that holds for series whose label has that value alone.
const fn only(label: &'static str, value: &'static str, entry: Entry) -> Entry {
    Entry { only: Some((label, value)), ..entry }
}

const TABLES: [&[Entry]; 10] = [
    vllm::FAMILIES,
    sglang::FAMILIES,
    trtllm::FAMILIES,
    tgi::FAMILIES,
    llama_cpp::FAMILIES,
    dynamo::FAMILIES,
    lmcache::FAMILIES,
    process::FAMILIES,
    container::FAMILIES,
    dcgm::FAMILIES,
];

static BY_FAMILY: LazyLock<HashMap<&'static str, Vec<Entry>>> = LazyLock::new(|| {
    let mut families: HashMap<&'static str, Vec<Entry>> = HashMap::new();
    for entry in TABLES.iter().flat_map(|table| table.iter()) {
        families.entry(entry.family).or_default().push(*entry);
    }
    families
});

/// The entry of a raw name with its labels, and the part of the family it is, as far as the name says.
fn entry(name: &str, labels: &Labels) -> Option<(Entry, Option<Part>)> {
    let fits = |entry: &&Entry| entry.only.is_none_or(|(label, value)| labels.get(label) == Some(value));
    if let Some(entries) = BY_FAMILY.get(name) {
        let entry = entries.iter().find(fits)?;
        return (entry.shape != Shape::Histogram).then_some((*entry, None));
    }
    let parts = [("_sum", Some(Part::Sum)), ("_count", Some(Part::Count)), ("_bucket", None)];
    parts.into_iter().find_map(|(suffix, part)| {
        let entry = BY_FAMILY.get(name.strip_suffix(suffix)?)?.iter().find(fits)?;
        (entry.shape == Shape::Histogram).then_some((*entry, part))
    })
}

/// What a raw name means, suffix included, where no label is needed to tell.
///
/// # Example: old and new names of one quantity
/// ```
/// use firstcheck_ingest::vocabulary::meaning;
/// use firstcheck_model::signal::Signal;
/// assert_eq!(meaning("vllm:gpu_cache_usage_perc"), Some(Signal::KvCacheUsage));
/// assert_eq!(meaning("vllm:kv_cache_usage_perc"), Some(Signal::KvCacheUsage));
/// assert_eq!(meaning("vllm:iteration_tokens_total_sum"), Some(Signal::IterationTokens));
/// assert_eq!(meaning("vllm:engine_sleep_state"), None);
/// ```
pub fn meaning(name: &str) -> Option<Signal> {
    entry(name, &Labels::default()).map(|(entry, _)| entry.signal)
}

/// Whether a series of that raw name is worth asking a server for: it carries a signal, is an engine's own (the buckets
/// of histograms that carry none aside), or says how a process, its container, its device or its scraping fared.
///
/// # Example: what else a job's page holds is passed over
/// ```
/// use firstcheck_ingest::vocabulary::is_worth_asking;
/// assert!(is_worth_asking("vllm:engine_sleep_state") && is_worth_asking("up"));
/// assert!(is_worth_asking("vllm:e2e_request_latency_seconds_bucket"));
/// assert!(!is_worth_asking("vllm:request_params_n_bucket") && !is_worth_asking("go_threads"));
/// ```
pub fn is_worth_asking(name: &str) -> bool {
    const AROUND: [&str; 6] =
        ["process_", "python_gc_", "container_memory_", "container_cpu_", "container_spec_", "DCGM_FI_"];
    let bulky = || name.ends_with("_bucket") || name.ends_with("_created");
    meaning(name).is_some()
        || (engine_of(name).is_some() && !bulky())
        || name == "up"
        || AROUND.iter().any(|prefix| name.starts_with(prefix))
}

/// The engine that exposes names like this one.
pub fn engine_of(name: &str) -> Option<&'static str> {
    // LMCache lives inside an engine, and DCGM beside it: neither is one.
    const PREFIXES: [(&str, &str); 7] = [
        ("vllm:", "vllm"),
        ("sglang:", "sglang"),
        ("trtllm_", "trtllm"),
        ("trtllm:", "trtllm"),
        ("tgi_", "tgi"),
        ("llamacpp:", "llama.cpp"),
        ("dynamo_", "dynamo"),
    ];
    PREFIXES.into_iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, engine)| engine)
}

/// Sets what each series means. Where the page stated no type, the table's kind and part are filled in as well.
pub fn apply(series: &mut [Series]) {
    let mut present: HashSet<(Target, Signal)> = HashSet::new();
    let known: Vec<Option<Entry>> = series.iter().map(known).collect();
    for (series, entry) in series.iter().zip(&known) {
        if let Some(entry) = entry.filter(|entry| !entry.old) {
            present.insert((target(series), entry.signal));
        }
    }
    for (series, entry) in series.iter_mut().zip(known) {
        let entry = entry.filter(|entry| !(entry.old && present.contains(&(target(series), entry.signal))));
        series.signal = entry.map(|entry| entry.signal);
        if let Some(entry) = entry.filter(|_| series.kind == SeriesKind::Untyped) {
            series.kind = if entry.shape == Shape::Gauge { SeriesKind::Gauge } else { SeriesKind::Counter };
            if let (Some((_, Some(part))), Part::Value) = (self::entry(&series.name, &series.labels), series.part) {
                series.part = part;
            }
        }
    }
}

/// The page and the scraped target that a series is of: during a rollout one replica has the old name and another the new.
type Target = (String, Option<String>, Option<String>);

fn target(series: &Series) -> Target {
    let label = |name| series.labels.get(name).map(str::to_owned);
    (series.page.clone(), label("instance"), label("pod"))
}

/// The entry of a series, unless it is a router's or a group's of containers: those repeat what an engine or a container
/// says, and summing them with its own would count everything twice.
fn known(series: &Series) -> Option<Entry> {
    if series.name.starts_with("vllm:") && series.labels.get("server").is_some() {
        return None;
    }
    if series.name.starts_with("container_") && !container::is_one(&series.labels) {
        return None;
    }
    // A quantile of a summary is no bucket, sum or count of a histogram.
    if matches!(series.part, Part::Quantile(_)) {
        return None;
    }
    entry(&series.name, &series.labels).map(|(entry, _)| entry)
}
