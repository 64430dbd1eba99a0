//! Lines that an engine prints every few seconds, as series.
//!
//! Fields come and go with the version and with what happened, so each line is split and its fields are keyed by name.

use super::reader::{At, LogReader};
use super::scan::{leading_number, listed, named};
use firstcheck_model::signal::Signal;
use memchr::memmem;
use std::sync::LazyLock;

/// What vLLM's line has.
static THROUGHPUT: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("Avg prompt throughput: "));

/// Parts of which every statistics line has one.
pub(super) const PARTS: &[&str] =
    &["Avg prompt throughput: ", "SpecDecoding metrics: ", "Prefill batch", "Decode batch", "Iteration("];

/// Takes a statistics line; whether it was one.
pub(super) fn take(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    if let Some(start) = THROUGHPUT.find(message.as_bytes()) {
        let engine = message[..start].trim_end_matches([':', ' ']).strip_prefix("Engine ");
        reader.engine("vllm", None);
        fields(reader, "log:", &message[start..], engine, at);
    } else if let Some(rest) = message.strip_prefix("SpecDecoding metrics: ") {
        fields(reader, "log:spec ", rest, None, at);
    } else if let Some((kind, rest)) = batch(message) {
        reader.engine("sglang", None);
        fields(reader, kind, rest, at.process, at);
    } else if let Some((_, rest)) = message.split_once("Iteration(").filter(|_| message.contains("context tokens")) {
        let Some((_, rest)) = rest.split_once("): ") else { return false };
        for field in rest.split(", ") {
            match field.split_once(": ") {
                Some((name, value)) => sample(reader, &format!("log:iteration {name}"), value, None, at),
                None => {
                    let (value, name) = field.split_once(' ').unwrap_or((field, "value"));
                    sample(reader, &format!("log:iteration {name}"), value, None, at);
                }
            }
        }
    } else {
        return false;
    }
    true
}

/// `Prefill batch, #new-seq: 1, …`, with `[12]` or a point after the word, by version.
fn batch(message: &str) -> Option<(&'static str, &str)> {
    let (kind, rest) = match message.strip_prefix("Prefill batch") {
        Some(rest) => ("log:prefill ", rest),
        None => ("log:decode ", message.strip_prefix("Decode batch")?),
    };
    let start = rest.find(['#', 'a', 'c', 'f'])?;
    Some((kind, &rest[start..]))
}

/// `name: value, name: value, …`. A part without a name belongs to the field before it: a list.
fn fields(reader: &mut LogReader, kind: &str, text: &str, place: Option<&str>, at: &At<'_>) {
    let (mut last, mut position) = (String::new(), 0);
    for part in listed(text) {
        match named(part) {
            Some((name, value)) => {
                last.clear();
                last.extend([kind, name.trim()]);
                position = 0;
                sample(reader, &last, value, place, at);
            }
            None if !last.is_empty() => {
                position += 1;
                sample(reader, &format!("{last} [{position}]"), part, place, at);
            }
            None => {}
        }
    }
}

/// Adds one value. Percentages become shares, truth values 1 and 0.
pub(super) fn sample(reader: &mut LogReader, name: &str, value: &str, place: Option<&str>, at: &At<'_>) {
    let number = match value.trim() {
        "True" => Some(1.0),
        "False" => Some(0.0),
        text => leading_number(text),
    };
    let Some(number) = number else { return };
    let percent = value.trim_end_matches(['.', ' ']).ends_with('%');
    reader.sample(name, meaning, if percent { number / 100.0 } else { number }, place, at);
}

/// The signal that a field is a sample of. Rolling rates are none: they cover the last thousand requests.
fn meaning(name: &str) -> Option<Signal> {
    match name {
        "log:Running" | "log:decode #running-req" => Some(Signal::Running),
        "log:Waiting" | "log:Pending" | "log:decode #queue-req" => Some(Signal::Waiting),
        "log:decode token usage" | "log:decode full token usage" => Some(Signal::KvCacheUsage),
        _ if name.ends_with(" KV cache usage") && !name.contains("CPU KV") => Some(Signal::KvCacheUsage),
        // Before 0.7 the CPU's share was one of a swap space; later it is a CPU's own cache.
        "log:CPU KV cache usage" => Some(Signal::KvCacheUsage),
        _ => None,
    }
}
