//! Files that lie beside evidence and are none here: traces that other verbs read, workloads, settings, what people and
//! tools wrote for people. They are told apart so that a report can say what they are and why nothing was taken.

use crate::{
    frame::{
        Action::{self, Later, OutOfScope},
        Confidence::{self, Certain, Likely, Weak},
        Format, Group, Head,
    },
    json::Outline,
};

const TRACE: Action = OutOfScope("a trace of a profiler; this version reads none");
const WORKLOAD: Action = OutOfScope("it says what is offered, not what was measured: `firstcheck run` offers it");
const FOR_PEOPLE: Action = OutOfScope("text for people; what it says stands in the files it was made of");
const TABLE: Action = OutOfScope("a table of figures; the file that it was made of has the measurements");
const SETUP: Action = OutOfScope("it says how something was set up, not what was measured");
const NUMERICS: Action = Later("tensors, which the checks of outputs read");

const fn beside(
    id: &'static str,
    group: Group,
    name: &'static str,
    recognise: fn(&Head<'_>) -> Option<Confidence>,
    action: Action,
) -> Format {
    Format { id, group, name, versions: "", takes: "", recognise, action }
}

/// Whether the first object has all `keys`.
fn keys(head: &Head<'_>, keys: &[&str]) -> Option<Confidence> {
    head.object(keys).map(|_| Certain)
}

/// Whether the start holds one of `words`.
fn says(head: &Head<'_>, words: &[&str]) -> bool {
    words.iter().any(|word| memchr::memmem::find(head.start(), word.as_bytes()).is_some())
}

/// Whether a table has all `names` as columns.
fn columns(head: &Head<'_>, names: &[&str]) -> Option<Confidence> {
    let columns = head.columns();
    (columns.len() > 1 && names.iter().all(|name| columns.contains(name))).then_some(Certain)
}

fn magic(head: &Head<'_>, bytes: &[u8]) -> Option<Confidence> {
    head.bytes().starts_with(bytes).then_some(Certain)
}

fn first_line<'h>(head: &Head<'h>) -> &'h str {
    let line = head.lines().find(|line| !line.trim_ascii().is_empty());
    line.and_then(|line| std::str::from_utf8(line).ok()).unwrap_or("")
}

fn traces(head: &Head<'_>) -> Option<Confidence> {
    let first = head.object(&[])?;
    let framed = ["schemaVersion", "deviceProperties", "distributedInfo"];
    (framed.iter().any(|key| first.get(key).is_some()) && (first.get("traceEvents").is_some() || !head.whole()))
        .then_some(Certain)
}

/// A list of lists of numbers.
fn timeline(head: &Head<'_>) -> Option<Confidence> {
    match head.json()? {
        Outline::List(Some(first)) if **first == Outline::List(Some(Box::new(Outline::Other))) => Some(Weak),
        _ => None,
    }
}

fn safetensors(head: &Head<'_>) -> Option<Confidence> {
    let (length, rest) = head.bytes().split_first_chunk::<8>()?;
    (u64::from_le_bytes(*length) < 100_000_000 && rest.starts_with(b"{\"")).then_some(Certain)
}

fn events(head: &Head<'_>) -> Option<Confidence> {
    let first = first_line(head);
    let stream = head.begins("data: ") || head.begins("event: ");
    let answer = first.starts_with("HTTP/") && says(head, &["text/event-stream"]);
    (stream || answer).then_some(Certain)
}

fn small_answer(head: &Head<'_>) -> Option<Confidence> {
    let one = |key: &str| head.object(&[key]).is_some_and(|first| first.keys().len() == 1);
    let known = ["server_load", "is_sleeping", "is_scaling_elastic_ep", "detail", "error"].into_iter().any(one);
    (head.whole() && (known || head.object(&["count", "max_model_len", "tokens"]).is_some())).then_some(Certain)
}

fn body(head: &Head<'_>) -> Option<Confidence> {
    let asked = head.object(&["model", "messages"]).or_else(|| head.object(&["model", "prompt"]))?;
    asked.get("choices").is_none().then_some(Certain)
}

fn client_console(head: &Head<'_>) -> Option<Confidence> {
    const SAID: [&str; 6] = [
        "Serving Benchmark Result",
        "Benchmark Comparison",
        "NVIDIA AIPerf",
        "ttft_ms",
        " HTTP/1.1 200 OK ",
        "Namespace(subparser='bench'",
    ];
    says(head, &SAID).then_some(Weak)
}

fn markdown(head: &Head<'_>) -> Option<Confidence> {
    let first = first_line(head);
    (first.starts_with("# ") || first.starts_with("| "))
        .then_some(Weak)
        .filter(|_| !says(head, &["# TYPE ", "# HELP "]))
}

/// A table with tabs, or a list of routes.
fn notes(head: &Head<'_>) -> Option<Confidence> {
    let first = first_line(head);
    let table = first.split('\t').count() > 2;
    let routes =
        head.lines().take(5).filter(|line| [&b"GET /"[..], b"POST /"].iter().any(|m| line.starts_with(m))).count();
    (table || routes > 1 || first.starts_with("Metric  ")).then_some(Weak)
}

fn yaml(head: &Head<'_>) -> Option<Confidence> {
    let is_key = |line: &&[u8]| {
        let key = line.split(|b| *b == b':').next().unwrap_or(b"");
        key.len() < line.len() && !key.is_empty() && key.iter().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(b))
    };
    let lines: Vec<&[u8]> = head.lines().filter(|line| !line.is_empty() && !line.starts_with(b"#")).take(50).collect();
    let top = lines.iter().filter(|line| !line.starts_with(b" ") && !line.starts_with(b"-"));
    let (all, keyed) = (top.clone().count(), top.filter(|line| is_key(line)).count());
    (all > 1 && all == keyed).then_some(Weak)
}

fn table(head: &Head<'_>) -> Option<Confidence> {
    let widths: Vec<usize> =
        head.lines().filter(|line| !line.is_empty()).take(4).map(|l| l.split(|b| *b == b',').count()).collect();
    let first = first_line(head);
    let named =
        first.split(',').all(|name| name.trim_matches('"').starts_with(|c: char| c.is_alphabetic() || c == '_'));
    (named && widths.len() > 1 && widths[0] > 2 && widths.iter().all(|width| *width >= widths[0])).then_some(Weak)
}

pub(crate) static FORMATS: [Format; 34] = [
    beside("kineto", Group::Traces, "PyTorch profiler trace", traces, TRACE),
    beside("chrome-trace", Group::Traces, "Chrome trace", |h| h.object(&["traceEvents"]).map(|_| Likely), TRACE),
    beside(
        "nsys",
        Group::Traces,
        "Nsight Systems export",
        |h| magic(h, b"SQLite format 3\0").filter(|_| says(h, &["CUPTI_", "StringIds", "NVTX_EVENTS"])),
        TRACE,
    ),
    beside(
        "sqlite",
        Group::Traces,
        "SQLite database",
        |h| magic(h, b"SQLite format 3\0").map(|_| Weak),
        OutOfScope("not an export of Nsight Systems"),
    ),
    beside(
        "ncu",
        Group::Traces,
        "Nsight Compute table",
        |h| columns(h, &["ID", "Kernel Name", "Metric Name", "Metric Value"]),
        TRACE,
    ),
    beside(
        "nsys-stats",
        Group::Traces,
        "summary of Nsight Systems",
        |h| {
            let first = first_line(h);
            (first.contains("Time (ns)") || first.contains("Duration (ns)") || first.contains("(ns)")).then_some(Likely)
        },
        OutOfScope("a summary; the export that it was made of has the kernels"),
    ),
    beside("memory-timeline", Group::Traces, "PyTorch memory timeline", timeline, TRACE),
    beside(
        "perfetto-text",
        Group::Traces,
        "Perfetto trace as text",
        |h| says(h, &["packet {", "packet{"]).then_some(Likely),
        TRACE,
    ),
    beside(
        "sql",
        Group::Traces,
        "SQL",
        |h| says(h, &["CREATE TABLE"]).then_some(Weak),
        OutOfScope("the layout of a database"),
    ),
    beside("safetensors", Group::Other, "tensors (safetensors)", safetensors, NUMERICS),
    beside("npy", Group::Other, "tensors (NumPy)", |h| magic(h, b"\x93NUMPY"), NUMERICS),
    beside(
        "mooncake",
        Group::Workloads,
        "Mooncake trace",
        |h| keys(h, &["timestamp", "input_length", "output_length"]),
        WORKLOAD,
    ),
    beside(
        "azure",
        Group::Workloads,
        "Azure LLM trace",
        |h| columns(h, &["TIMESTAMP", "ContextTokens", "GeneratedTokens"]),
        WORKLOAD,
    ),
    beside(
        "lengths",
        Group::Workloads,
        "lengths of requests",
        |h| keys(h, &["input_toks", "output_toks"]).filter(|_| h.object(&["queued_ts"]).is_none()),
        WORKLOAD,
    ),
    beside("sessions", Group::Workloads, "sessions of turns", |h| keys(h, &["session_id", "turns"]), WORKLOAD),
    beside(
        "agent-trace",
        Group::Workloads,
        "trace of an agent's requests",
        |h| keys(h, &["id", "models"]).or_else(|| keys(h, &["id", "requests"])).or_else(|| keys(h, &["hash_id_scope"])),
        WORKLOAD,
    ),
    beside(
        "aiperf-inputs",
        Group::Workloads,
        "aiperf inputs",
        |h| {
            let first = h.object(&["data"])?.get("data")?.first()?;
            first.has(&["session_id", "payloads"]).then_some(Certain)
        },
        WORKLOAD,
    ),
    beside("request-body", Group::Workloads, "body of a request", body, OutOfScope("prompts are not kept")),
    beside("events", Group::Other, "events of a stream", events, OutOfScope("one answer without its times")),
    beside(
        "timed-events",
        Group::Other,
        "one answer's events with their times",
        |h| keys(h, &["sent_wall_ns", "request"]),
        OutOfScope("a single request, of an unknown tool"),
    ),
    beside("small-answer", Group::Answers, "answer of an endpoint", small_answer, OutOfScope("it states no setting")),
    beside(
        "openapi",
        Group::Answers,
        "routes of a server (OpenAPI)",
        |h| keys(h, &["openapi", "info"]),
        OutOfScope("it states no setting"),
    ),
    beside(
        "engine-timings",
        Group::Other,
        "times of requests inside an engine",
        |h| keys(h, &["request_id", "queued_ts"]),
        OutOfScope("written by an instrumented engine of an unknown kind"),
    ),
    beside(
        "client-rows",
        Group::Other,
        "rows of an unknown client",
        |h| keys(h, &["kind", "nth", "status"]),
        OutOfScope("not a format of a known tool"),
    ),
    beside(
        "capture-notes",
        Group::Settings,
        "notes of a capture",
        |h| {
            keys(h, &["serve_cmd"]).or_else(|| keys(h, &["engine_kwargs"])).or_else(|| keys(h, &["num_nodes", "nodes"]))
        },
        SETUP,
    ),
    beside(
        "ready-mark",
        Group::Settings,
        "aiperf's mark of completion",
        |h| keys(h, &["ready", "was_cancelled"]),
        SETUP,
    ),
    beside("validation", Group::Settings, "inference-perf validation", |h| keys(h, &["global", "reports"]), SETUP),
    beside("yaml", Group::Settings, "settings (YAML)", yaml, SETUP),
    beside(
        "python",
        Group::Other,
        "source code",
        |h| (h.begins("#!") || h.begins("# SPDX-") || h.begins("import ") || h.begins("\"\"\"")).then_some(Likely),
        OutOfScope("a program"),
    ),
    beside("client-console", Group::Logs, "console output of a client", client_console, FOR_PEOPLE),
    beside("usage", Group::Logs, "usage message", |h| h.begins("usage: ").then_some(Weak), FOR_PEOPLE),
    beside("markdown", Group::Other, "prose (Markdown)", markdown, FOR_PEOPLE),
    beside("notes", Group::Other, "list or table for people", notes, FOR_PEOPLE),
    beside("table", Group::Other, "table (CSV)", table, TABLE),
];
