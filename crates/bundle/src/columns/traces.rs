//! Spans of distributed traces as columns, as they were exported: identifiers in hexadecimal, times of their own host.

use super::{Columns, batch_of, schema_of, text_cell};
use crate::error::{Error, Result};
use arrow_array::{BooleanArray, Int64Array, RecordBatch, StringArray, types::Int64Type};
use arrow_schema::{DataType, SchemaRef};
use firstcheck_model::trace_span::{AttributeValue, Attributes, TraceSpan};
use serde_json::{Map, Value};
use std::{path::Path, sync::Arc};

pub(crate) fn schema() -> SchemaRef {
    schema_of(&[
        ("trace_id", DataType::Utf8, false),
        ("span_id", DataType::Utf8, false),
        ("parent_id", DataType::Utf8, true),
        ("name", DataType::Utf8, false),
        ("start_unix_ns", DataType::Int64, false),
        ("end_unix_ns", DataType::Int64, false),
        ("service", DataType::Utf8, true),
        ("instance", DataType::Utf8, true),
        ("failed", DataType::Boolean, false),
        ("attributes", DataType::Utf8, false),
    ])
}

pub(crate) fn encode(spans: &[TraceSpan]) -> Result<RecordBatch> {
    let texts = |get: fn(&TraceSpan) -> &str| Arc::new(StringArray::from_iter_values(spans.iter().map(get))) as _;
    let maybe = |get: fn(&TraceSpan) -> Option<&str>| Arc::new(spans.iter().map(get).collect::<StringArray>()) as _;
    let times = |get: fn(&TraceSpan) -> i64| Arc::new(Int64Array::from_iter_values(spans.iter().map(get))) as _;
    let columns = vec![
        texts(|s| &s.trace_id),
        texts(|s| &s.span_id),
        maybe(|s| s.parent_id.as_deref()),
        texts(|s| &s.name),
        times(|s| s.start_unix_ns),
        times(|s| s.end_unix_ns),
        maybe(|s| s.service.as_deref()),
        maybe(|s| s.instance.as_deref()),
        Arc::new(spans.iter().map(|s| Some(s.failed)).collect::<BooleanArray>()) as _,
        Arc::new(StringArray::from_iter_values(spans.iter().map(|s| json(&s.attributes)))) as _,
    ];
    batch_of("traces", schema(), columns)
}

/// Attributes as a JSON object. A number that JSON cannot hold is a text.
fn json(attributes: &Attributes) -> String {
    let value = |value: &AttributeValue| match value {
        AttributeValue::Bool(truth) => Value::from(*truth),
        AttributeValue::Int(number) => Value::from(*number),
        AttributeValue::Float(number) if number.is_finite() => Value::from(*number),
        AttributeValue::Float(number) => Value::from(number.to_string()),
        AttributeValue::Text(text) => Value::from(text.as_str()),
    };
    let fields: Map<String, Value> = attributes.0.iter().map(|(name, held)| (name.clone(), value(held))).collect();
    Value::Object(fields).to_string()
}

/// Appends the rows of `batch` to `spans`.
pub(crate) fn decode(batch: &RecordBatch, path: &Path, spans: &mut Vec<TraceSpan>) -> Result<()> {
    let columns = Columns { batch, path };
    let (trace, span, name) = (columns.texts("trace_id")?, columns.texts("span_id")?, columns.texts("name")?);
    let parent = columns.optional_texts("parent_id")?;
    let (start, end) = (columns.numbers::<Int64Type>("start_unix_ns")?, columns.numbers::<Int64Type>("end_unix_ns")?);
    let (service, instance) = (columns.optional_texts("service")?, columns.optional_texts("instance")?);
    let failed = columns.array::<BooleanArray>("failed", false)?;
    let attributes = columns.texts("attributes")?;
    for (at, (&start_unix_ns, &end_unix_ns)) in start.iter().zip(end).enumerate() {
        spans.push(TraceSpan {
            trace_id: trace.value(at).to_owned(),
            span_id: span.value(at).to_owned(),
            parent_id: text_cell(parent, at),
            name: name.value(at).to_owned(),
            start_unix_ns,
            end_unix_ns,
            service: text_cell(service, at),
            instance: text_cell(instance, at),
            failed: failed.value(at),
            attributes: parsed(attributes.value(at), path)?,
        });
    }
    Ok(())
}

fn parsed(text: &str, path: &Path) -> Result<Attributes> {
    let failed = |error: serde_json::Error| Error::malformed(path, format!("column `attributes`: {error}"));
    let fields: Map<String, Value> = serde_json::from_str(text).map_err(failed)?;
    let typed = fields.into_iter().map(|(name, value)| Ok((name, serde_json::from_value(value).map_err(failed)?)));
    Ok(Attributes(typed.collect::<Result<_>>()?))
}
