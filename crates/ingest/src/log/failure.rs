//! Failures: tracebacks of several processes in one log, and what they mean.

use super::{
    out_of_memory::out_of_memory,
    reader::{At, LogReader},
    scan::{between, clipped, gib_after, whole_after},
    startup::free_of_total,
};
use firstcheck_model::{
    engine_log::{Failure, FailureKind, StartPhase, Term},
    hang::CollectiveTimeout,
    unit::Seconds,
};

/// Characters of a failure's text that are kept.
const TEXT: usize = 1000;

/// Failures of different texts that are kept: of more the refused requests are dropped first, then the latest.
const MOST: usize = 1000;

/// A traceback that is being read, one a process.
#[derive(Debug, Clone, Default)]
pub(super) struct Traceback {
    inside: bool,
    /// From the outermost.
    frames: Vec<String>,
}

/// Frames of a traceback of which the functions are kept.
const FRAMES: usize = 12;

/// What failures say, the more telling first.
const KINDS: [(FailureKind, &str); 46] = [
    // A process that the system ended has no last words: its parent tells the signal.
    (FailureKind::Killed, "': -9"),
    (FailureKind::Killed, "(exit code: -9)"),
    (FailureKind::Consequence, "See root cause above"),
    (FailureKind::Consequence, "See stack trace for root cause"),
    (FailureKind::Consequence, "Task finished unexpectedly"),
    (FailureKind::Consequence, "please check the stack trace above for the root cause"),
    (FailureKind::Consequence, "EngineCore failed to start"),
    (FailureKind::Consequence, "EngineCore encountered an issue"),
    (FailureKind::Consequence, "EngineCore encountered a fatal error"),
    (FailureKind::Consequence, "died unexpectedly"),
    (FailureKind::Consequence, "Engine process failed to start"),
    (FailureKind::Consequence, "EngineDeadError"),
    (FailureKind::Consequence, "Scheduler hit an exception"),
    (FailureKind::Consequence, "scheduler died during initialization"),
    (FailureKind::Consequence, "cancelled by another rank"),
    (FailureKind::Configuration, "is greater than the derived max_model_len"),
    (FailureKind::Configuration, "is greater than the derived context_length"),
    (FailureKind::Configuration, "validation error for"),
    (FailureKind::Configuration, "unrecognized arguments"),
    (FailureKind::Configuration, "invalid choice"),
    (FailureKind::Configuration, ": error: argument "),
    (FailureKind::Configuration, "is not valid for this configuration"),
    (FailureKind::FreeMemory, "is less than desired GPU memory utilization"),
    (FailureKind::FreeMemory, "less than desired CPU memory"),
    (FailureKind::NoKvMemory, "No available memory for the cache blocks"),
    (FailureKind::NoKvMemory, "Not enough memory. Please try to increase --mem-fraction-static"),
    (FailureKind::KvTooSmall, "KV cache is needed, which is larger than the available KV cache memory"),
    (FailureKind::KvTooSmall, "is larger than the maximum number of tokens that can be stored in KV cache"),
    (FailureKind::KvRequestTooLarge, "is not enough for the requested KV cache"),
    (FailureKind::KvRequestTooLarge, "is less than requested memory for kv"),
    (FailureKind::KvRequestTooLarge, "Not enough available memory for KV cache"),
    (FailureKind::SamplerWarmUp, "out of memory occurred when warming up"),
    (FailureKind::OutOfMemory, "out of memory"),
    (FailureKind::OutOfMemory, "OutOfMemoryError"),
    (FailureKind::OutOfMemory, "Capture cuda graph failed"),
    (FailureKind::Killed, "Killed"),
    (FailureKind::Killed, "exit code: -9"),
    (FailureKind::Killed, "Bus error"),
    (FailureKind::Address, "ddress already in use"),
    (FailureKind::KvTransfer, "KVTransferError"),
    (FailureKind::KvTransfer, "NIXL transfer failure"),
    (FailureKind::Communication, "NCCL error"),
    (FailureKind::Communication, "Watchdog caught collective operation timeout"),
    (FailureKind::Communication, "DistBackendError"),
    (FailureKind::Model, "is not a valid model identifier"),
    (FailureKind::Model, "Error while deserializing"),
];

/// Exceptions by which a running server refuses one request.
const REFUSALS: [&str; 5] =
    ["VLLMValidationError", "BadRequestError", "HTTPException", "RequestValidationError", "ValidationError"];

/// Kinds of failure that are told outside of a traceback, whatever the level.
const BARE: [&str; 12] = [
    "Killed",
    "Bus error",
    "vllm: error: ",
    "api_server.py: error: ",
    "launch_server.py: error: ",
    "vllm serve: error: ",
    "died unexpectedly",
    "Watchdog caught collective operation timeout",
    "EngineCore failed to start",
    "Engine core initialization failed",
    "EngineCore encountered a fatal error",
    "torch.OutOfMemoryError: ",
];

/// Parts of which every message that begins a failure has one.
pub(super) fn parts() -> Vec<&'static str> {
    BARE.into_iter().chain(["Traceback (most recent call last)"]).collect()
}

/// Whether a line without a prefix tells a failure by itself.
pub(super) fn is_bare(text: &str) -> bool {
    BARE.iter().any(|bare| text.contains(bare))
}

/// Whether a line is a frame of a traceback within an engine's own source.
pub(super) fn is_own_frame(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("File \"") && ["/vllm/", "/sglang/"].iter().any(|own| text.contains(own))
}

impl Traceback {
    /// Takes a line of a traceback, or one that tells a failure without any; whether it was one.
    pub(super) fn take(reader: &mut LogReader, text: &str, at: &At<'_>) -> bool {
        let spilled = reader.spilled.clone().filter(|_| at.process.is_none() && !reader.trace(None).inside);
        let at = &At { process: at.process.or(spilled.as_deref()), ..*at };
        let trace = reader.trace(at.process);
        let was_inside = trace.inside;
        if let Some((before, _)) = text.split_once("Traceback (most recent call last)") {
            *trace = Self { inside: true, frames: Vec::new() };
            reader.tracing += usize::from(!was_inside);
            // One message of many lines, of which the first alone has the engine's prefix.
            reader.spilled = at.process.filter(|_| !before.trim().is_empty()).map(str::to_owned);
            return true;
        }
        if trace.inside {
            // A group of exceptions draws lines before its parts.
            let bare = text.trim_start_matches(['|', '+', '-']);
            if let Some(frame) = bare.trim_start().strip_prefix("File \"") {
                trace.frames.extend(place(frame));
                // A recursion ends at a thousand frames, of which the innermost tell most.
                trace.frames.drain(..trace.frames.len().saturating_sub(FRAMES));
                return true;
            }
            if bare.is_empty() || bare.starts_with(' ') || bare.starts_with("[rank") {
                return true;
            }
            trace.inside = false;
            let frames = std::mem::take(&mut trace.frames);
            reader.spilled = None;
            reader.tracing = reader.tracing.saturating_sub(1);
            if let Some((exception, message)) = exception(bare) {
                push(reader, Some(exception), message, frames, at);
                return true;
            }
        }
        if detail(reader, text) {
            return true;
        }
        let chained = ["During handling of the above exception", "The above exception was the direct cause"];
        if chained.iter().any(|start| text.starts_with(start)) {
            return true;
        }
        if BARE.iter().any(|part| text.contains(part)) && !text.contains("Traceback") {
            push(reader, None, text, Vec::new(), at);
            return true;
        }
        false
    }
}

/// pydantic puts what is wrong into an indented line after the exception.
fn detail(reader: &mut LogReader, text: &str) -> bool {
    let follows = text.starts_with("  ") && reader.follows_failure();
    let Some(last) = reader.log.failures.last_mut() else { return false };
    if !follows || !last.exception.as_deref().is_some_and(|name| name.ends_with("ValidationError")) {
        return false;
    }
    if !text.trim_start().starts_with("For further information") {
        last.text = clipped(&format!("{} {}", last.text, text.trim()), TEXT);
        last.kind = kind(&last.text).unwrap_or(FailureKind::Configuration);
    }
    true
}

/// `ValueError: message`, `pydantic_core._pydantic_core.ValidationError: …`, `KeyboardInterrupt`.
fn exception(text: &str) -> Option<(&str, &str)> {
    let (name, message) = text.split_once(':').unwrap_or((text.trim(), ""));
    let last = name.rsplit('.').next()?;
    let named = last.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    named.then(|| (name, message.trim()))
}

/// `path", line 12, in name` as `file.py:12 name`.
fn place(text: &str) -> Option<String> {
    let (path, rest) = text.split_once("\", line ")?;
    let (line, function) = rest.split_once(", in ").unwrap_or((rest, ""));
    let parts: Vec<&str> = path.rsplit('/').take(2).collect();
    let file: Vec<&str> = parts.into_iter().rev().collect();
    Some(format!("{}:{} {}", file.join("/"), line.trim(), function.trim()).trim_end().to_owned())
}

fn kind(text: &str) -> Option<FailureKind> {
    KINDS.iter().find(|(_, part)| text.contains(part)).map(|(kind, _)| *kind)
}

fn push(reader: &mut LogReader, exception: Option<&str>, message: &str, frames: Vec<String>, at: &At<'_>) {
    let whole = exception.map_or_else(|| message.to_owned(), |name| format!("{name}: {message}"));
    let phase = reader.log.reached();
    let refused = exception.is_some_and(|name| REFUSALS.iter().any(|refusal| name.ends_with(refusal)));
    let told = Some(FailureKind::Request).filter(|_| refused && phase == Some(StartPhase::Ready));
    let kind = told.or_else(|| kind(&whole)).unwrap_or(match exception {
        // A rejected option ends the program by an exception of argparse or of a validator.
        Some("SystemExit" | "ArgumentError") => FailureKind::Configuration,
        Some("FileNotFoundError" | "OSError") if whole.contains("model") => FailureKind::Model,
        _ => FailureKind::Other,
    });
    if reader.log.collective_timeouts.len() < MOST {
        reader.log.collective_timeouts.extend(collective_timeout(&whole, at.line));
    }
    ledger(reader, kind, message, at);
    // Several processes print one exception: the first stands for all.
    let text = clipped(message.trim(), TEXT);
    if reader.log.failures.iter().any(|failure| failure.text == text && failure.exception.as_deref() == exception) {
        return;
    }
    reader.last_failure = Some(reader.messages);
    if reader.log.failures.len() == MOST {
        // A running server refuses requests without end; what ends it comes last.
        let refused = reader.log.failures.iter().position(|failure| failure.kind == FailureKind::Request);
        reader.log.failures.remove(refused.unwrap_or(MOST - 1));
        reader.log.failures_dropped += 1;
    }
    reader.log.failures.push(Failure {
        kind,
        exception: exception.map(str::to_owned),
        text,
        process: at.process.map(str::to_owned),
        phase,
        frame: frames.last().cloned(),
        functions: frames.iter().rev().filter_map(|frame| Some(frame.split_once(' ')?.1.to_owned())).collect(),
        memory: out_of_memory(message),
        at: at.moment,
        line: at.line,
    });
}

/// `[PG ID 2 PG GUID 3 Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6, OpType=ALLREDUCE, NumelIn=32,
/// NumelOut=32, Timeout(ms)=600000) ran for 600024 milliseconds before timing out.`
fn collective_timeout(text: &str, line: u64) -> Option<CollectiveTimeout> {
    let (before, after) = text.split_once("Watchdog caught collective operation timeout")?;
    let rank = before.rsplit_once("Rank ").and_then(|(_, rest)| rest.split(']').next()?.trim().parse().ok());
    Some(CollectiveTimeout {
        rank,
        sequence: whole_after(after, "SeqNum=")?,
        operation: between(after, "OpType=", ",").map(str::trim)?.to_owned(),
        elements: whole_after(after, "NumelIn="),
        waited: whole_after(after, "ran for ").map(|ms| Seconds(ms as f64 * 1e-3)),
        line,
    })
}

/// Terms of the memory ledger that a failure states.
fn ledger(reader: &mut LogReader, kind: FailureKind, message: &str, at: &At<'_>) {
    match kind {
        FailureKind::KvTooSmall => {
            let needed = between(message, "(", " G")
                .and_then(|_| gib_after(message.split_once(", (").map_or("", |(_, rest)| rest), ""));
            reader.term(Term::KvNeeded, needed, at);
            reader.term(Term::KvCache, gib_after(message, "available KV cache memory ("), at);
        }
        FailureKind::FreeMemory => {
            free_of_total(message).into_iter().for_each(|(term, bytes)| reader.term(term, bytes, at));
        }
        FailureKind::KvRequestTooLarge => {
            reader.term(Term::Total, free_of_total(message)[1].1, at);
            reader.term(Term::KvAsked, gib_after(message, "requested memory for kv ("), at);
        }
        _ => {}
    }
}
