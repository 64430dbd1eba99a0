//! SGLang's serving benchmark: one summary a line, appended run by run. It knows no single request.

use super::{
    figures::{Figures, quantile},
    rows::{Described, hash, summary_only, whole},
};
use crate::{
    Error,
    frame::{Action, Confidence, Format, Group, Head},
    json::Scalar,
};
use firstcheck_model::{
    metric::{Metric, Stat},
    recording::Recording,
    run::{Arrivals, Detail, Reported},
};
use std::{collections::BTreeMap, path::Path};

const TOOL: &str = "sglang bench_serving";

pub(crate) static FORMAT: Format = Format {
    id: "sglang-bench",
    group: Group::Results,
    name: "sglang benchmark result",
    versions: "SGLang 0.4 to 0.5, Python and Rust client",
    takes: "summaries, one a line",
    recognise,
    action: Action::Read(|artefact, intake| super::take(artefact, intake, read)),
};

fn recognise(head: &Head<'_>) -> Option<Confidence> {
    Confidence::certain_if(head.object(&["completed", "request_throughput", "mean_e2e_latency_ms"]).is_some())
}

type Line = BTreeMap<String, Scalar>;

/// Reads all results of a file.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Recording>, Error> {
    let lines = serde_json::Deserializer::from_slice(bytes).into_iter::<Line>();
    lines.map(|line| line.map(|l| recording(&l)).map_err(|e| Error::json(path, FORMAT.name, &e))).collect()
}

fn recording(line: &Line) -> Recording {
    let number = |name: &str| line.get(name).and_then(Scalar::number);
    let text = |name: &str| line.get(name).and_then(Scalar::text);
    let rate = number("request_rate").filter(|rate| rate.is_finite() && *rate > 0.0);
    let concurrency = number("max_concurrency").filter(|c| *c >= 1.0).map(|c| c as u32);
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
    let data = text("dataset_name").unwrap_or("unnamed data");
    let fields: Vec<String> = line.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    let mut info = Described {
        tool: TOOL,
        version: None,
        content: hash(fields.iter().map(String::as_str)),
        started_unix_ns: None,
        model: text("model_id").or_else(|| text("model")),
        description: format!("{data}, {how}"),
        arrivals,
        streaming: None,
    }
    .info(Detail::Summary, figures(line));
    info.window = whole(number("duration"));
    info.warnings.push("the file holds summaries only, no request of its own".into());
    summary_only(info)
}

fn figures(line: &Line) -> Vec<Reported> {
    let number = |name: &str| line.get(name).and_then(Scalar::number);
    let completed = number("completed");
    let n = completed.map(|n| n as u64);
    let mut figures = Figures::default();
    // Only SGLang's own protocol says how many tokens a chunk carries; for the others the client's ITL is between chunks.
    let native = matches!(line.get("backend").and_then(Scalar::text), Some("sglang" | "sglang-native"));
    let gap = if native { Metric::Itl } else { Metric::EventGap };
    if completed.is_some_and(|n| n > 0.0) {
        for (name, value) in line.iter().filter_map(|(name, value)| Some((name, value.number()?))) {
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
