//! GuideLLM's report: several benchmarks in a file, each with full summaries and, as a rule, a sample of its requests.
//!
//! Two of its names mislead. `time_per_output_token_ms` is the whole latency over all tokens, first wait included: it is
//! no TPOT and is left out. `inter_token_latency_ms` is a mean of each request, weighted by its tokens: its mean is
//! exactly the mean ITL, but its quantiles are those of TPOT only where all outputs were equally long.

use super::{
    failure,
    figures::{Figures, quantile},
    rows::{At, Described, hash, on_clock, summary_only, whole},
};
use crate::{
    Error,
    frame::{Action, Confidence, Format, Group, Head},
};
use firstcheck_model::{
    metric::{Metric, Stat},
    moment::{Moment, Window},
    recording::Recording,
    request::{Fate, Request, Requests},
    run::{Arrivals, Detail, Reported},
};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

const TOOL: &str = "guidellm";

pub(crate) static FORMAT: Format = Format {
    id: "guidellm",
    group: Group::Results,
    name: "guidellm report",
    versions: "report versions 1 and 2",
    takes: "summaries of each benchmark, and the requests that it keeps",
    recognise,
    action: Action::Read(|artefact, intake| super::take(artefact, intake, read)),
};

fn recognise(head: &Head<'_>) -> Option<Confidence> {
    let first = head.object(&["benchmarks"])?.get("benchmarks")?.first()?;
    Confidence::certain_if(first.has(&["metrics", "requests"]))
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    metadata: Value,
    #[serde(default)]
    config: Value,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(default)]
    config: Value,
    #[serde(default)]
    metrics: Value,
    #[serde(default)]
    requests: ByStatus,
    #[serde(default)]
    warnings: Option<Vec<Value>>,
    #[serde(default)]
    start_time: Option<f64>,
    #[serde(default)]
    duration: Option<f64>,
}

/// Requests by how they ended; each list may be a sample, or missing.
#[derive(Deserialize, Default)]
struct ByStatus {
    #[serde(default)]
    successful: Option<Vec<Row>>,
    #[serde(default)]
    errored: Option<Vec<Row>>,
    #[serde(default)]
    incomplete: Option<Vec<Row>>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    info: RowInfo,
    #[serde(default)]
    prompt_tokens: Option<u32>,
    #[serde(default)]
    cached_tokens: Option<u32>,
    #[serde(default)]
    output_tokens: Option<u32>,
}

#[derive(Deserialize, Default)]
struct RowInfo {
    #[serde(default)]
    timings: Timings,
    #[serde(default)]
    error: Option<String>,
}

/// Unix times, seconds.
#[derive(Deserialize, Default)]
struct Timings {
    #[serde(default)]
    targeted_start: Option<f64>,
    #[serde(default)]
    request_start: Option<f64>,
    #[serde(default)]
    first_request_iteration: Option<f64>,
    #[serde(default)]
    first_token_iteration: Option<f64>,
    #[serde(default)]
    last_token_iteration: Option<f64>,
    #[serde(default)]
    request_end: Option<f64>,
}

/// Reads all benchmarks of a report.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Recording>, Error> {
    let format = FORMAT.name;
    let report: Report = serde_json::from_slice(bytes).map_err(|e| Error::json(path, format, &e))?;
    let at = At { path, line: None, format };
    report.benchmarks.iter().map(|benchmark| recording(&report, benchmark, &at)).collect()
}

fn recording(report: &Report, benchmark: &Benchmark, at: &At<'_>) -> Result<Recording, Error> {
    let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let total = benchmark.metrics.pointer("/request_totals/total").and_then(Value::as_u64);
    let (arrivals, how) = arrivals(&benchmark.config);
    let started = benchmark.start_time.and_then(unix_ns);
    let offered = total.map_or_else(|| "requests".into(), |n| format!("{n} requests"));
    let model = text(&benchmark.config, "/backend/model").or_else(|| text(&report.config, "/spec/backend/model"));
    let version = text(&report.metadata, "/guidellm_version");
    let (figures, mut warnings) = figures(&benchmark.metrics);
    let described = Described {
        tool: TOOL,
        version: version.as_deref(),
        content: hash(
            [benchmark.config.to_string(), benchmark.metrics.to_string(), format!("{started:?}")]
                .iter()
                .map(String::as_str),
        ),
        started_unix_ns: started,
        model: model.as_deref(),
        description: format!("{offered}, {how}"),
        arrivals,
        streaming: benchmark.config.pointer("/backend/stream").and_then(Value::as_bool),
    };
    for warning in benchmark.warnings.iter().flatten() {
        if let Some(message) = text(warning, "/message") {
            warnings.push(format!("guidellm says: {message}"));
        }
    }
    let requests = rows(&benchmark.requests, started, at)?;
    let detail = match total {
        _ if requests.is_empty() => Detail::Summary,
        Some(total) if total == requests.len() as u64 => Detail::Requests,
        of => Detail::Sample { of },
    };
    match detail {
        Detail::Summary => warnings.push("the file holds summaries only, no request of its own".into()),
        Detail::Sample { .. } => warnings.push(format!(
            "the file holds a sample of {} of {offered}: quantiles are those that it reports",
            requests.len()
        )),
        Detail::Requests | Detail::Events => {}
    }
    // Rows that are complete give every figure but the mean ITL themselves, from the intended send.
    let figures = match detail {
        Detail::Requests => figures.into_iter().filter(|figure| figure.metric == Metric::Itl).collect(),
        _ => figures,
    };
    let mut info = described.info(detail, figures);
    // Requests are planned a little before the period that the tool measures begins.
    info.window = whole(benchmark.duration).map(|window| Window {
        start: requests.iter().map(Request::origin).filter(|at| at.reached()).fold(window.start, Moment::min),
        end: requests.iter().map(|r| r.origin().plus_ns(1)).fold(window.end, Moment::max),
    });
    info.seed = report.config.pointer("/spec/seed/value").and_then(Value::as_u64);
    info.warnings = warnings;
    Ok(Recording { requests: Requests(requests), ..summary_only(info) })
}

fn arrivals(config: &Value) -> (Arrivals, String) {
    let strategy = config.get("strategy").cloned().unwrap_or_default();
    let number = |name: &str| strategy.get(name).and_then(Value::as_f64);
    let kind = strategy.get("type_").and_then(Value::as_str).unwrap_or("unknown strategy");
    let streams = number("streams").filter(|n| *n >= 1.0).map(|n| n as u32);
    match (kind, number("rate").filter(|rate| *rate > 0.0), streams) {
        ("constant", Some(rate), _) => (Arrivals::Open { rate, cv: Some(0.0) }, format!("{rate} requests/s, constant")),
        ("poisson", Some(rate), _) => (Arrivals::Open { rate, cv: Some(1.0) }, format!("{rate} requests/s, poisson")),
        ("concurrent", _, Some(concurrency)) => (Arrivals::Closed { concurrency }, format!("{concurrency} at once")),
        ("synchronous", ..) => (Arrivals::Closed { concurrency: 1 }, "one at a time".into()),
        _ => (Arrivals::Unknown, kind.to_owned()),
    }
}

fn rows(requests: &ByStatus, started: Option<i64>, at: &At<'_>) -> Result<Vec<Request>, Error> {
    let by_fate = [
        (&requests.successful, Fate::Completed),
        (&requests.errored, Fate::Failed),
        (&requests.incomplete, Fate::Cancelled),
    ];
    let all: Vec<(&Row, Fate)> =
        by_fate.into_iter().flat_map(|(rows, fate)| rows.iter().flatten().map(move |row| (row, fate))).collect();
    let earliest = all.iter().filter_map(|(row, _)| row.info.timings.targeted_start.and_then(unix_ns)).min();
    let Some(start) = started.or(earliest) else {
        return if all.is_empty() {
            Ok(Vec::new())
        } else {
            Err(at.error("neither the benchmark nor its requests have a time"))
        };
    };
    let mut rows: Vec<Request> = all.into_iter().map(|(row, fate)| request(row, fate, start)).collect();
    rows.sort_by_key(|request| request.origin());
    Ok(rows)
}

fn request(row: &Row, fate: Fate, start: i64) -> Request {
    let moment = |seconds: Option<f64>| seconds.and_then(unix_ns).map_or(Moment::NEVER, |ns| on_clock(ns, start));
    let timings = &row.info.timings;
    let mut request = Request::offered(moment(timings.targeted_start));
    request.sent = moment(timings.request_start);
    request.first_byte = moment(timings.first_request_iteration);
    request.first_token = moment(timings.first_token_iteration);
    request.last_token = moment(timings.last_token_iteration);
    request.done = moment(timings.request_end);
    request.prompt_tokens = row.prompt_tokens;
    request.cached_tokens = row.cached_tokens;
    request.output_tokens = row.output_tokens;
    request.fate = fate;
    if let Some(error) = row.info.error.as_deref().filter(|error| !error.is_empty()) {
        request.error = Some(failure::message(error));
        if fate == Fate::Failed {
            request.fate = failure::fate(error);
        }
    } else if fate != Fate::Completed {
        request.error =
            Some(if fate == Fate::Failed { "no message" } else { "incomplete when the benchmark ended" }.into());
    }
    request
}

/// Nanoseconds of a Unix time in seconds, if it is a time at all.
fn unix_ns(seconds: f64) -> Option<i64> {
    // A double of Unix seconds is good to 0.2 µs.
    (0.0..1e10).contains(&seconds).then(|| (seconds * 1e9).round() as i64)
}

fn figures(metrics: &Value) -> (Vec<Reported>, Vec<String>) {
    let number = |pointer: &str| metrics.pointer(pointer).and_then(Value::as_f64);
    let (mut figures, mut warnings) = (Figures::default(), Vec::new());
    let completed = number("/request_totals/successful");
    let missed = number("/request_totals/errored").zip(number("/request_totals/incomplete")).map(|(e, i)| e + i);
    figures.add_failed(missed, completed);
    if completed.is_some_and(|n| n > 0.0) {
        let mut add = |name: &str, scale: f64, metric: Metric| {
            for (stat, value, n) in stats(metrics.pointer(&format!("/{name}/successful"))) {
                figures.add_from_sent(metric, stat, Some(value / scale), n);
            }
        };
        add("time_to_first_token_ms", 1e3, Metric::Ttft);
        add("request_latency", 1.0, Metric::E2e);
        let mean = number("/inter_token_latency_ms/successful/mean").map(|ms| ms / 1e3);
        let tokens = number("/inter_token_latency_ms/successful/count").map(|n| n as u64);
        figures.add(Metric::Itl, Stat::Mean, mean, tokens);
        if number("/output_token_count/successful/std_dev") == Some(0.0) {
            let n = completed.map(|n| n as u64);
            for (stat, value, _) in stats(metrics.pointer("/inter_token_latency_ms/successful")) {
                figures.add(Metric::Tpot, stat, Some(value / 1e3), n);
            }
        } else if mean.is_some() {
            warnings.push("outputs differ in length, and guidellm weights its ITL by tokens: no TPOT quantiles".into());
        }
    }
    let n = completed.map(|n| n as u64);
    let throughputs = [
        ("requests_per_second", Metric::RequestThroughput),
        ("prompt_tokens_per_second", Metric::InputThroughput),
        ("output_tokens_per_second", Metric::OutputThroughput),
    ];
    for (name, metric) in throughputs {
        figures.add(metric, Stat::Total, number(&format!("/{name}/successful/mean")), n);
    }
    (figures.0, warnings)
}

/// Mean, spread, extremes and quantiles of a summary, each with the samples behind it.
fn stats(summary: Option<&Value>) -> Vec<(Stat, f64, Option<u64>)> {
    let Some(summary) = summary else { return Vec::new() };
    let n = summary.get("count").and_then(Value::as_u64);
    let named = [("mean", Stat::Mean), ("std_dev", Stat::StandardDeviation), ("min", Stat::Min), ("max", Stat::Max)];
    let mut all: Vec<(Stat, f64, Option<u64>)> =
        named.into_iter().filter_map(|(name, stat)| Some((stat, summary.get(name)?.as_f64()?, n))).collect();
    if let Some(Value::Object(percentiles)) = summary.get("percentiles") {
        for (name, value) in percentiles {
            // `p001` and `p999` are tenths of a percent, `p01` is one percent.
            let stat = match name.as_str() {
                "p001" => Some(Stat::Quantile(0.001)),
                "p999" => Some(Stat::Quantile(0.999)),
                other => quantile(other),
            };
            if let (Some(stat), Some(value)) = (stat, value.as_f64()) {
                all.push((stat, value, n));
            }
        }
    }
    all
}
