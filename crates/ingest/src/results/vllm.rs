//! `vllm bench serve`, Python and Rust client: one flat object, a list of them, or several in a row
//! (`--append-result`).
//!
//! With `--save-detailed` each request has its start, its first token and every gap. The plan is not in the file, so
//! `intended` is unknown. Requests carry no flag of success: one with an error text, or without a single output token,
//! has failed, and the file's own counts are held against that.
//!
//! **Trace identity.** The file names neither seed nor data set. `trace_hash` is `lengths:` and a hash of what the offer
//! left in the file: rate, burstiness, concurrency and the prompt lengths in order. Different hashes mean different
//! traces. Equal ones mean that nothing recorded differs; that two runs replay one trace is decided together with their
//! start offsets (of two runs of one seed half agree within some milliseconds, a late client shifts others).

use super::{
    figures::{Figures, quantile},
    outcome::{Entry, Outcome},
    rows::{At, Described, hash, summary_only, whole},
    stated::Stated,
};
use crate::{
    Error,
    frame::{Action, Confidence, Format, Group, Head},
};
use firstcheck_model::{
    metric::{Metric, Stat},
    moment::{Moment, Window},
    recording::Recording,
    request::Request,
    run::{Arrivals, Detail, Reported, RunInfo},
};
use std::path::Path;

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
    let Some(rows) = result.requests(at)? else {
        let mut info = info(result, Detail::Summary, summary(result));
        info.window = whole(result.number("duration"));
        info.warnings.push("saved without --save-detailed: summaries only, no request of its own".into());
        return Ok(summary_only(info));
    };
    let (detail, figures) = rows.detail(|| summary(result));
    let mut info = info(result, detail, figures);
    info.window = window(result, &rows.requests);
    info.workload.trace_hash = result.input_lens.as_ref().map(|l| format!("lengths:{:016x}", lengths_hash(result, l)));
    if info.window.is_none() && result.scalars.contains_key("duration") {
        info.warnings.push("the file's duration is no duration: rates are over the requests' own period".into());
    }
    if whole(result.number("duration")).zip(info.window).is_some_and(|(stated, window)| stated.end < window.end) {
        info.contradictions
            .push("the file contradicts itself: its duration ends before its last request was sent".into());
    }
    Ok(rows.into_recording(info, &Stated::of(result)))
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
