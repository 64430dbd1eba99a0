//! Requests as columns.

use super::{Columns, batch_of, cell, schema_of, text_cell};
use crate::error::Result;
use arrow_array::{
    ArrayRef, Float32Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
    types::{Float32Type, Int64Type, UInt32Type, UInt64Type},
};
use arrow_schema::{DataType, SchemaRef};
use firstcheck_model::{
    moment::Moment,
    request::{Fate, Finish, Request},
};
use std::{path::Path, sync::Arc};

pub(crate) fn schema() -> SchemaRef {
    schema_of(&[
        ("request", DataType::UInt32, false),
        ("intended_ns", DataType::Int64, true),
        ("sent_ns", DataType::Int64, true),
        ("first_byte_ns", DataType::Int64, true),
        ("first_token_ns", DataType::Int64, true),
        ("last_token_ns", DataType::Int64, true),
        ("done_ns", DataType::Int64, true),
        ("fate", DataType::Utf8, false),
        ("error", DataType::Utf8, true),
        ("finish", DataType::Utf8, true),
        ("prompt_tokens", DataType::UInt32, true),
        ("cached_tokens", DataType::UInt32, true),
        ("output_tokens", DataType::UInt32, true),
        ("requested_tokens", DataType::UInt32, true),
        ("prompt_hash", DataType::UInt64, true),
        ("session", DataType::UInt32, true),
        ("trace_id", DataType::Utf8, true),
        ("schema", DataType::UInt64, true),
        ("blank_share", DataType::Float32, true),
    ])
}

/// Rows with their numbers, in any order.
pub(crate) fn encode<'a>(rows: impl Iterator<Item = (u32, &'a Request)> + Clone) -> Result<RecordBatch> {
    let moments = |of: fn(&Request) -> Moment| -> ArrayRef {
        Arc::new(rows.clone().map(|(_, r)| of(r).get()).collect::<Int64Array>())
    };
    let counts = |of: fn(&Request) -> Option<u32>| -> ArrayRef {
        Arc::new(rows.clone().map(|(_, r)| of(r)).collect::<UInt32Array>())
    };
    let texts = |of: fn(&Request) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.clone().map(|(_, r)| of(r)).collect::<StringArray>())
    };
    let columns = vec![
        Arc::new(UInt32Array::from_iter_values(rows.clone().map(|(row, _)| row))) as _,
        moments(|r| r.intended),
        moments(|r| r.sent),
        moments(|r| r.first_byte),
        moments(|r| r.first_token),
        moments(|r| r.last_token),
        moments(|r| r.done),
        texts(|r| Some(r.fate.name())),
        texts(|r| r.error.as_deref()),
        texts(|r| r.finish.map(Finish::name)),
        counts(|r| r.prompt_tokens),
        counts(|r| r.cached_tokens),
        counts(|r| r.output_tokens),
        counts(|r| r.requested_tokens),
        Arc::new(rows.clone().map(|(_, r)| r.prompt_hash).collect::<UInt64Array>()) as _,
        counts(|r| r.session),
        texts(|r| r.trace_id.as_deref()),
        Arc::new(rows.clone().map(|(_, r)| r.schema).collect::<UInt64Array>()) as _,
        Arc::new(rows.clone().map(|(_, r)| r.blank_share).collect::<Float32Array>()) as _,
    ];
    batch_of("requests", schema(), columns)
}

/// Calls `each` with every row of `batch`.
pub(crate) fn decode(batch: &RecordBatch, path: &Path, mut each: impl FnMut(u32, Request) -> Result<()>) -> Result<()> {
    let columns = Columns { batch, path };
    let moments = |name| columns.optional::<Int64Type>(name);
    let counts = |name| columns.optional::<UInt32Type>(name);
    let [intended, sent, first_byte] = [moments("intended_ns")?, moments("sent_ns")?, moments("first_byte_ns")?];
    let [first_token, last_token, done] = [moments("first_token_ns")?, moments("last_token_ns")?, moments("done_ns")?];
    let [prompt, cached] = [counts("prompt_tokens")?, counts("cached_tokens")?];
    let [output, requested, session] = [counts("output_tokens")?, counts("requested_tokens")?, counts("session")?];
    let prompt_hash = columns.optional::<UInt64Type>("prompt_hash")?;
    let fate = columns.texts("fate")?;
    let error = columns.optional_texts("error")?;
    let finish = columns.optional_texts("finish")?;
    let trace_id = columns.optional_texts("trace_id")?;
    // Bundles of before have neither.
    let schemas = columns.added::<UInt64Type>("schema")?;
    let blanks = columns.added::<Float32Type>("blank_share")?;
    for (at, &row) in columns.numbers::<UInt32Type>("request")?.iter().enumerate() {
        let moment = |column| Moment::from(cell(column, at));
        let request = Request {
            intended: moment(intended),
            sent: moment(sent),
            first_byte: moment(first_byte),
            first_token: moment(first_token),
            last_token: moment(last_token),
            done: moment(done),
            fate: Fate::from_name(fate.value(at)).ok_or_else(|| columns.unknown("fate", fate.value(at)))?,
            error: text_cell(error, at),
            finish: text_cell(finish, at).map(|name| Finish::from_name(&name)),
            prompt_tokens: cell(prompt, at),
            cached_tokens: cell(cached, at),
            output_tokens: cell(output, at),
            requested_tokens: cell(requested, at),
            prompt_hash: cell(prompt_hash, at),
            session: cell(session, at),
            trace_id: text_cell(trace_id, at),
            schema: schemas.and_then(|schemas| cell(schemas, at)),
            blank_share: blanks.and_then(|blanks| cell(blanks, at)),
        };
        each(row, request)?;
    }
    Ok(())
}
