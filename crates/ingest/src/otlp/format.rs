//! OpenTelemetry's traces as formats.

use super::{is_otlp_json, is_otlp_protobuf, read_otlp_json, read_otlp_protobuf};
use crate::{
    Error,
    frame::{Action, Artefact, Confidence, Format, Group, Intake, Reading},
    join::Beside,
};
use firstcheck_model::trace_span::TraceSpan;
use memchr::memmem::find;

pub(crate) static JSON: Format = Format {
    id: "otlp-json",
    group: Group::Spans,
    name: "OpenTelemetry spans (JSON)",
    versions: "OTLP 1; a document, or one a line",
    takes: "spans with their attributes, joined to requests by the trace id; prompts and answers are left out",
    recognise: |head| Confidence::certain_if(is_otlp_json(head.start())),
    action: Action::Read(json),
};

pub(crate) static PROTOBUF: Format = Format {
    id: "otlp-protobuf",
    group: Group::Spans,
    name: "OpenTelemetry spans (protobuf)",
    versions: "OTLP 1; one export request",
    takes: "as of JSON",
    recognise: |head| {
        if head.whole() {
            return Confidence::certain_if(is_otlp_protobuf(head.bytes()));
        }
        let says = |text: &str| find(head.start(), text.as_bytes()).is_some();
        (head.bytes().first() == Some(&0x0a) && (says("telemetry.sdk") || says("service.name")))
            .then_some(Confidence::Likely)
    },
    action: Action::Read(protobuf),
};

fn json(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let path = artefact.path().to_owned();
    let mut spans = Vec::new();
    let mut begun: Option<Vec<u8>> = None;
    while let Some(line) = artefact.next_line(intake) {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        match read_otlp_json(&path, Some(line.number), line.bytes) {
            Ok(more) => spans.extend(more),
            // A document over several lines: its first line is no document.
            Err(_) if spans.is_empty() && line.ended => {
                begun = Some(line.bytes.to_vec());
                break;
            }
            Err(error) => {
                intake.unread(error.line(), error.reason());
            }
        }
    }
    if let Some(mut document) = begun {
        document.push(b'\n');
        document.extend(artefact.all(intake.limits())?);
        spans = read_otlp_json(&path, None, &document)?;
    }
    Ok(give(spans, intake))
}

fn protobuf(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let path = artefact.path().to_owned();
    let bytes = artefact.all(intake.limits())?;
    Ok(give(read_otlp_protobuf(&path, &bytes)?, intake))
}

fn give(spans: Vec<TraceSpan>, intake: &mut Intake) -> Reading {
    let replicas = spans.iter().filter_map(|span| span.service.clone()).collect();
    let reading = Reading { rows: spans.len() as u64, unit: "spans", replicas, ..Reading::default() };
    intake.give(Beside::Spans(spans));
    reading
}
