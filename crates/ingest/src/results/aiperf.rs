//! AIPerf: `profile_export.jsonl` has every request with every gap, `profile_export_aiperf.json` the summary and how the
//! load was offered.
//!
//! A request is *intended* when its credit was issued and *sent* when the client started it; AIPerf's own
//! `time_to_first_token` counts from the latter, its `effective_latency` from the former. Lines come in the order of
//! completion and are put back into that of the credits.

use super::{
    failure,
    figures::{Figures, quantile},
    rows::{At, Described, hash, on_clock, summary_only, whole},
};
use crate::{
    Error,
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Piece, Reading},
    join::Labelled,
    json::{Outline, lenient},
};
use firstcheck_model::{
    event::Event,
    metric::{Metric, Stat},
    moment::{Moment, Window},
    recording::Recording,
    request::{Fate, Request, Requests},
    run::{Arrivals, Detail, Reported, RunState},
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

const TOOL: &str = "aiperf";

pub(crate) static RECORDS: Format = Format {
    id: "aiperf-records",
    group: Group::Results,
    name: "aiperf records",
    versions: "0.1 to 0.10",
    takes: "every request and gap; with the summary beside them, how the load was offered",
    recognise: recognise_records,
    action: Action::Read(take_records),
};

pub(crate) static SUMMARY: Format = Format {
    id: "aiperf-summary",
    group: Group::Results,
    name: "aiperf summary",
    versions: "0.1 to 0.10",
    takes: "summaries, and how the load was offered",
    recognise: recognise_summary,
    action: Action::Read(take_summary),
};

fn recognise_records(head: &Head<'_>) -> Option<Confidence> {
    let first = head.object(&["metadata"])?;
    let times = first.get("metadata").is_some_and(|metadata| metadata.get("request_start_ns").is_some());
    // A first record of many gaps goes on beyond the head.
    Confidence::certain_if(times && (first.has(&["metrics"]) || !head.whole()))
}

fn recognise_summary(head: &Head<'_>) -> Option<Confidence> {
    let first = head.object(&["input_config", "request_latency"])?;
    Confidence::certain_if(first.get("request_latency").and_then(|latency: &Outline| latency.get("unit")).is_some())
}

/// The records of a file, before they are put in order.
#[derive(Debug)]
pub(crate) struct Records {
    path: PathBuf,
    records: Vec<Record>,
    lost: u64,
    first_lost: u64,
}

#[derive(Debug, Deserialize)]
struct Record {
    metadata: Metadata,
    #[serde(default)]
    metrics: BTreeMap<String, Figure>,
    #[serde(default)]
    error: Option<Failure>,
}

/// Times are nanoseconds of Unix time.
#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    session_num: Option<u64>,
    #[serde(default)]
    turn_index: Option<u64>,
    #[serde(default)]
    credit_issued_ns: Option<i64>,
    request_start_ns: i64,
    #[serde(default)]
    request_ack_ns: Option<i64>,
    #[serde(default)]
    request_end_ns: Option<i64>,
    #[serde(default)]
    benchmark_phase: Option<String>,
    #[serde(default)]
    was_cancelled: bool,
}

#[derive(Debug, Deserialize)]
struct Figure {
    #[serde(default)]
    value: Value,
    #[serde(default)]
    unit: String,
}

#[derive(Debug, Deserialize)]
struct Failure {
    #[serde(default)]
    code: Option<i64>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

impl Record {
    fn warm_up(&self) -> bool {
        self.metadata.benchmark_phase.as_deref() == Some("warmup")
    }

    fn planned(&self) -> i64 {
        self.metadata.credit_issued_ns.unwrap_or(self.metadata.request_start_ns)
    }

    /// A duration, seconds.
    fn seconds(&self, name: &str) -> Option<f64> {
        let figure = self.metrics.get(name)?;
        Some(figure.value.as_f64()? / a_second(&figure.unit)?)
    }

    /// The gaps between chunks, seconds; none where the request was not streamed, `None` if one of them is no duration.
    fn gaps(&self) -> Option<Vec<f64>> {
        let Some(figure) = self.metrics.get("inter_chunk_latency") else { return Some(Vec::new()) };
        let a_second = a_second(&figure.unit)?;
        figure.value.as_array()?.iter().map(|gap| Some(gap.as_f64()? / a_second)).collect()
    }

    fn tokens(&self, names: [&str; 2]) -> Option<u32> {
        let value = names.into_iter().find_map(|name| self.metrics.get(name)?.value.as_f64())?;
        (value >= 0.0 && value <= f64::from(u32::MAX)).then_some(value as u32)
    }
}

/// How many of a unit of time make a second.
fn a_second(unit: &str) -> Option<f64> {
    match unit {
        "s" | "sec" | "seconds" => Some(1.0),
        "ms" | "milliseconds" => Some(1e3),
        "us" | "µs" | "microseconds" => Some(1e6),
        "ns" | "nanoseconds" => Some(1e9),
        _ => None,
    }
}

/// Reads the records, one a line; one that cannot be read is listed, and the rest stays.
fn take_records(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let mut all = Records { path: artefact.path().into(), records: Vec::new(), lost: 0, first_lost: 0 };
    while let Some(line) = artefact.next_line(intake) {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Record>(&lenient(line.bytes)) {
            Ok(record) => all.records.push(record),
            Err(error) => {
                if all.lost == 0 {
                    all.first_lost = line.number;
                }
                all.lost += 1;
                intake.unread(Some(line.number), error.to_string());
            }
        }
    }
    let reading = Reading { rows: all.records.len() as u64, unit: "requests", ..Reading::default() };
    intake.give(Piece::AiperfRecords(Box::new(all)));
    Ok(reading)
}

fn take_summary(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let bytes = artefact.all(intake.limits())?;
    let about = serde_json::from_slice(&lenient(&bytes)).map_err(|e| Error::json(artefact.path(), SUMMARY.name, &e))?;
    intake.give(Piece::AiperfSummary(Box::new(about)));
    Ok(Reading { rows: 1, unit: "summaries", ..Reading::default() })
}

impl Records {
    /// Their run; `about` is the summary of the same folder, where there is one.
    pub(crate) fn run(self, about: Option<&Value>) -> Result<Labelled, Error> {
        let Self { path, records, lost, first_lost } = self;
        let at = At { path: &path, line: None, format: RECORDS.name };
        let mut recording = recording(records, about.unwrap_or(&Value::Null), &at)?;
        if lost > 0 {
            recording.info.warnings.push(format!("{lost} lines unread, the first is line {first_lost}"));
        }
        Ok(super::one(&path, recording))
    }
}

/// The run of a summary by itself.
pub(crate) fn summary_run(path: &Path, about: &Value) -> Labelled {
    super::one(path, summary(about))
}

fn recording(mut records: Vec<Record>, about: &Value, at: &At<'_>) -> Result<Recording, Error> {
    records.sort_by_key(|r| (!r.warm_up(), r.metadata.session_num, r.metadata.turn_index, r.planned()));
    // Sessions of several turns interleave: the order of the plan is that of the credits.
    if records.iter().any(|r| r.metadata.turn_index.is_some_and(|turn| turn > 0)) {
        records.sort_by_key(|r| (!r.warm_up(), r.planned()));
    }
    let start = records.iter().map(Record::planned).min();
    let mut events = Vec::new();
    let mut requests = Vec::with_capacity(records.len());
    for (row, record) in records.iter().enumerate() {
        requests.push(request(record, start.unwrap_or(0), row, at, &mut events)?);
    }
    let mut info = described(about, start, &content(&records, about)).info(Detail::Events, Vec::new());
    // That no answer arrived says nothing of how they were asked for.
    if !events.is_empty() {
        info.workload.streaming = Some(true);
    } else if requests.iter().any(|r| r.fate == Fate::Completed && r.output_tokens.is_some_and(|n| n > 1)) {
        info.workload.streaming = Some(false);
    }
    if events.is_empty() && !requests.is_empty() {
        info.detail = Detail::Requests;
    }
    info.window = window(&records, &requests);
    mark_interrupted(about, &mut info.state);
    Ok(Recording { info, requests: Requests(requests), events, signals: Vec::new(), spans: Vec::new() })
}

fn content(records: &[Record], about: &Value) -> String {
    let times: Vec<String> = records.iter().map(|r| r.metadata.request_start_ns.to_string()).collect();
    format!("{}{}", times.join(","), about.get("benchmark_id").and_then(Value::as_str).unwrap_or_default())
}

fn request(record: &Record, start: i64, row: usize, at: &At<'_>, events: &mut Vec<Event>) -> Result<Request, Error> {
    let times = &record.metadata;
    let moment = |ns: Option<i64>| ns.map_or(Moment::NEVER, |ns| on_clock(ns, start));
    let mut request = Request::offered(moment(times.credit_issued_ns));
    request.sent = on_clock(times.request_start_ns, start);
    request.first_byte = moment(times.request_ack_ns);
    request.done = moment(times.request_end_ns);
    request.prompt_tokens = record.tokens(["usage_prompt_tokens", "input_sequence_length"]);
    request.output_tokens = record.tokens(["usage_completion_tokens", "output_sequence_length"]);
    request.session = times.session_num.and_then(|n| u32::try_from(n).ok());
    if let Some(ttft) = record.seconds("time_to_first_token") {
        let gaps = record.gaps().ok_or_else(|| at.error(format!("a gap of request {row} is no duration")))?;
        request.first_token = request.sent.plus_ns(at.nanoseconds("time_to_first_token", row, ttft)?);
        let last = if gaps.is_empty() && request.output_tokens != Some(1) {
            record.seconds("request_latency").unwrap_or(ttft)
        } else {
            at.events(row, ttft, &gaps, events)?
        };
        request.last_token = request.sent.plus_ns(at.nanoseconds("the last token", row, last)?);
    }
    request.fate = Fate::Completed;
    if let Some(failure) = &record.error {
        let message = failure.message.as_deref().or(failure.kind.as_deref()).unwrap_or("");
        request.fate = match failure.code {
            Some(code) if code >= 400 && failure::fate_of_status(code) != Fate::Failed => failure::fate_of_status(code),
            _ => failure::fate(&format!("{} {message}", failure.kind.as_deref().unwrap_or(""))),
        };
        let code = failure.code.map_or_else(String::new, |code| format!("http {code}: "));
        request.error = Some(format!("{code}{}", failure::message(message)));
    }
    if record.error.is_none() && record.metrics.is_empty() {
        request.fate = Fate::Failed;
        request.error = Some("neither metrics nor an error".into());
    }
    if times.was_cancelled {
        request.fate = Fate::Cancelled;
        request.error.get_or_insert_with(|| "cancelled by the client".into());
    }
    Ok(request)
}

/// The profiling phase where a warm-up ran before it, from its first credit to its last end.
fn window(records: &[Record], requests: &[Request]) -> Option<Window> {
    let profiling = || records.iter().zip(requests).filter(|(record, _)| !record.warm_up()).map(|(_, request)| request);
    let first = profiling().map(|r| r.sent.min(r.origin())).min()?;
    let last = profiling().map(|r| r.done.max(r.last_token).max(r.sent)).max()?;
    Some(Window { start: first, end: last.plus_ns(1) })
}

fn mark_interrupted(about: &Value, state: &mut RunState) {
    if about.get("was_cancelled").and_then(Value::as_bool) == Some(true) {
        *state = RunState::Interrupted { reason: "aiperf says that it was cancelled".into() };
    }
}

fn summary(about: &Value) -> Recording {
    let mut info = described(about, None, &about.to_string()).info(Detail::Summary, figures(about));
    info.window = whole(about.pointer("/benchmark_duration/avg").and_then(Value::as_f64));
    info.warnings
        .push("the file holds summaries only; profile_export.jsonl of the same folder has every request".into());
    mark_interrupted(about, &mut info.state);
    summary_only(info)
}

fn described<'a>(about: &'a Value, started_unix_ns: Option<i64>, content: &str) -> Described<'a> {
    let text = |pointer: &str| about.pointer(pointer).and_then(Value::as_str);
    let number = |pointer: &str| about.pointer(pointer).and_then(Value::as_f64).filter(|n| *n > 0.0);
    // The last phase is the one that is profiled; before 0.10 there was one `loadgen`.
    let phase = about.pointer("/input_config/phases").and_then(Value::as_array).and_then(|phases| phases.last());
    let phase = phase.or_else(|| about.pointer("/input_config/loadgen")).cloned().unwrap_or_default();
    let of_phase = |names: [&str; 2]| names.into_iter().find_map(|n| phase.get(n)?.as_f64()).filter(|n| *n > 0.0);
    let (rate, concurrency) = (of_phase(["rate", "request_rate"]), of_phase(["concurrency", "concurrency"]));
    let kind = ["type", "request_rate_mode", "arrival_pattern"].into_iter().find_map(|n| phase.get(n)?.as_str());
    let arrivals = match (rate, concurrency) {
        (Some(rate), _) => {
            let cv = match kind {
                Some("constant") => Some(0.0),
                Some("poisson") => Some(1.0),
                _ => None,
            };
            Arrivals::Open { rate, cv }
        }
        (None, Some(concurrency)) => Arrivals::Closed { concurrency: concurrency as u32 },
        (None, None) => Arrivals::Unknown,
    };
    let offered = of_phase(["requests", "request_count"]).or_else(|| number("/request_count/avg"));
    let offered = offered.map_or_else(|| "requests".into(), |n| format!("{n} requests"));
    let how = match (rate, concurrency) {
        (Some(rate), _) => format!(", {rate} requests/s"),
        (None, Some(streams)) => format!(", {streams} at once"),
        (None, None) => String::new(),
    };
    Described {
        tool: TOOL,
        version: text("/aiperf_version"),
        content: hash([content]),
        started_unix_ns,
        model: text("/input_config/models/items/0/name").or_else(|| text("/input_config/endpoint/model_names/0")),
        description: format!("{offered}{how}"),
        arrivals,
        streaming: about.pointer("/input_config/endpoint/streaming").and_then(Value::as_bool),
    }
}

fn figures(about: &Value) -> Vec<Reported> {
    let mut figures = Figures::default();
    let number = |pointer: &str| about.pointer(pointer).and_then(Value::as_f64);
    let completed = number("/completed_request_count/avg").or_else(|| number("/request_count/avg"));
    // The count of errors is left out when there were none; an empty summary of them says the same in words.
    let none = about.get("error_summary").and_then(Value::as_array).is_some_and(Vec::is_empty);
    figures.add_failed(number("/error_request_count/avg").or_else(|| none.then_some(0.0)), completed);
    let latencies = [
        ("time_to_first_token", Metric::Ttft),
        ("request_latency", Metric::E2e),
        // A mean of each request, in spite of its name.
        ("inter_token_latency", Metric::Tpot),
        ("inter_chunk_latency", Metric::EventGap),
        ("credit_to_start_latency", Metric::SendLag),
    ];
    for (name, metric) in latencies {
        let Some(Value::Object(stats)) = about.get(name) else { continue };
        let Some(scale) = stats.get("unit").and_then(Value::as_str).and_then(a_second) else { continue };
        let n = stats.get("count").and_then(Value::as_u64);
        for (stat, value) in stats {
            let stat = match stat.as_str() {
                "avg" => Stat::Mean,
                "std" => Stat::StandardDeviation,
                "min" => Stat::Min,
                "max" => Stat::Max,
                other => match quantile(other) {
                    Some(stat) => stat,
                    None => continue,
                },
            };
            figures.add_from_sent(metric, stat, value.as_f64().map(|value| value / scale), n);
        }
    }
    let n = completed.map(|n| n as u64);
    figures.add(Metric::RequestThroughput, Stat::Total, number("/request_throughput/avg"), n);
    figures.add(Metric::OutputThroughput, Stat::Total, number("/output_token_throughput/avg"), n);
    figures.add(Metric::InputThroughput, Stat::Total, number("/input_token_throughput/avg"), n);
    figures.add(Metric::Goodput, Stat::Total, number("/goodput/avg"), n);
    figures.0
}
