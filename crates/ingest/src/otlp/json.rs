//! OTLP as JSON: identifiers in hexadecimal, 64-bit numbers as strings.

use super::{holds_text, instance};
use crate::{
    error::Error,
    fingerprint::{REDACTED, is_secret},
};
use firstcheck_model::trace_span::{AttributeValue, Attributes, TraceSpan};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

const FORMAT: &str = "OTLP traces as JSON";

/// Whether bytes begin as traces of OTLP do.
pub fn is_otlp_json(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.trim_start().starts_with('{') && (text.contains("\"resourceSpans\"") || text.contains("\"resource_spans\""))
}

/// Reads a document: a file, or a line of one. `path` and `line` name it in errors.
///
/// # Errors
/// Malformed JSON, or JSON without `resourceSpans`.
pub fn read_otlp_json(path: &Path, line: Option<u64>, bytes: &[u8]) -> Result<Vec<TraceSpan>, Error> {
    let document: Document = serde_json::from_slice(bytes).map_err(|error| {
        let at = line.unwrap_or(error.line() as u64);
        Error::malformed(path, at, FORMAT, error.to_string())
    })?;
    let mut spans = Vec::new();
    for resource in document.resource_spans {
        let about = attributes(resource.resource.attributes);
        let (service, instance) = (about.text("service.name").map(str::to_owned), instance(&about));
        for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            let time = |value: &Value, what: &str| {
                nanoseconds(value)
                    .ok_or_else(|| Error::malformed(path, line, FORMAT, format!("span `{}` has no {what}", span.name)))
            };
            spans.push(TraceSpan {
                trace_id: identifier(&span.trace_id),
                span_id: identifier(&span.span_id),
                parent_id: span.parent_span_id.as_deref().map(identifier).filter(|id| !id.is_empty()),
                start_unix_ns: time(&span.start_time_unix_nano, "start")?,
                end_unix_ns: time(&span.end_time_unix_nano, "end")?,
                service: service.clone(),
                instance: instance.clone(),
                failed: span.status.code == 2 || span.status.code == "STATUS_CODE_ERROR",
                attributes: attributes(span.attributes),
                name: span.name,
            });
        }
    }
    Ok(spans)
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "resourceSpans", alias = "resource_spans")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
struct ResourceSpans {
    #[serde(default)]
    resource: Resource,
    #[serde(rename = "scopeSpans", alias = "scope_spans", alias = "instrumentationLibrarySpans", default)]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize, Default)]
struct Resource {
    #[serde(default)]
    attributes: Vec<KeyValue>,
}

#[derive(Deserialize)]
struct ScopeSpans {
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    #[serde(rename = "traceId", alias = "trace_id")]
    trace_id: String,
    #[serde(rename = "spanId", alias = "span_id")]
    span_id: String,
    #[serde(rename = "parentSpanId", alias = "parent_span_id", default)]
    parent_span_id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(rename = "startTimeUnixNano", alias = "start_time_unix_nano")]
    start_time_unix_nano: Value,
    #[serde(rename = "endTimeUnixNano", alias = "end_time_unix_nano")]
    end_time_unix_nano: Value,
    #[serde(default)]
    attributes: Vec<KeyValue>,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Default)]
struct Status {
    #[serde(default)]
    code: Value,
}

#[derive(Deserialize)]
struct KeyValue {
    key: String,
    #[serde(default)]
    value: Value,
}

/// Hexadecimal digits in lower case. Programs that turn protobuf into JSON by its general rule write base64 instead.
fn identifier(text: &str) -> String {
    let hexadecimal = matches!(text.len(), 16 | 32) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hexadecimal {
        return text.to_ascii_lowercase();
    }
    base64(text).map_or_else(|| text.to_owned(), |bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The 8 or 16 bytes of an identifier in base64.
fn base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0u32);
    for byte in text.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    matches!(bytes.len(), 8 | 16).then_some(bytes)
}

fn nanoseconds(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_i64(),
        _ => None,
    }
}

fn attributes(all: Vec<KeyValue>) -> Attributes {
    let kept = all.into_iter().filter(|pair| !holds_text(&pair.key));
    Attributes(kept.filter_map(|pair| Some((pair.key.clone(), value(&pair.key, &pair.value)?))).collect())
}

fn value(name: &str, value: &Value) -> Option<AttributeValue> {
    let (kind, inner) = value.as_object()?.iter().next()?;
    Some(match (kind.as_str(), inner) {
        ("stringValue" | "string_value", Value::String(text)) if is_secret(name, text) => {
            AttributeValue::Text(REDACTED.to_owned())
        }
        ("stringValue" | "string_value", Value::String(text)) => AttributeValue::Text(text.clone()),
        ("boolValue" | "bool_value", Value::Bool(truth)) => AttributeValue::Bool(*truth),
        ("intValue" | "int_value", Value::String(text)) => AttributeValue::Int(text.parse().ok()?),
        ("intValue" | "int_value", Value::Number(number)) => AttributeValue::Int(number.as_i64()?),
        ("doubleValue" | "double_value", Value::Number(number)) => AttributeValue::Float(number.as_f64()?),
        (_, other) => AttributeValue::Text(other.to_string()),
    })
}
