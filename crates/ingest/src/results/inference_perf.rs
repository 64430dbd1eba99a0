//! inference-perf's lifecycle summaries, of a whole run or of one stage. Seconds; no single request.

use super::{
    figures::{Figures, quantile},
    rows::{Described, hash, summary_only, whole},
};
use crate::{
    Error,
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Piece, Reading},
    json::lenient,
};
use firstcheck_model::{
    metric::{Metric, Stat},
    recording::Recording,
    run::{Arrivals, Detail, Reported},
};
use serde_json::Value;
use std::path::Path;

const TOOL: &str = "inference-perf";

pub(crate) static FORMAT: Format = Format {
    id: "inference-perf",
    group: Group::Results,
    name: "inference-perf summary",
    versions: "0.1 to 0.4",
    takes: "lifecycle summaries of a run or a stage",
    recognise,
    action: Action::Read(take),
};

fn recognise(head: &Head<'_>) -> Option<Confidence> {
    Confidence::certain_if(head.object(&["load_summary", "successes"]).is_some())
}

fn take(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let bytes = artefact.all(intake.limits())?;
    let bytes = lenient(&bytes);
    let stage = is_stage(&bytes);
    let runs = super::labelled(artefact.path(), read(artefact.path(), &bytes)?);
    let reading = super::reading(&runs);
    for run in runs {
        intake.give(Piece::InferencePerf { run: Box::new(run), stage });
    }
    Ok(reading)
}

/// Whether the summary is that of one stage: only those know the rate they asked for.
fn is_stage(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Value>(bytes)
        .is_ok_and(|summary| summary.pointer("/load_summary/requested_rate").is_some())
}

/// Reads a summary.
fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Recording>, Error> {
    let summary: Value = serde_json::from_slice(bytes).map_err(|e| Error::json(path, FORMAT.name, &e))?;
    let number = |pointer: &str| summary.pointer(pointer).and_then(Value::as_f64);
    let concurrency = number("/load_summary/concurrency").filter(|c| *c >= 1.0).map(|c| c as u32);
    let rate = number("/load_summary/requested_rate").filter(|rate| *rate > 0.0);
    let arrivals = match (concurrency, rate) {
        (Some(concurrency), _) => Arrivals::Closed { concurrency },
        (None, Some(rate)) => Arrivals::Open { rate, cv: None },
        (None, None) => Arrivals::Unknown,
    };
    let offered = number("/load_summary/count").map_or_else(|| "requests".into(), |n| format!("{n} requests"));
    let how = match (concurrency, rate) {
        (Some(streams), _) => format!(", {streams} at once"),
        (None, Some(rate)) => format!(", {rate} requests/s"),
        (None, None) => String::new(),
    };
    let mut info = Described {
        tool: TOOL,
        version: None,
        content: hash([summary.to_string().as_str()]),
        started_unix_ns: None,
        model: None,
        description: format!("{offered}{how}"),
        arrivals,
        streaming: None,
    }
    .info(Detail::Summary, figures(&summary));
    info.window = whole(number("/benchmark_time_seconds"));
    info.warnings.push("the file holds summaries only, no request of its own".into());
    Ok(vec![summary_only(info)])
}

fn figures(summary: &Value) -> Vec<Reported> {
    let number = |pointer: &str| summary.pointer(pointer).and_then(Value::as_f64);
    let mut figures = Figures::default();
    let completed = number("/successes/count");
    let n = completed.map(|n| n as u64);
    figures.add_failed(number("/failures/count"), completed);
    if completed.is_some_and(|n| n > 0.0) {
        let latencies = [
            ("time_to_first_token", Metric::Ttft),
            ("request_latency", Metric::E2e),
            ("time_per_output_token", Metric::Tpot),
            // Between chunks, whatever their tokens.
            ("inter_token_latency", Metric::EventGap),
        ];
        for (name, metric) in latencies {
            let Some(Value::Object(stats)) = summary.pointer(&format!("/successes/latency/{name}")) else { continue };
            for (stat, value) in stats {
                let Some(stat) = stat_of(stat) else { continue };
                let n = n.filter(|_| metric != Metric::EventGap);
                figures.add_from_sent(metric, stat, value.as_f64(), n);
            }
        }
    }
    // With a fixed number of streams the plan is a queue in the client, and the delay against it says nothing.
    let planned = number("/load_summary/requested_rate").is_some() && number("/load_summary/concurrency").is_none();
    let delays = summary.pointer("/load_summary/schedule_delay").filter(|_| planned).and_then(Value::as_object);
    for (stat, value) in delays.into_iter().flatten() {
        let Some(stat) = stat_of(stat) else { continue };
        figures.add(Metric::SendLag, stat, value.as_f64(), number("/load_summary/count").map(|n| n as u64));
    }
    let throughputs = [
        ("requests_per_sec", Metric::RequestThroughput),
        ("input_tokens_per_sec", Metric::InputThroughput),
        ("output_tokens_per_sec", Metric::OutputThroughput),
    ];
    for (name, metric) in throughputs {
        figures.add(metric, Stat::Total, number(&format!("/successes/throughput/{name}")), n);
    }
    figures.0
}

fn stat_of(name: &str) -> Option<Stat> {
    match name {
        "mean" => Some(Stat::Mean),
        "min" => Some(Stat::Min),
        "max" => Some(Stat::Max),
        other => quantile(other),
    }
}
