//! Rows to Arrow columns and back, one file a table.

pub(crate) mod events;
pub(crate) mod requests;
pub(crate) mod signals;
pub(crate) mod spans;
pub(crate) mod traces;

use crate::error::{Error, Result};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::{path::Path, sync::Arc};

/// A schema from (name, type, nullable).
fn schema_of(fields: &[(&str, DataType, bool)]) -> SchemaRef {
    let field = |(name, kind, nullable): &(&str, DataType, bool)| Field::new(*name, kind.clone(), *nullable);
    Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>()))
}

fn batch_of(what: &str, schema: SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    RecordBatch::try_new(schema, columns).map_err(|error| Error::not_storable(what, error))
}

/// The columns of a batch that was read, by name.
struct Columns<'a> {
    batch: &'a RecordBatch,
    path: &'a Path,
}

impl<'a> Columns<'a> {
    fn array<A: Array + 'static>(&self, name: &str, nullable: bool) -> Result<&'a A> {
        let column = self.batch.column_by_name(name);
        let typed = column.and_then(|column| column.as_any().downcast_ref::<A>());
        let array = typed.ok_or_else(|| match column {
            None => Error::malformed(self.path, format!("column `{name}` is missing")),
            Some(other) => Error::malformed(self.path, format!("column `{name}` has type {}", other.data_type())),
        })?;
        if !nullable && array.null_count() > 0 {
            return Err(Error::malformed(self.path, format!("column `{name}` has empty cells")));
        }
        Ok(array)
    }

    /// A column of numbers without empty cells.
    fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> Result<&'a [T::Native]> {
        Ok(self.array::<PrimitiveArray<T>>(name, false)?.values())
    }

    /// A column of numbers.
    fn optional<T: ArrowPrimitiveType>(&self, name: &str) -> Result<&'a PrimitiveArray<T>> {
        self.array(name, true)
    }

    /// A column of numbers that bundles have since it was added; `None` in those of before.
    fn added<T: ArrowPrimitiveType>(&self, name: &str) -> Result<Option<&'a PrimitiveArray<T>>> {
        self.batch.column_by_name(name).map(|_| self.optional::<T>(name)).transpose()
    }

    /// A column of texts without empty cells.
    fn texts(&self, name: &str) -> Result<&'a StringArray> {
        self.array(name, false)
    }

    /// A column of texts.
    fn optional_texts(&self, name: &str) -> Result<&'a StringArray> {
        self.array(name, true)
    }

    fn unknown(&self, column: &str, value: &str) -> Error {
        Error::malformed(self.path, format!("column `{column}` holds the unknown value `{value}`"))
    }
}

fn cell<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}

fn text_cell(array: &StringArray, row: usize) -> Option<String> {
    array.is_valid(row).then(|| array.value(row).to_owned())
}
