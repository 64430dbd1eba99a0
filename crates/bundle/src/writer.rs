//! Writing a run: append while it goes on, finish when it ends.

use crate::{
    attached, columns,
    durable::{FileEntry, NewFile, sync_folder},
    error::{Error, Named, Result},
    journal::Journal,
    parquet_file::TableWriter,
    placed::Placed,
    run_json::{RowsIn, RunJson},
    salvage::WholeJournal,
    table::Table,
};
use firstcheck_model::{
    event::Event,
    recording::Recording,
    request::{Request, Requests},
    run::{RunInfo, RunState},
    signal::Series,
    span::StageSpan,
    trace_span::TraceSpan,
};
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// What run.json says from the start, until the writer says otherwise.
const UNFINISHED: &str = "still running or killed";

/// Requests of a Parquet batch.
const REQUESTS_A_BATCH: usize = 1 << 16;

/// What happened since the last append.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rows<'a> {
    /// Rows of the plan with their state now; the last state of a row counts. A request in flight has `sent` and still
    /// the fate `NeverSent`.
    pub requests: &'a [(u32, Request)],
    /// Events, in order within each request; never later than the row that says their request is done.
    pub events: &'a [Event],
    /// New samples, one or more a series.
    pub signals: &'a [Series],
    /// Stage spans.
    pub spans: &'a [StageSpan],
    /// Spans that services exported, their times on their own clocks.
    pub traces: &'a [TraceSpan],
}

/// A run on its way to disk. Its calls block on the disk.
///
/// An append is handed to the kernel before it returns, so that `kill -9` loses nothing of it; it is not synced, so that
/// a power loss may take what the kernel had not written yet ([`Writer::sync`] bounds that).
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    info: RunInfo,
    journal: Journal,
    /// Attached files.
    files: Vec<FileEntry>,
}

impl Writer {
    /// Creates the bundle at `dir`. From now on its run.json says *interrupted*, whatever `info.state` is.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] when something is there already; [`Error::NotStorable`] when `info` holds a number that is
    /// not finite; [`Error::Io`].
    pub fn create(dir: &Path, info: &RunInfo) -> Result<Self> {
        fs::create_dir_all(dir).named("create", dir)?;
        if fs::read_dir(dir).named("read", dir)?.next().is_some() {
            return Err(Error::NotEmpty { path: dir.into() });
        }
        let journal = Journal::create(dir)?;
        let writer = Self { dir: dir.into(), info: info.clone(), journal, files: Vec::new() };
        writer.write_unfinished(UNFINISHED)?;
        if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync_folder(parent)?;
        }
        Ok(writer)
    }

    /// Where the bundle is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Replaces what is known of the run, so that a run that is killed has it.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn update(&mut self, info: &RunInfo) -> Result<()> {
        self.info = info.clone();
        self.write_unfinished(UNFINISHED)
    }

    /// Appends `rows`, all or none.
    ///
    /// # Errors
    /// [`Error::Io`] (with [`Error::is_disk_full`]) or [`Error::NotStorable`]; the journal is then as before the call,
    /// and [`Writer::abort`] still has all earlier rows.
    pub fn append(&mut self, rows: Rows<'_>) -> Result<()> {
        self.journal.append(rows)
    }

    /// Waits until the disk itself has everything appended so far.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn sync(&self) -> Result<()> {
        self.journal.sync()
    }

    /// Keeps `content` byte for byte under `attached/`, under `name` made fit for a file; returns the name used.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn attach(&mut self, name: &str, mut content: impl Read) -> Result<String> {
        let folder = self.dir.join(attached::FOLDER);
        fs::create_dir_all(&folder).named("create", &folder)?;
        let taken = |name: &str| self.files.iter().any(|file| file.name == attached::listed_name(name));
        let name = attached::free_name(&attached::file_name(name), taken);
        let path = folder.join(&name);
        let mut file = NewFile::create(&path)?;
        std::io::copy(&mut content, &mut file).named("write", &path)?;
        self.files.push(file.commit(&attached::listed_name(&name))?);
        sync_folder(&folder)?;
        self.write_unfinished(UNFINISHED)?;
        Ok(name)
    }

    /// Ends the run: Parquet, then run.json with `info`, then the journal goes. Returns the bundle's folder.
    ///
    /// `info.state` may be `Interrupted`: the bundle is then whole but says that the run is not.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::NotStorable`]; the journal then stays, and run.json says *interrupted* and why.
    pub fn finish(mut self, mut info: RunInfo) -> Result<PathBuf> {
        let result = self.write_finished(&mut info);
        if let Err(error) = result {
            self.journal.give_back_reserve();
            for table in Table::ALL {
                // What cannot be removed is not listed in run.json and so never read.
                let _ = fs::remove_file(self.dir.join(table.parquet_name()));
            }
            self.info = info;
            let reason = match &self.info.state {
                RunState::Interrupted { reason } => format!("{reason}; then {error}"),
                RunState::Complete => error.to_string(),
            };
            // The error that is returned says more than a second one would; without room for run.json the first one stays.
            let _ = self.write_unfinished(&reason);
            return Err(error);
        }
        self.journal.remove();
        Ok(self.dir)
    }

    /// Ends the run early: [`Writer::finish`] as interrupted for `reason`, with what was last known of the run.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn abort(self, reason: &str) -> Result<PathBuf> {
        let info = RunInfo { state: RunState::Interrupted { reason: reason.into() }, ..self.info.clone() };
        self.journal.give_back_reserve();
        self.finish(info)
    }

    fn write_unfinished(&self, reason: &str) -> Result<()> {
        let info = RunInfo { state: RunState::Interrupted { reason: reason.into() }, ..self.info.clone() };
        RunJson::new(info, RowsIn::Journal, self.files.clone()).write(&self.dir)
    }

    fn write_finished(&self, info: &mut RunInfo) -> Result<()> {
        let journal = WholeJournal::scan(&self.dir)?;
        info.warnings.extend(journal.salvage.cuts.iter().map(ToString::to_string));
        let mut files = Vec::new();
        for table in Table::ALL {
            if table == Table::Requests {
                let mut placed = Placed::default();
                journal.for_each_batch(table, |batch, path| placed.add(batch, path))?;
                let (requests, note) = placed.finish(info.state != RunState::Complete);
                info.warnings.extend(note);
                files.push(write_requests(&self.dir, &requests)?);
            } else {
                files.extend(copy(&journal, &self.dir, table)?);
            }
        }
        files.extend(self.files.iter().cloned());
        sync_folder(&self.dir)?;
        RunJson::new(info.clone(), RowsIn::Parquet, files).write(&self.dir)
    }
}

fn write_requests(dir: &Path, requests: &Requests) -> Result<FileEntry> {
    let mut file = TableWriter::create(dir, Table::Requests)?;
    for (part, chunk) in requests.0.chunks(REQUESTS_A_BATCH).enumerate() {
        let first = (part * REQUESTS_A_BATCH) as u32;
        file.write(dir, &columns::requests::encode((first..).zip(chunk))?)?;
    }
    file.commit(dir)
}

/// Copies a table frame by frame; `None` when it has no rows and need not exist.
fn copy(journal: &WholeJournal, dir: &Path, table: Table) -> Result<Option<FileEntry>> {
    let mut file = if table.always() { Some(TableWriter::create(dir, table)?) } else { None };
    journal.for_each_batch(table, |batch, _| {
        let open = match file.take() {
            Some(open) => open,
            None => TableWriter::create(dir, table)?,
        };
        file.insert(open).write(dir, batch)
    })?;
    file.map(|file| file.commit(dir)).transpose()
}

/// Writes a whole run at once. Returns the bundle's folder.
///
/// # Errors
/// As [`Writer::create`] and [`Writer::finish`].
pub fn write_recording(dir: &Path, recording: &Recording) -> Result<PathBuf> {
    let mut writer = Writer::create(dir, &recording.info)?;
    let requests: Vec<(u32, Request)> = (0..).zip(recording.requests.0.iter().cloned()).collect();
    writer.append(Rows {
        requests: &requests,
        events: &recording.events,
        signals: &recording.signals,
        spans: &recording.spans,
        traces: &[],
    })?;
    writer.finish(recording.info.clone())
}
