//! Parquet files: written from batches as they come, read batch by batch.

use crate::{
    durable::{FileEntry, NewFile},
    error::{Error, Named, Result},
    guarded::guarded,
    table::Table,
};
use arrow_array::RecordBatch;
use parquet::{
    arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder},
    basic::{Compression, Encoding},
    errors::ParquetError,
    file::properties::WriterProperties,
};
use std::{fs::File, path::Path};

const ROWS_A_GROUP: usize = 1 << 20;
const ROWS_A_BATCH: usize = 1 << 16;

/// A table on its way to a Parquet file.
pub(crate) struct TableWriter {
    table: Table,
    writer: ArrowWriter<NewFile>,
}

impl TableWriter {
    /// Starts the file of `table` in the bundle at `dir`.
    pub(crate) fn create(dir: &Path, table: Table) -> Result<Self> {
        let file = NewFile::create(&dir.join(table.parquet_name()))?;
        let writer = ArrowWriter::try_new(file, table.schema(), Some(properties(table)));
        Ok(Self { table, writer: writer.map_err(|error| failed(dir, table, error))? })
    }

    /// Adds rows.
    pub(crate) fn write(&mut self, dir: &Path, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|error| failed(dir, self.table, error))
    }

    /// Writes the footer, syncs, and gives the file its name.
    pub(crate) fn commit(self, dir: &Path) -> Result<FileEntry> {
        let file = self.writer.into_inner().map_err(|error| failed(dir, self.table, error))?;
        file.commit(self.table.parquet_name())
    }
}

/// Integers as differences, which times and counts of one stream compress well with; texts by dictionary.
fn properties(table: Table) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROWS_A_GROUP))
        .set_created_by(concat!("firstcheck ", env!("CARGO_PKG_VERSION")).into());
    for field in table.schema().fields() {
        if field.data_type().is_integer() {
            let column = parquet::schema::types::ColumnPath::from(field.name().as_str());
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

/// An error of the Parquet writer: the file system's own where it was that.
fn failed(dir: &Path, table: Table, error: ParquetError) -> Error {
    let path = dir.join(table.parquet_name());
    if let ParquetError::External(source) = error {
        return match source.downcast::<std::io::Error>() {
            Ok(source) => Error::Io { doing: "write", path, source: *source },
            Err(source) => Error::not_storable(table.name(), source),
        };
    }
    Error::not_storable(table.name(), error)
}

/// Calls `each` with every batch of the file of `table` in the bundle at `dir`, whose hash was verified.
pub(crate) fn for_each_batch(
    dir: &Path,
    table: Table,
    mut each: impl FnMut(&RecordBatch, &Path) -> Result<()>,
) -> Result<()> {
    let path = dir.join(table.parquet_name());
    let file = File::open(&path).named("open", &path)?;
    let mut batches = guarded(&path, || {
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(file).and_then(|r| r.with_batch_size(ROWS_A_BATCH).build());
        reader.map_err(|error| Error::malformed(&path, error))
    })?;
    while let Some(batch) = guarded(&path, || Ok(batches.next()))? {
        each(&batch.map_err(|error| Error::malformed(&path, error))?, &path)?;
    }
    Ok(())
}
