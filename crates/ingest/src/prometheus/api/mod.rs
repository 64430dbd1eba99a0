//! Answers of the Prometheus HTTP API, saved or fetched: Prometheus, Thanos, Mimir and VictoriaMetrics write one form.
//!
//! An answer goes series by series, where a page goes moment by moment. Several answers may follow each other in one
//! stream: they are one history, whatever their order, and a sample that stands in two of them counts once.

mod answer;
mod element;
mod gathered;
mod scrapes;

use crate::{
    Error,
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Piece, Reading},
    json::Outline,
};
use answer::{Answer, Told};
use gathered::Gathered;
use serde::de::DeserializeSeed;
use serde_json::Deserializer;
use std::io::{BufReader, Read};

/// Bytes that the decoder asks for at a time.
const CHUNK: usize = 1 << 16;

pub(crate) static FORMAT: Format = Format {
    id: "prometheus-api",
    group: Group::Metrics,
    name: "answers of the Prometheus API",
    versions: "/api/v1/query and query_range of Prometheus, Thanos, Mimir, VictoriaMetrics; /api/v1/export of the last",
    takes: "all series with their times, native histograms aside; warnings of the server; several answers are joined",
    recognise,
    action: Action::Read(take),
};

fn recognise(head: &Head<'_>) -> Option<Confidence> {
    let first = head.object(&[])?;
    let text = |key: &str, wanted: &str| matches!(first.get(key), Some(Outline::Text(text)) if text == wanted);
    if text("status", "error") && first.has(&["errorType"]) {
        return Some(Confidence::Certain);
    }
    if first.has(&["metric", "values", "timestamps"]) {
        return Some(Confidence::Certain);
    }
    let data = first.get("data").filter(|_| text("status", "success"))?;
    let kind = match data.get("resultType") {
        Some(Outline::Text(kind)) => kind.as_str(),
        _ => "",
    };
    match (kind, data.get("result")) {
        ("matrix" | "vector" | "scalar" | "string", _) | ("", Some(Outline::List(_))) => Some(Confidence::Certain),
        // Logs in the same frame.
        ("streams", _) => None,
        _ => Some(Confidence::Likely),
    }
}

fn take(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let path = artefact.path().to_owned();
    let mut gathered = Gathered::new(*intake.limits());
    let mut told = Told::default();
    let limit = intake.limits().file_bytes;
    let mut bounded = BufReader::with_capacity(CHUNK, artefact.by_ref().take(limit));
    let mut decoder = Deserializer::from_reader(&mut bounded);
    loop {
        if let Err(error) = (Answer { gathered: &mut gathered, told: &mut told }).deserialize(&mut decoder) {
            let error = Error::malformed(&path, error.line() as u64, FORMAT.name, error.to_string());
            if gathered.samples() == 0 {
                return Err(error);
            }
            intake.unread(error.line(), format!("breaks off, what stands before was read: {}", error.reason()));
            break;
        }
        if decoder.end().is_ok() {
            break;
        }
    }
    let full = bounded.get_ref().limit() == 0;
    artefact.hold(1);
    if full && !artefact.head().bytes().is_empty() {
        intake.unread(None, format!("the answers go on beyond the limit of {limit} bytes"));
    }
    for (count, reason) in gathered.refused() {
        intake.unread(None, format!("{count} {reason}"));
    }
    if gathered.samples() == 0 {
        let why = told.failure.unwrap_or_else(|| "the answers list no series with values".into());
        return Err(Error::NoSample { path, why });
    }
    gathered.count_unknown(intake);
    if let Some(failure) = &told.failure {
        intake.unread(None, format!("one of the answers is a failure: {failure}"));
    }
    let (rows, replicas) = (gathered.samples(), gathered.replicas());
    let mut history = gathered.finish();
    history.warnings.splice(0..0, told.notes());
    let reading = history.reading(rows, replicas, intake);
    intake.give(Piece::History(Box::new(history)));
    Ok(reading)
}
