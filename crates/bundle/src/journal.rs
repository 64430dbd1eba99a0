//! The journal: what a run has written so far, one file of frames a table.

use crate::{
    columns,
    error::{Error, Named, Result},
    frame,
    table::Table,
    writer::Rows,
};
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

/// Folder of the journal inside a bundle.
pub(crate) const FOLDER: &str = "journal";
/// File of the room that is given back when the disk is full.
pub(crate) const RESERVE_NAME: &str = "reserve";

/// Rows of a table in one frame: bounds the memory of whoever reads it.
const EVENTS_A_FRAME: usize = 1 << 20;
const ROWS_A_FRAME: usize = 1 << 16;

/// Bytes kept back so that a full disk has room left for a run.json that says so.
const RESERVE: usize = 1 << 16;

#[derive(Debug)]
struct TableFile {
    table: Table,
    path: PathBuf,
    file: File,
    /// Bytes of whole frames.
    length: u64,
}

/// The journal while it is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    files: Vec<TableFile>,
    /// Appends so far, and the number of the next.
    appends: u32,
    /// A failed append that could not be undone: nothing readable can follow it.
    broken: bool,
}

impl Journal {
    /// Creates the journal of the bundle at `dir`.
    pub(crate) fn create(dir: &Path) -> Result<Self> {
        let folder = dir.join(FOLDER);
        fs::create_dir(&folder).named("create", &folder)?;
        let mut files = Vec::new();
        for table in Table::ALL {
            let path = folder.join(table.name());
            let file = OpenOptions::new().append(true).create_new(true).open(&path).named("create", &path)?;
            files.push(TableFile { table, path, file, length: 0 });
        }
        let reserve = folder.join(RESERVE_NAME);
        fs::write(&reserve, vec![0; RESERVE]).named("write", &reserve)?;
        Ok(Self { folder, files, appends: 0, broken: false })
    }

    /// Appends `rows`; after an error the journal is as it was before.
    pub(crate) fn append(&mut self, rows: Rows<'_>) -> Result<()> {
        if self.broken {
            return Err(Error::not_storable("rows", "an earlier write failed half-way and could not be undone"));
        }
        let before = (self.appends, self.files.iter().map(|file| file.length).collect::<Vec<_>>());
        let result = self.append_parts(rows);
        if result.is_err() {
            self.appends = before.0;
            for (file, length) in self.files.iter_mut().zip(before.1) {
                file.length = length;
                self.broken |= file.file.set_len(length).is_err();
            }
        }
        result
    }

    /// Large appends go in parts of bounded size; requests come with the last part of the events, never before.
    fn append_parts(&mut self, rows: Rows<'_>) -> Result<()> {
        let samples = columns::signals::samples(rows.signals)?;
        let parts = |rows: usize, a_frame: usize| rows.div_ceil(a_frame).max(1);
        let before_requests = parts(rows.events.len(), EVENTS_A_FRAME) - 1;
        let total = (before_requests + parts(rows.requests.len(), ROWS_A_FRAME))
            .max(parts(samples.len(), ROWS_A_FRAME))
            .max(parts(rows.spans.len(), ROWS_A_FRAME))
            .max(parts(rows.traces.len(), ROWS_A_FRAME));
        for part in 0..total {
            let requests = part.checked_sub(before_requests).map_or(&[][..], |p| slice(rows.requests, p, ROWS_A_FRAME));
            let events = slice(rows.events, part, EVENTS_A_FRAME);
            let samples = slice(&samples, part, ROWS_A_FRAME);
            let spans = slice(rows.spans, part, ROWS_A_FRAME);
            let traces = slice(rows.traces, part, ROWS_A_FRAME);
            for at in 0..self.files.len() {
                let Some(table) = self.files.get(at).map(|file| file.table) else { continue };
                let batch = match table {
                    Table::Requests => (!requests.is_empty())
                        .then(|| columns::requests::encode(requests.iter().map(|(row, request)| (*row, request)))),
                    Table::Events => (!events.is_empty()).then(|| columns::events::encode(events)),
                    Table::Signals => (!samples.is_empty()).then(|| columns::signals::encode(samples)),
                    Table::Spans => (!spans.is_empty()).then(|| columns::spans::encode(spans)),
                    Table::Traces => (!traces.is_empty()).then(|| columns::traces::encode(traces)),
                };
                self.write_frame(at, batch.transpose()?.as_ref())?;
            }
            self.appends += 1;
        }
        Ok(())
    }

    fn write_frame(&mut self, at: usize, batch: Option<&RecordBatch>) -> Result<()> {
        let append = self.appends;
        let Some(file) = self.files.get_mut(at) else { return Ok(()) };
        if batch.is_none() && !file.table.always() {
            return Ok(());
        }
        let payload = batch.map(|batch| ipc(file.table, batch)).transpose()?.unwrap_or_default();
        let mut bytes = Vec::with_capacity(payload.len() + 16);
        frame::write(&mut bytes, append, &payload)?;
        file.file.write_all(&bytes).named("write", &file.path)?;
        file.length += bytes.len() as u64;
        Ok(())
    }

    /// Waits until the disk has what was appended.
    pub(crate) fn sync(&self) -> Result<()> {
        self.files.iter().try_for_each(|file| file.file.sync_data().named("sync", &file.path))
    }

    /// Gives back the space that was kept for the day the disk is full.
    pub(crate) fn give_back_reserve(&self) {
        // Already gone is as good; a failure here shows when run.json is written.
        let _ = fs::remove_file(self.folder.join(RESERVE_NAME));
    }

    /// Removes the journal of a run whose run.json says that its rows are elsewhere.
    pub(crate) fn remove(self) {
        // The run is complete by then, and what stays of its journal is never read.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn slice<T>(rows: &[T], part: usize, a_frame: usize) -> &[T] {
    let from = part.saturating_mul(a_frame).min(rows.len());
    let to = from.saturating_add(a_frame).min(rows.len());
    rows.get(from..to).unwrap_or(&[])
}

fn ipc(table: Table, batch: &RecordBatch) -> Result<Vec<u8>> {
    let write = || {
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
        writer.write(batch)?;
        writer.finish()?;
        writer.into_inner()
    };
    write().map_err(|error| Error::not_storable(table.name(), error))
}
