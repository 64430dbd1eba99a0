//! Stage spans as columns.

use super::{Columns, batch_of, cell, schema_of, text_cell};
use crate::error::Result;
use arrow_array::{
    Int64Array, RecordBatch, StringArray, UInt32Array,
    types::{Int64Type, UInt32Type},
};
use arrow_schema::{DataType, SchemaRef};
use firstcheck_model::{
    moment::Moment,
    span::{Stage, StageSpan},
};
use std::{path::Path, sync::Arc};

pub(crate) fn schema() -> SchemaRef {
    schema_of(&[
        ("request", DataType::UInt32, false),
        ("stage", DataType::Utf8, false),
        ("start_ns", DataType::Int64, true),
        ("end_ns", DataType::Int64, true),
        ("replica", DataType::Utf8, true),
    ])
}

pub(crate) fn encode(spans: &[StageSpan]) -> Result<RecordBatch> {
    let columns = vec![
        Arc::new(UInt32Array::from_iter_values(spans.iter().map(|s| s.request))) as _,
        Arc::new(StringArray::from_iter_values(spans.iter().map(|s| s.stage.name()))) as _,
        Arc::new(spans.iter().map(|s| s.start.get()).collect::<Int64Array>()) as _,
        Arc::new(spans.iter().map(|s| s.end.get()).collect::<Int64Array>()) as _,
        Arc::new(spans.iter().map(|s| s.replica.as_deref()).collect::<StringArray>()) as _,
    ];
    batch_of("spans", schema(), columns)
}

/// Appends the rows of `batch` to `spans`.
pub(crate) fn decode(batch: &RecordBatch, path: &Path, spans: &mut Vec<StageSpan>) -> Result<()> {
    let columns = Columns { batch, path };
    let stage = columns.texts("stage")?;
    let start = columns.optional::<Int64Type>("start_ns")?;
    let end = columns.optional::<Int64Type>("end_ns")?;
    let replica = columns.optional_texts("replica")?;
    for (at, &request) in columns.numbers::<UInt32Type>("request")?.iter().enumerate() {
        spans.push(StageSpan {
            request,
            stage: Stage::from_name(stage.value(at)).ok_or_else(|| columns.unknown("stage", stage.value(at)))?,
            start: Moment::from(cell(start, at)),
            end: Moment::from(cell(end, at)),
            replica: text_cell(replica, at),
        });
    }
    Ok(())
}
