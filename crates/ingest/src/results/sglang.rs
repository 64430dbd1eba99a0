//! SGLang's serving benchmark: one summary a line, appended run by run. With `--output-details` a line lists its requests
//! too, in most versions without their send times.

use super::{
    figures::{Figures, quantile},
    outcome::Outcome,
    rows::{At, Described, summary_only, whole},
    stated::Stated,
};
use crate::{
    Error,
    frame::{Action, Confidence, Format, Group, Head},
};
use firstcheck_model::{
    metric::{Metric, Stat},
    recording::Recording,
    run::{Arrivals, Detail, Reported, RunInfo},
};
use std::path::Path;

const TOOL: &str = "sglang bench_serving";

pub(crate) static FORMAT: Format = Format {
    id: "sglang-bench",
    group: Group::Results,
    name: "sglang benchmark result",
    versions: "SGLang 0.4 to 0.5, Python and Rust client",
    takes: "summaries, one a line; with --output-details each request's fate and lengths, and its times where sends are saved",
    recognise,
    action: Action::Read(|artefact, intake| super::take(artefact, intake, read)),
};

fn recognise(head: &Head<'_>) -> Option<Confidence> {
    Confidence::certain_if(head.object(&["completed", "request_throughput", "mean_e2e_latency_ms"]).is_some())
}

/// Reads all results of a file.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Recording>, Error> {
    let lines = serde_json::Deserializer::from_slice(bytes).into_iter::<Outcome>();
    let read = |(number, line): (u64, Result<Outcome, serde_json::Error>)| {
        let line = line.map_err(|e| Error::json(path, FORMAT.name, &e))?;
        Ok(recording(&line, &At { path, line: Some(number), format: FORMAT.name }))
    };
    (1..).zip(lines).map(read).collect()
}

fn recording(line: &Outcome, at: &At<'_>) -> Recording {
    match line.requests(at) {
        Ok(Some(lists)) => {
            let lists = if is_native(line) { lists.by_token() } else { lists };
            let (detail, figures) = lists.detail(|| figures(line));
            lists.into_recording(info(line, detail, figures), &Stated::of(line))
        }
        Ok(None) => {
            let mut info = info(line, Detail::Summary, figures(line));
            info.warnings.push("saved without --output-details: summaries only, no request of its own".into());
            summary_only(info)
        }
        Err(error) => {
            let mut info = info(line, Detail::Summary, figures(line));
            info.warnings.push(format!("its requests are unread, summaries only: {error}"));
            summary_only(info)
        }
    }
}

fn info(line: &Outcome, detail: Detail, reported: Vec<Reported>) -> RunInfo {
    let rate = line.number("request_rate").filter(|rate| rate.is_finite() && *rate > 0.0);
    let concurrency = line.number("max_concurrency").filter(|c| *c >= 1.0).map(|c| c as u32);
    let arrivals = match (rate, concurrency) {
        (Some(rate), _) => Arrivals::Open { rate, cv: Some(1.0) },
        (None, Some(concurrency)) => Arrivals::Closed { concurrency },
        (None, None) => Arrivals::Unknown,
    };
    let how = match (rate, concurrency) {
        (Some(rate), _) => format!("{rate} requests/s"),
        (None, Some(most)) => format!("{most} at once"),
        (None, None) => "all at once".into(),
    };
    let data = line.text("dataset_name").unwrap_or("unnamed data");
    let mut info = Described {
        tool: TOOL,
        version: None,
        content: line.content(),
        started_unix_ns: None,
        model: line.text("model_id").or_else(|| line.text("model")),
        description: format!("{data}, {how}"),
        arrivals,
        streaming: None,
    }
    .info(detail, reported);
    info.window = whole(line.number("duration"));
    info
}

/// Only SGLang's own protocol says how many tokens a chunk carries: there the client's ITL is of tokens, for the others it is
/// between chunks.
fn is_native(line: &Outcome) -> bool {
    matches!(line.text("backend"), Some("sglang" | "sglang-native"))
}

fn figures(line: &Outcome) -> Vec<Reported> {
    let number = |name: &str| line.number(name);
    let completed = number("completed");
    let n = completed.map(|n| n as u64);
    let mut figures = Figures::default();
    let gap = if is_native(line) { Metric::Itl } else { Metric::EventGap };
    if completed.is_some_and(|n| n > 0.0) {
        for (name, value) in line.scalars.iter().filter_map(|(name, value)| Some((name, value.number()?))) {
            let Some((stat, metric)) = name.strip_suffix("_ms").and_then(|name| name.split_once('_')) else { continue };
            let stat = match stat {
                "mean" => Stat::Mean,
                "std" => Stat::StandardDeviation,
                "max" => Stat::Max,
                other => match quantile(other) {
                    Some(stat) => stat,
                    None => continue,
                },
            };
            let value = Some(value / 1e3);
            match metric {
                "ttft" => figures.add_from_sent(Metric::Ttft, stat, value, n),
                "e2e_latency" => figures.add_from_sent(Metric::E2e, stat, value, n),
                "tpot" => figures.add(Metric::Tpot, stat, value, n),
                "itl" => figures.add(gap, stat, value, None),
                _ => {}
            }
        }
    }
    figures.add(Metric::RequestThroughput, Stat::Total, number("request_throughput"), n);
    figures.add(Metric::InputThroughput, Stat::Total, number("input_throughput"), n);
    figures.add(Metric::OutputThroughput, Stat::Total, number("output_throughput"), n);
    figures.0
}
