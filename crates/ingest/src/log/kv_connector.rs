//! What connectors say of the KV that they look up, load, store and transfer.
//!
//! LMCache tells each operation in a line of its own, NIXL and Mooncake those of an interval together. Sizes called MB, GB
//! or gb are powers of 1024.

use super::{
    interval::sample,
    reader::{At, LogReader},
    scan::{gib_after, number_after, whole_after},
};
use firstcheck_model::{
    engine_log::{ChoiceOf, KvAction, KvConnector, KvOperation},
    unit::{Bytes, Seconds},
};

/// Operations of a log that are kept; more are counted only.
const MOST: usize = 100_000;

/// Parts of which every message of a connector has one.
pub(super) const PARTS: &[&str] =
    &["LMCache hit tokens: ", "Stored ", "Store ", "Retrieved ", "Prefetch request completed", "KV Transfer metrics: "];

/// Takes what a connector did; whether the line told it.
pub(super) fn take(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    let Some(operation) = lmcache(message, at).or_else(|| interval(reader, message, at)) else { return false };
    if let Some((_, fields)) = message.split_once("KV Transfer metrics: ") {
        for (name, value) in fields.split(", ").filter_map(|field| field.split_once('=')) {
            sample(reader, &format!("log:transfer {name}"), value, None, at);
        }
    }
    let kept = &mut reader.log.kv_operations;
    if kept.len() < MOST {
        kept.push(operation);
    } else {
        reader.log.kv_operations_dropped += 1;
    }
    true
}

/// An operation of which nothing is known yet but what it is.
fn begun(connector: KvConnector, action: KvAction, at: &At<'_>) -> KvOperation {
    KvOperation {
        connector,
        action,
        count: 1,
        failed: None,
        expired: None,
        asked: None,
        tokens: None,
        bytes: None,
        length: None,
        length_p90: None,
        post: None,
        descriptors: None,
        process: at.process.map(str::to_owned),
        at: at.moment,
        line: at.line,
    }
}

/// A line of LMCache, as its versions write it:
///
/// - `Reqid: r, Total tokens 8192, LMCache hit tokens: 4096, need to load: 4090`
/// - `Stored 256 out of total 256 tokens. size: 0.03 gb, cost 1.2 ms, throughput: 26.1 GB/s; …`,
///   `Store 256 tokens takes: 1.2 ms, …`, `Stored 1600 tokens in 0.002 seconds`
/// - `Retrieved 256 out of 512 required tokens (from 600 total tokens). size: …`,
///   `Retrieved 256 out of 512 out of total 600 tokens`, `Retrieved 1600 tokens in 0.002 seconds`
/// - `Prefetch request completed (L1+L2): 34/38 retained keys (34 L1, 0 L2) in 0.4 ms (…)`
fn lmcache(message: &str, at: &At<'_>) -> Option<KvOperation> {
    let of = |action| begun(KvConnector::LmCache, action, at);
    if let Some(found) = whole_after(message, "LMCache hit tokens: ") {
        return Some(KvOperation {
            asked: whole_after(message, "Total tokens "),
            tokens: Some(found),
            ..of(KvAction::Lookup)
        });
    }
    if message.contains("Prefetch request completed") {
        return Some(KvOperation { length: milliseconds(message, " in "), ..of(KvAction::Lookup) });
    }
    let marks = [("Stored ", KvAction::Store), ("Store ", KvAction::Store), ("Retrieved ", KvAction::Load)];
    let (rest, action) = marks.iter().find_map(|(mark, action)| Some((message.split_once(mark)?.1, *action)))?;
    let tokens = whole_after(rest, "")?;
    let lengths = [milliseconds(rest, " cost "), milliseconds(rest, " tokens takes: "), seconds(rest)];
    let length = lengths.into_iter().flatten().next();
    let asked = whole_after(rest, " out of total ").or_else(|| whole_after(rest, " out of "));
    // `Stored 3 files` of some other program.
    if length.is_none() && !(asked.is_some() && rest.contains(" tokens")) {
        return None;
    }
    Some(KvOperation { asked, tokens: Some(tokens), bytes: gib_after(rest, " size: "), length, ..of(action) })
}

fn milliseconds(text: &str, mark: &str) -> Option<Seconds> {
    let after = text.split_once(mark)?.1;
    let unit = after.split_once(' ')?.1;
    unit.starts_with("ms").then(|| length(number_after(after, "")? / 1e3))?
}

/// ` tokens in 0.002 seconds`
fn seconds(text: &str) -> Option<Seconds> {
    let after = text.split_once(" tokens in ")?.1;
    after.contains(" seconds").then(|| length(number_after(after, "")?))?
}

fn length(seconds: f64) -> Option<Seconds> {
    (seconds.is_finite() && seconds >= 0.0).then_some(Seconds(seconds))
}

/// `KV Transfer metrics: Num successful transfers=3, Avg xfer time (ms)=1.5, …`: the transfers of all ranks in an interval.
/// Without a success its means are written as 0, which is no time.
fn interval(reader: &LogReader, message: &str, at: &At<'_>) -> Option<KvOperation> {
    let fields = message.split_once("KV Transfer metrics: ")?.1;
    let number = |name: &str| {
        let pairs = fields.split(", ").filter_map(|field| field.split_once('='));
        pairs.filter(|(known, _)| known.trim() == name).find_map(|(_, value)| value.trim().parse::<f64>().ok())
    };
    let whole = |name: &str| number(name).filter(|n| (0.0..9e15).contains(n)).map(|n| n as u64);
    let count = whole("Num successful transfers")?;
    let failed = [whole("Num failed transfers"), whole("Num failed recvs")];
    let milliseconds = |names: [&str; 2]| {
        let found = names.into_iter().find_map(number).filter(|_| count > 0)?;
        length(found / 1e3)
    };
    let mib = number("Avg MB per transfer").filter(|_| count > 0);
    Some(KvOperation {
        count,
        failed: failed.into_iter().flatten().reduce(u64::saturating_add),
        expired: whole("Num KV expired reqs"),
        bytes: mib.map(|mib| Bytes(mib * Bytes::MIB * count as f64)),
        length: milliseconds(["Avg xfer time (ms)", "Avg KV transfer time (ms)"]),
        length_p90: milliseconds(["P90 xfer time (ms)", "P90 KV transfer time (ms)"]),
        post: milliseconds(["Avg post time (ms)"; 2]),
        descriptors: number("Avg number of descriptors").filter(|n| count > 0 && n.is_finite() && *n >= 0.0),
        ..begun(connector(reader, fields), KvAction::Transfer, at)
    })
}

/// The connector that the log says was made, else the one that alone writes such a field.
fn connector(reader: &LogReader, fields: &str) -> KvConnector {
    let named = |part: &str| {
        let made = reader.log.choices.iter().filter(|choice| choice.of == ChoiceOf::KvConnector);
        made.map(|choice| choice.value.to_ascii_lowercase()).any(|name| name.contains(part))
    };
    match (named("nixl"), named("mooncake")) {
        (true, false) => KvConnector::Nixl,
        (false, true) => KvConnector::Mooncake,
        _ if fields.contains("post time") => KvConnector::Nixl,
        _ if fields.contains("Num failed recvs") => KvConnector::Mooncake,
        _ => KvConnector::Unknown,
    }
}
