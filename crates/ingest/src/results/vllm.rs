//! `vllm bench serve`, Python and Rust client: one flat object, a list of them, or several in a row
//! (`--append-result`).
//!
//! With `--save-detailed` each request has its start, its first token and every gap. The plan is not in the file, so
//! `intended` is unknown. Requests carry no flag of success: one with an error text, or without a single output token,
//! has failed, and the file's own count of completed requests is held against that.
//!
//! **Trace identity.** The file names neither seed nor data set. `trace_hash` is `lengths:` and a hash of what the offer
//! left in the file: rate, burstiness, concurrency and the prompt lengths in order. Different hashes mean different
//! traces. Equal ones mean that nothing recorded differs; that two runs replay one trace is decided together with their
//! start offsets (of two runs of one seed half agree within some milliseconds, a late client shifts others).

use super::{
    failure,
    figures::{Figures, quantile},
    rows::{At, Described, hash, summary_only, whole},
};
use crate::{
    Error,
    frame::{Action, Confidence, Format, Group, Head},
    json::Scalar,
};
use firstcheck_model::{
    event::Event,
    metric::{Metric, Stat},
    moment::{Moment, Window},
    recording::Recording,
    request::{Fate, Request, Requests},
    run::{Arrivals, Detail, Reported, RunInfo},
};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::{collections::BTreeMap, fmt, path::Path};

const TOOL: &str = "vllm bench serve";

pub(crate) static FORMAT: Format = Format {
    id: "vllm-bench",
    group: Group::Results,
    name: "vllm bench result",
    versions: "vLLM 0.6 to 0.33, Python and Rust client",
    takes: "with --save-detailed every request and gap, else summaries",
    recognise,
    action: Action::Read(|artefact, intake| super::take(artefact, intake, read)),
};

fn recognise(head: &Head<'_>) -> Option<Confidence> {
    head.object(&["num_prompts", "completed", "request_throughput"])?;
    match head.object(&["mean_e2e_latency_ms"]) {
        Some(_) => None,
        // SGLang's own key may follow.
        None if !head.whole() => Some(Confidence::Likely),
        None => Some(Confidence::Certain),
    }
}

/// One result object: its scalars by name, and the lists of a detailed one.
#[derive(Debug, Default)]
struct Outcome {
    scalars: BTreeMap<String, Scalar>,
    input_lens: Option<Vec<f64>>,
    output_lens: Option<Vec<f64>>,
    ttfts: Option<Vec<f64>>,
    itls: Option<Vec<Vec<f64>>>,
    latencies: Option<Vec<f64>>,
    start_times: Option<Vec<f64>>,
    errors: Option<Vec<Option<String>>>,
}

impl Outcome {
    fn number(&self, name: &str) -> Option<f64> {
        self.scalars.get(name)?.number()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.scalars.get(name)?.text()
    }

    /// What makes it this result and no other.
    fn content(&self) -> u64 {
        let scalars: Vec<String> = self.scalars.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        let starts = format!("{:?}", self.start_times);
        let firsts = format!("{:?}", self.ttfts);
        hash(scalars.iter().map(String::as_str).chain([starts.as_str(), firsts.as_str()]))
    }
}

/// One object, or a list of them.
enum Entry {
    One(Box<Outcome>),
    Several(Vec<Outcome>),
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Entry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a result object or a list of them")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                read_object(map).map(|result| Entry::One(Box::new(result)))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Entry, A::Error> {
                let mut all = Vec::new();
                while let Some(result) = seq.next_element::<Outcome>()? {
                    all.push(result);
                }
                Ok(Entry::Several(all))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Outcome;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a result object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Outcome, A::Error> {
                read_object(map)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

fn read_object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Outcome, A::Error> {
    let mut result = Outcome::default();
    while let Some(key) = map.next_key::<String>()? {
        match key.as_str() {
            "input_lens" => result.input_lens = map.next_value()?,
            "output_lens" => result.output_lens = map.next_value()?,
            "ttfts" => result.ttfts = map.next_value()?,
            "itls" => result.itls = map.next_value()?,
            "latencies" => result.latencies = map.next_value()?,
            "start_times" => result.start_times = map.next_value()?,
            "errors" => result.errors = map.next_value()?,
            "generated_texts" => drop(map.next_value::<IgnoredAny>()?),
            _ => drop(result.scalars.insert(key, map.next_value()?)),
        }
    }
    Ok(result)
}

/// Reads all results of a file.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Recording>, Error> {
    let format = FORMAT.name;
    let mut recordings = Vec::new();
    for entry in serde_json::Deserializer::from_slice(bytes).into_iter::<Entry>() {
        let results = match entry.map_err(|e| Error::json(path, format, &e))? {
            Entry::One(result) => vec![*result],
            Entry::Several(results) => results,
        };
        for result in results {
            recordings.push(recording(&result, &At { path, line: None, format })?);
        }
    }
    Ok(recordings)
}

fn recording(result: &Outcome, at: &At<'_>) -> Result<Recording, Error> {
    let (Some(inputs), Some(outputs), Some(ttfts), Some(itls)) =
        (&result.input_lens, &result.output_lens, &result.ttfts, &result.itls)
    else {
        let mut info = info(result, Detail::Summary, summary(result));
        info.window = whole(result.number("duration"));
        info.warnings.push("saved without --save-detailed: summaries only, no request of its own".into());
        return Ok(summary_only(info));
    };
    let Some(starts) = result.start_times.as_ref().filter(|starts| !starts.is_empty() || inputs.is_empty()) else {
        let mut info = info(result, Detail::Summary, summary(result));
        info.window = whole(result.number("duration"));
        info.warnings.push(
            "the file has no start_times, so its requests cannot be placed in time: summaries only (newer versions \
             of the client save them)"
                .into(),
        );
        return Ok(summary_only(info));
    };
    let lists = [
        ("output_lens", outputs.len()),
        ("ttfts", ttfts.len()),
        ("itls", itls.len()),
        ("start_times", starts.len()),
        ("latencies", result.latencies.as_ref().map_or(inputs.len(), Vec::len)),
        ("errors", result.errors.as_ref().map_or(inputs.len(), Vec::len)),
    ];
    if let Some((name, len)) = lists.into_iter().find(|(_, len)| *len != inputs.len()) {
        return Err(at.error(format!("{name} has {len} entries, input_lens {}", inputs.len())));
    }
    let first = starts.iter().copied().fold(f64::INFINITY, f64::min);
    let mut events = Vec::new();
    let mut requests = Vec::with_capacity(inputs.len());
    for (row, start) in starts.iter().enumerate() {
        let sent = Moment::at(at.nanoseconds("start_times", row, start - first)?);
        requests.push(request(result, at, row, sent, &mut events)?);
    }
    let mut info = info(result, Detail::Events, Vec::new());
    info.window = window(result, &requests);
    info.workload.streaming = streamed(itls, &requests);
    info.workload.trace_hash = Some(format!("lengths:{:016x}", lengths_hash(result, inputs)));
    let completed = requests.iter().filter(|r| r.fate == Fate::Completed).count();
    if let Some(said) = result.number("completed").filter(|said| *said != completed as f64) {
        info.warnings.push(format!(
            "the file counts {said} completed requests, its rows show {completed} (by their errors and output tokens)"
        ));
    }
    if info.window.is_none() && result.scalars.contains_key("duration") {
        info.warnings.push("the file's duration is no duration: rates are over the requests' own period".into());
    }
    if whole(result.number("duration")).zip(info.window).is_some_and(|(stated, window)| stated.end < window.end) {
        info.warnings.push("the file contradicts itself: its duration ends before its last request was sent".into());
    }
    let apart = requests.iter().filter(|r| r.fate == Fate::Completed && ends_elsewhere(r)).count();
    if apart > 0 {
        info.warnings.push(format!("the file contradicts itself: latencies and itls of {apart} requests end apart"));
    }
    Ok(Recording { info, requests: Requests(requests), events, signals: Vec::new(), spans: Vec::new() })
}

fn request(result: &Outcome, at: &At<'_>, row: usize, sent: Moment, events: &mut Vec<Event>) -> Result<Request, Error> {
    let list = |values: &Option<Vec<f64>>| values.as_ref().and_then(|values| values.get(row).copied()).unwrap_or(0.0);
    let mut request = Request { sent, ..Request::offered(Moment::NEVER) };
    request.prompt_tokens = Some(at.tokens("input_lens", row, list(&result.input_lens))?);
    let output = at.tokens("output_lens", row, list(&result.output_lens))?;
    let ttft = list(&result.ttfts);
    let gaps = result.itls.as_ref().and_then(|itls| itls.get(row)).map_or(&[][..], Vec::as_slice);
    let mut last = None;
    // A request that never saw a token has 0 here.
    if ttft != 0.0 {
        request.first_token = sent.plus_ns(at.nanoseconds("ttfts", row, ttft)?);
        let seconds = at.events(row, ttft, gaps, events)?;
        request.last_token = sent.plus_ns(at.nanoseconds("the last token", row, seconds)?);
        last = Some(seconds);
    }
    // Likewise 0 without an end.
    let latency = Some(list(&result.latencies)).filter(|latency| *latency != 0.0).or(last);
    if let Some(latency) = latency {
        request.done = sent.plus_ns(at.nanoseconds("latencies", row, latency)?);
    }
    let error = result.errors.as_ref().and_then(|errors| errors.get(row)).and_then(Option::as_deref).unwrap_or("");
    if !error.is_empty() {
        request.fate = failure::fate(error);
        request.error = Some(failure::message(error));
    } else if output == 0 {
        request.fate = Fate::Failed;
        request.error = Some("no output token".into());
    } else {
        request.fate = Fate::Completed;
        request.output_tokens = Some(output);
    }
    Ok(request)
}

/// Whether answers were streamed; `None` where no answer tells. That none arrived says nothing of how they were asked for.
fn streamed(itls: &[Vec<f64>], requests: &[Request]) -> Option<bool> {
    if itls.iter().any(|gaps| !gaps.is_empty()) {
        return Some(true);
    }
    requests.iter().any(|r| r.output_tokens.is_some_and(|tokens| tokens > 1)).then_some(false)
}

/// Whether a streamed answer took longer, or shorter, than its gaps add up to. The Rust client's two sums differ by less.
fn ends_elsewhere(request: &Request) -> bool {
    const ALLOWED_NS: u64 = 10_000_000;
    request.done.ns_since(request.last_token).is_some_and(|apart| apart.unsigned_abs() > ALLOWED_NS)
}

/// The client's own period, from the first send to the end of the last answer; it lies a little before the first send.
fn window(result: &Outcome, requests: &[Request]) -> Option<Window> {
    let whole = whole(result.number("duration"))?;
    let last_sent = requests.iter().filter_map(|r| r.sent.get()).max().unwrap_or(0);
    Some(Window { end: whole.end.max(Moment::at(last_sent.saturating_add(1))), ..whole })
}

fn lengths_hash(result: &Outcome, inputs: &[f64]) -> u64 {
    let offer = ["request_rate", "burstiness", "max_concurrency"].map(|name| format!("{:?}", result.number(name)));
    let lengths: Vec<String> = inputs.iter().map(f64::to_string).collect();
    hash(offer.iter().chain(&lengths).map(String::as_str))
}

fn info(result: &Outcome, detail: Detail, reported: Vec<Reported>) -> RunInfo {
    let rate = result.number("request_rate").filter(|rate| rate.is_finite() && *rate > 0.0);
    let burstiness = result.number("burstiness").filter(|b| b.is_finite() && *b > 0.0);
    let concurrency = result.number("max_concurrency").filter(|c| *c >= 1.0).map(|c| c as u32);
    let arrivals = match (rate, concurrency) {
        // Gaps are gamma with shape `burstiness`, whose coefficient of variation is 1/√shape.
        (Some(rate), _) => Arrivals::Open { rate, cv: burstiness.map(|shape| 1.0 / shape.sqrt()) },
        (None, Some(concurrency)) => Arrivals::Closed { concurrency },
        (None, None) => Arrivals::Unknown,
    };
    let offered = result.number("num_prompts").map_or_else(|| "requests".into(), |n| format!("{n} requests"));
    let how = match (rate, concurrency) {
        (Some(rate), None) => format!("{rate} requests/s"),
        (Some(rate), Some(most)) => format!("{rate} requests/s, at most {most} at once"),
        (None, Some(most)) => format!("{most} at once"),
        (None, None) => "all at once".into(),
    };
    let shape = rate.and(burstiness).map_or_else(String::new, |b| format!(", burstiness {b}"));
    let content = result.content();
    Described {
        tool: TOOL,
        version: None,
        content,
        // `date` is the local time of an unknown zone.
        started_unix_ns: None,
        model: result.text("model_id"),
        description: format!("{offered}, {how}{shape}"),
        arrivals,
        streaming: None,
    }
    .info(detail, reported)
}

/// Figures of a result without rows.
fn summary(result: &Outcome) -> Vec<Reported> {
    let mut figures = Figures::default();
    let completed = result.number("completed");
    let failed = result.number("failed").or_else(|| Some(result.number("num_prompts")? - completed?));
    figures.add_failed(failed, completed);
    let n = completed.map(|n| n as u64);
    // Without a completed request the client writes zeros: they are no measurements.
    if completed.is_some_and(|n| n > 0.0) {
        for (name, value) in result.scalars.iter().filter_map(|(name, value)| Some((name, value.number()?))) {
            let Some((stat, metric)) = name.strip_suffix("_ms").and_then(|name| name.split_once('_')) else { continue };
            let stat = match stat {
                "mean" => Stat::Mean,
                "std" => Stat::StandardDeviation,
                // Also given as p50, where that was asked for.
                "median" if result.scalars.contains_key(&format!("p50_{metric}_ms")) => continue,
                other => match quantile(other) {
                    Some(stat) => stat,
                    None => continue,
                },
            };
            let value = Some(value / 1e3);
            match metric {
                "ttft" => figures.add_from_sent(Metric::Ttft, stat, value, n),
                "e2el" => figures.add_from_sent(Metric::E2e, stat, value, n),
                "tpot" => figures.add(Metric::Tpot, stat, value, n),
                // Between chunks, whatever their tokens; how many there were the file does not say.
                "itl" => figures.add(Metric::EventGap, stat, value, None),
                _ => {}
            }
        }
    }
    figures.add(Metric::RequestThroughput, Stat::Total, result.number("request_throughput"), n);
    figures.add(Metric::OutputThroughput, Stat::Total, result.number("output_throughput"), n);
    figures.add(Metric::Goodput, Stat::Total, result.number("request_goodput"), n);
    figures.0
}
