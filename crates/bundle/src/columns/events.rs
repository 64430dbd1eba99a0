//! Events as columns.

use super::{Columns, batch_of, cell, schema_of};
use crate::error::Result;
use arrow_array::{
    Int64Array, RecordBatch, UInt16Array, UInt32Array,
    types::{Int64Type, UInt16Type, UInt32Type},
};
use arrow_schema::{DataType, SchemaRef};
use firstcheck_model::event::Event;
use std::{path::Path, sync::Arc};

pub(crate) fn schema() -> SchemaRef {
    schema_of(&[
        ("request", DataType::UInt32, false),
        ("since_sent_ns", DataType::Int64, false),
        ("tokens", DataType::UInt16, true),
        ("kernel_ns", DataType::Int64, true),
    ])
}

pub(crate) fn encode(events: &[Event]) -> Result<RecordBatch> {
    let columns = vec![
        Arc::new(UInt32Array::from_iter_values(events.iter().map(|e| e.request))) as _,
        Arc::new(Int64Array::from_iter_values(events.iter().map(|e| e.since_sent_ns))) as _,
        Arc::new(events.iter().map(|e| e.tokens).collect::<UInt16Array>()) as _,
        Arc::new(events.iter().map(|e| e.kernel_ns).collect::<Int64Array>()) as _,
    ];
    batch_of("events", schema(), columns)
}

/// Appends the rows of `batch` to `events`.
pub(crate) fn decode(batch: &RecordBatch, path: &Path, events: &mut Vec<Event>) -> Result<()> {
    let columns = Columns { batch, path };
    let request = columns.numbers::<UInt32Type>("request")?;
    let since_sent_ns = columns.numbers::<Int64Type>("since_sent_ns")?;
    let tokens = columns.optional::<UInt16Type>("tokens")?;
    let kernel_ns = columns.optional::<Int64Type>("kernel_ns")?;
    events.extend(request.iter().zip(since_sent_ns).enumerate().map(|(row, (&request, &since_sent_ns))| Event {
        request,
        since_sent_ns,
        tokens: cell(tokens, row),
        kernel_ns: cell(kernel_ns, row),
    }));
    Ok(())
}
