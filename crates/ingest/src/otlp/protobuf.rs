//! OTLP as protobuf, as an exporter posts it: one `ExportTraceServiceRequest`.
//!
//! Field numbers are those of `opentelemetry/proto/trace/v1/trace.proto`; fields that nothing here needs are left out,
//! and prost passes over them.

use super::{holds_text, instance};
use crate::{
    error::Error,
    fingerprint::{REDACTED, is_secret},
};
use firstcheck_model::trace_span::{AttributeValue, Attributes, TraceSpan};
use prost::Message;
use std::path::Path;

const FORMAT: &str = "OTLP traces as protobuf";

/// Whether bytes are one message of traces: it decodes as a whole, and holds a span with identifiers of the right size.
/// Protobuf has no mark of its own, so the whole message is needed.
pub fn is_otlp_protobuf(whole: &[u8]) -> bool {
    whole.first() == Some(&0x0a)
        && Request::decode(whole).is_ok_and(|request| {
            let mut spans = request.resource_spans.iter().flat_map(|one| &one.scope_spans).flat_map(|one| &one.spans);
            spans.next().is_some_and(|span| span.trace_id.len() == 16 && span.span_id.len() == 8)
        })
}

/// Reads one message. `path` names it in errors.
///
/// # Errors
/// Bytes that are no such message.
pub fn read_otlp_protobuf(path: &Path, bytes: &[u8]) -> Result<Vec<TraceSpan>, Error> {
    let request = Request::decode(bytes).map_err(|error| Error::malformed(path, None, FORMAT, error.to_string()))?;
    let mut spans = Vec::new();
    for resource in request.resource_spans {
        let about = attributes(resource.resource.map_or_else(Vec::new, |resource| resource.attributes));
        let (service, instance) = (about.text("service.name").map(str::to_owned), instance(&about));
        for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            // A field that is missing is 0 in protobuf.
            let time = |nanoseconds: u64, what: &str| {
                i64::try_from(nanoseconds)
                    .ok()
                    .filter(|nanoseconds| *nanoseconds > 0)
                    .ok_or_else(|| Error::malformed(path, None, FORMAT, format!("span `{}` has no {what}", span.name)))
            };
            let (start_unix_ns, end_unix_ns) =
                (time(span.start_time_unix_nano, "start")?, time(span.end_time_unix_nano, "end")?);
            spans.push(TraceSpan {
                trace_id: hexadecimal(&span.trace_id),
                span_id: hexadecimal(&span.span_id),
                parent_id: Some(hexadecimal(&span.parent_span_id)).filter(|id| !id.is_empty()),
                name: span.name,
                start_unix_ns,
                end_unix_ns,
                service: service.clone(),
                instance: instance.clone(),
                failed: span.status.is_some_and(|status| status.code == 2),
                attributes: attributes(span.attributes),
            });
        }
    }
    Ok(spans)
}

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "Any", tags = "1, 2, 3, 4, 5")]
    value: Option<Any>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Any {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Float(f64),
    #[prost(message, tag = "5")]
    List(List),
}

#[derive(Clone, PartialEq, Message)]
struct List {
    #[prost(message, repeated, tag = "1")]
    values: Vec<AnyValue>,
}

fn attributes(all: Vec<KeyValue>) -> Attributes {
    let kept = all.into_iter().filter(|pair| !holds_text(&pair.key));
    Attributes(
        kept.filter_map(|pair| {
            let value = value(&pair.key, pair.value?.value?);
            Some((pair.key, value))
        })
        .collect(),
    )
}

fn value(name: &str, value: Any) -> AttributeValue {
    match value {
        Any::Text(text) if is_secret(name, &text) => AttributeValue::Text(REDACTED.to_owned()),
        Any::Text(text) => AttributeValue::Text(text),
        Any::Bool(truth) => AttributeValue::Bool(truth),
        Any::Int(number) => AttributeValue::Int(number),
        Any::Float(number) => AttributeValue::Float(number),
        Any::List(list) => {
            let items = list.values.into_iter().filter_map(|item| item.value).map(|item| self::value(name, item));
            let texts = items.map(|item| match item {
                AttributeValue::Text(text) => text,
                AttributeValue::Int(number) => number.to_string(),
                AttributeValue::Float(number) => number.to_string(),
                AttributeValue::Bool(truth) => truth.to_string(),
            });
            AttributeValue::Text(format!("[{}]", texts.collect::<Vec<_>>().join(", ")))
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
