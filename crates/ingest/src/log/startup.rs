//! Lines of an engine's start: version, settings, phases, the memory ledger, KV capacity, graphs.

use super::{
    reader::{At, LogReader},
    scan::{between, gib, gib_after, leading_number, number_after, whole_after},
    settings::settings,
};
use firstcheck_model::{
    engine_log::{Setting, StartPhase, Term},
    unit::{Bytes, Seconds},
};

/// Parts of which every message of a start has one: long enough that requests and statistics have none.
pub(super) const PARTS: &[&str] = &[
    "vLLM API server version ",
    "  version ",
    "█",
    "non-default args: ",
    " with config: ",
    "server_args=",
    "ServerArgs",
    "max_total_num_tokens=",
    "Using max model len ",
    "Resolved architecture: ",
    "Chunked prefill is enabled",
    "Asynchronous scheduling is ",
    "is assigned as DP rank",
    "tarting to load model",
    "weights took ",
    "odel loading took ",
    "Memory profiling takes ",
    "total_gpu_memory",
    "model weights take ",
    "Available KV cache memory",
    "Initial free memory",
    "Free memory on device",
    "Explicitly set (",
    "KV cache size: ",
    "Maximum concurrency for ",
    "num_gpu_blocks",
    " blocks: ",
    "Capturing ",
    "Capture ",
    "Graph capturing finished in ",
    "CUDA graph memory: ",
    "CUDA graph pool memory: ",
    "Directly load the compiled graph",
    "Cache the graph of ",
    "torch.compile",
    "AOT compil",
    "init engine (",
    "Starting vLLM",
    "Application startup complete",
    "Init torch distributed",
    "Init parallel",
    "Load weight ",
    "Cache is allocated.",
    "Cache VA upper bound.",
    "Memory pool end",
    "hutdown triggered",
    "trigger received",
    "Shutting down",
    "SIGTERM received",
    "The server is fired up",
];

/// Takes what a line says of the start; whether it said anything.
pub(super) fn take(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    stop(reader, message, at)
        || identity(reader, message, at)
        || vllm(reader, message, at)
        || sglang(reader, message, at)
}

/// An orderly end.
fn stop(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    let said = ["shutdown triggered", "trigger received signal=", "Shutting down", "SIGTERM received"];
    let ends = said.iter().any(|part| message.contains(part));
    if ends {
        reader.log.stopped.get_or_insert(at.line);
    }
    ends
}

/// Which engine, which version, with which settings.
fn identity(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    if let Some(rest) = message.strip_prefix("vLLM API server version ") {
        reader.begins(at);
        reader.engine("vllm", rest.split_whitespace().next());
    } else if at.site.is_some() && message.contains("  version ") {
        // The banner: a drawing with the version to its right.
        reader.begins(at);
        reader.engine("vllm", message.split_once("  version ").map(|(_, rest)| rest.trim()));
    } else if at.site.is_some() && message.contains("█") {
        // The rest of the drawing.
    } else if let Some(rest) = message.strip_prefix("non-default args: ") {
        reader.begins(at);
        reader.engine("vllm", None);
        reader.settings(true, settings(rest, at.line));
        reader.phase(StartPhase::Configuration, None, at);
    } else if let Some((version, config)) = initialising(message) {
        reader.engine("vllm", Some(version));
        reader.settings(false, settings(config, at.line));
        reader.phase(StartPhase::Configuration, None, at);
    } else if let Some(rest) = message.strip_prefix("server_args=").or_else(|| message.strip_prefix("ServerArgs: ")) {
        reader.begins(at);
        reader.engine("sglang", None);
        reader.settings(false, settings(rest, at.line));
        reader.phase(StartPhase::Configuration, None, at);
    } else if message.starts_with("max_total_num_tokens=") {
        reader.engine("sglang", None);
        let resolved = settings(message, at.line);
        let tokens = resolved.iter().find(|setting| setting.name == "max_total_num_tokens");
        if let Some(tokens) = tokens.and_then(|setting| setting.value.parse().ok()) {
            reader.log.kv.tokens = Some(tokens);
            reader.log.kv.line = Some(at.line);
        }
        reader.settings(false, resolved);
    } else {
        return resolved(reader, message, at);
    }
    true
}

/// `Initializing a V1 LLM engine (v0.32.0) with config: …`, as its versions put it.
fn initialising(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("Initializing a")?;
    let (head, config) = rest.split_once(" with config: ")?;
    head.contains("LLM engine").then(|| Some((between(head, "(v", ")")?, config)))?
}

/// Single settings that the engine resolved.
fn resolved(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    const LINES: [(&str, &str); 4] = [
        ("Using max model len ", "max_model_len"),
        ("Resolved architecture: ", "architecture"),
        ("Chunked prefill is enabled with max_num_batched_tokens=", "max_num_batched_tokens"),
        ("Asynchronous scheduling is ", "async_scheduling"),
    ];
    let Some((name, rest)) = LINES.iter().find_map(|(start, name)| Some((*name, message.strip_prefix(start)?))) else {
        return false;
    };
    let value = rest.trim_end_matches('.').split_whitespace().next().unwrap_or_default();
    let value = if name == "async_scheduling" { (value == "enabled").to_string() } else { value.to_owned() };
    reader.settings(false, vec![Setting { name: name.to_owned(), value, line: at.line }]);
    true
}

fn vllm(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    let seconds = |mark: &str| number_after(message, mark).map(Seconds);
    if message.contains("is assigned as DP rank") {
        reader.phase(StartPhase::Distributed, None, at);
    } else if message.starts_with("Starting to load model") {
        reader.phase(StartPhase::Weights, None, at);
    } else if message.starts_with("Loading weights took ") {
        reader.phase(StartPhase::Weights, seconds("took "), at);
    } else if message.starts_with("Model loading took ") || message.starts_with("Loading model weights took ") {
        // Called GB up to 0.8.0, though it was GiB.
        reader.term(Term::Weights, gib_after(message, "took "), at);
        reader.phase(StartPhase::Weights, seconds(" and "), at);
    } else if ledger(reader, message, at) || kv(reader, message, at) || graphs(reader, message, at) {
        return true;
    } else if message.starts_with("init engine (profile, create kv cache, warmup model) took ") {
        reader.phase(StartPhase::Initialised, seconds("took "), at);
    } else if ["Starting vLLM server on", "Starting vLLM API server"].iter().any(|start| message.starts_with(start))
        || message.contains("Application startup complete")
    {
        reader.phase(StartPhase::Ready, None, at);
    } else {
        return false;
    }
    true
}

/// The memory ledger of vLLM. V0 prints it at INFO, in several lines; V1 at DEBUG, and at INFO only its last term.
fn ledger(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    let mut terms: Vec<(Term, Option<Bytes>)> = Vec::new();
    if message.starts_with("Memory profiling takes ") {
        reader.phase(StartPhase::Profile, number_after(message, "takes ").map(Seconds), at);
        terms.push((Term::NonKv, gib_after(message, "Total non KV cache memory: ")));
        terms.push((Term::ActivationPeak, gib_after(message, "torch peak memory increase: ")));
        let weights = gib_after(message, "weights memory: ");
        // Newer ones tell what the device lost in all: the weights and what is outside the framework.
        let consumed = gib_after(message, "total consumed (from mem_get_info): ");
        let outside = consumed.zip(weights).map(|(consumed, weights)| Bytes(consumed.0 - weights.0));
        terms.push((Term::NonTorch, gib_after(message, "non-torch forward increase memory: ").or(outside)));
        terms.push((Term::Weights, weights));
    } else if message.starts_with("the current vLLM instance can use total_gpu_memory") {
        terms.push((Term::Total, gib_after(message, "total_gpu_memory (")));
        terms.push((Term::Budget, gib_after(message, " = ")));
    } else if message.starts_with("model weights take ") {
        terms.push((Term::Weights, gib_after(message, "model weights take ")));
        terms.push((Term::NonTorch, gib_after(message, "non_torch_memory takes ")));
        terms.push((Term::ActivationPeak, gib_after(message, "PyTorch activation peak memory takes ")));
        terms.push((Term::KvCache, gib_after(message, "reserved for KV Cache is ")));
    } else if message.starts_with("Available KV cache memory: ") {
        reader.phase(StartPhase::Profile, None, at);
        terms.push((Term::KvCache, gib_after(message, "memory: ")));
    } else if message.starts_with("Initial free memory") {
        terms.push((
            Term::FreeAtStart,
            gib_after(message, "Initial free memory: ").or_else(|| gib_after(message, "Initial free memory ")),
        ));
        terms.push((Term::Budget, between(message, "(util), ", " GiB").and_then(leading_number).map(gib)));
        terms.push((Term::KvCache, gib_after(message, "reserved ")));
        terms.push((Term::KvAsked, gib_after(message, "reserved ")));
    } else if message.starts_with("Free memory on device") {
        terms.extend(free_of_total(message));
        terms.push((
            Term::ActivationPeak,
            between(message, "(weights + non-torch), ", " GiB").and_then(leading_number).map(gib),
        ));
        terms.push((
            Term::GraphsActual,
            between(message, "for peak activation, and ", " GiB").and_then(leading_number).map(gib),
        ));
    } else if message.starts_with("Explicitly set (") {
        // On a CPU the cache is set aside, not measured.
        reader.phase(StartPhase::Profile, None, at);
        let pair = between(message, "(", ")").and_then(|pair| pair.split_once('/'));
        let set = pair.and_then(|(set, _)| leading_number(set)).map(gib);
        terms.push((Term::KvCache, set));
        // The worker says this of a size that was given alone: by --kv-cache-memory-bytes or VLLM_CPU_KVCACHE_SPACE.
        terms.push((Term::KvAsked, set));
        terms.push((Term::Total, pair.and_then(|(_, total)| leading_number(total)).map(gib)));
    } else {
        return false;
    }
    for (term, bytes) in terms {
        reader.term(term, bytes, at);
    }
    true
}

/// What `(free/total GiB)` and `utilization (share, GiB)` state, in the line that a start ends with and in the refusal of one.
pub(super) fn free_of_total(message: &str) -> [(Term, Option<Bytes>); 3] {
    let pair = between(message, "(", ")").and_then(|pair| pair.split_once('/'));
    let desired = message.split_once("desired GPU memory utilization ");
    let desired = desired.or_else(|| message.split_once("Desired GPU memory utilization is "));
    let budget = desired.and_then(|(_, rest)| between(rest, ", ", " GiB)"));
    [
        (Term::FreeAtStart, pair.and_then(|(free, _)| leading_number(free)).map(gib)),
        (Term::Total, pair.and_then(|(_, total)| leading_number(total)).map(gib)),
        (Term::Budget, budget.and_then(leading_number).map(gib)),
    ]
}

/// Capacity of the KV cache: one line, or two, or blocks only, by version.
fn kv(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    if let Some(tokens) = whole_after(message, "KV cache size: ") {
        reader.log.kv.tokens = Some(tokens);
        reader.log.kv.line = Some(at.line);
        reader.log.kv.concurrency = number_after(message, "tokens per request: ").or(reader.log.kv.concurrency);
    } else if message.starts_with("Maximum concurrency for ") {
        reader.log.kv.concurrency = number_after(message, "tokens per request: ");
    } else if let Some(blocks) = whole_after(message, "num_gpu_blocks is: ") {
        reader.log.kv.blocks = Some(blocks);
        return true;
    } else if let Some(blocks) = whole_after(message, "num_gpu_blocks_override=") {
        reader.log.kv.blocks = Some(blocks);
        let profiled = number_after(message, "Overriding num_gpu_blocks=").map(|blocks| ("profiled_blocks", blocks));
        reader.event("kv_blocks_overridden", message, profiled.into_iter().collect(), at);
    } else if let Some(blocks) = message.strip_prefix("# ").filter(|rest| rest.contains(" blocks: ")) {
        reader.log.kv.blocks = whole_after(blocks, " blocks: ");
    } else {
        return false;
    }
    reader.phase(StartPhase::KvCache, None, at);
    true
}

fn graphs(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    if message.starts_with("Capturing ") && message.to_ascii_lowercase().contains("graph") {
        reader.phase(StartPhase::Graphs, None, at);
    } else if message.starts_with("Graph capturing finished in ") {
        reader.term(Term::GraphsActual, gib_after(message, "took "), at);
        reader.phase(StartPhase::Graphs, number_after(message, "finished in ").map(Seconds), at);
    } else if message.starts_with("Estimated CUDA graph memory: ") {
        reader.term(Term::GraphsEstimated, gib_after(message, "memory: "), at);
    } else if message.starts_with("CUDA graph pool memory: ") {
        reader.term(Term::GraphsActual, gib_after(message, "memory: "), at);
        reader.term(Term::GraphsEstimated, gib_after(message, "(actual), "), at);
    } else if message.contains("torch.compile takes ") || message.contains("torch.compile took ") {
        let length = number_after(message, "takes ").or_else(|| number_after(message, "took "));
        reader.phase(StartPhase::Compile, length.map(Seconds), at);
    } else if message.contains("Directly load the compiled graph") || message.contains("Directly load AOT compilation")
    {
        reader.log.compile.hits += 1;
    } else if message.contains("Cache the graph of ") || message.contains("aved AOT compiled function to") {
        reader.log.compile.misses += 1;
    } else {
        return false;
    }
    true
}

/// SGLang's start. Its GB are GiB.
fn sglang(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    let elapsed = number_after(message, "elapsed=").or_else(|| number_after(message, "Time elapsed: ")).map(Seconds);
    if message.starts_with("Init torch distributed") || message.starts_with("Init parallel") {
        reader.phase(StartPhase::Distributed, elapsed, at);
    } else if message.starts_with("Load weight begin") {
        reader.term(Term::FreeAtStart, gib_after(message, "avail mem="), at);
        reader.phase(StartPhase::Weights, None, at);
    } else if message.starts_with("Load weight end") {
        reader.term(Term::Weights, gib_after(message, "mem usage="), at);
        reader.phase(StartPhase::Weights, elapsed, at);
    } else if message.contains("Cache is allocated.") || message.contains("Cache VA upper bound.") {
        let (keys, values) = (gib_after(message, "K size: "), gib_after(message, "V size: "));
        reader.term(Term::KvCache, keys.zip(values).map(|(k, v)| Bytes(k.0 + v.0)), at);
        reader.log.kv.tokens = whole_after(message, "#tokens: ").or(reader.log.kv.tokens);
        reader.log.kv.line = Some(at.line);
        reader.phase(StartPhase::KvCache, None, at);
    } else if message.starts_with("Memory pool end") {
        reader.phase(StartPhase::KvCache, None, at);
    } else if message.starts_with("Capture ") && message.to_ascii_lowercase().contains("graph") {
        if message.to_ascii_lowercase().contains("graph end") {
            reader.term(Term::GraphsActual, gib_after(message, "mem usage="), at);
        }
        reader.phase(StartPhase::Graphs, elapsed, at);
    } else if message.starts_with("The server is fired up and ready to roll") {
        reader.phase(StartPhase::Ready, None, at);
    } else {
        return false;
    }
    reader.engine("sglang", None);
    true
}
