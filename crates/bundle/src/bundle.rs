//! Reading a run.

use crate::{
    attached::{self, Attached},
    columns,
    durable::verify,
    error::{Error, Named, Result},
    parquet_file,
    placed::Placed,
    run_json::{self, RowsIn, RunJson},
    salvage::{Salvage, WholeJournal},
    table::Table,
};
use arrow_array::RecordBatch;
use firstcheck_model::{
    event::{Event, StreamFold, inside_window},
    evidence::RunEvidence,
    recording::Recording,
    request::Requests,
    run::{Detail, RunInfo, RunState},
    signal::Series,
    span::StageSpan,
    trace_span::TraceSpan,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A run on disk, opened: every file that run.json lists is the one that was written.
#[derive(Debug)]
pub struct Bundle {
    dir: PathBuf,
    run: RunJson,
    /// Where the rows are, if not in Parquet files.
    journal: Option<WholeJournal>,
}

impl Bundle {
    /// Whether `path` is a folder with a `run.json`.
    pub fn is_bundle(path: &Path) -> bool {
        path.join(run_json::NAME).is_file()
    }

    /// Opens the bundle at `dir`, checking the hash of each file. A run without its end is read from its journal, as far
    /// as that is whole: see [`Bundle::salvage`].
    ///
    /// # Errors
    /// [`Error::NotABundle`], [`Error::Schema`], [`Error::Damaged`], [`Error::Malformed`], [`Error::Io`].
    pub fn open(dir: &Path) -> Result<Self> {
        let run = RunJson::read(dir)?;
        run.files.iter().try_for_each(|file| verify(dir, file))?;
        let journal = match run.rows {
            RowsIn::Parquet => None,
            RowsIn::Journal => Some(WholeJournal::scan(dir)?),
        };
        Ok(Self { dir: dir.into(), run, journal })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What run.json says of the run.
    pub fn info(&self) -> &RunInfo {
        &self.run.run
    }

    /// What was read and what was ignored of a run without its end; `None` when it was finished.
    pub fn salvage(&self) -> Option<&Salvage> {
        self.journal.as_ref().map(|journal| &journal.salvage)
    }

    /// All requests. Of a run without its end, those in flight count as cancelled.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Io`].
    pub fn requests(&self) -> Result<Requests> {
        Ok(self.placed()?.0)
    }

    fn placed(&self) -> Result<(Requests, Option<String>)> {
        let mut placed = Placed::default();
        let in_journal = self.journal.is_some();
        self.for_each_batch(Table::Requests, |batch, path| {
            if in_journal { placed.add(batch, path) } else { placed.add_in_order(batch, path) }
        })?;
        Ok(placed.finish(self.info().state != RunState::Complete))
    }

    /// Calls `each` with all events, batch by batch, in the order in which they were appended.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Io`]; `each` may have seen some events by then.
    pub fn for_each_event_batch(&self, mut each: impl FnMut(&[Event])) -> Result<()> {
        let mut events = Vec::new();
        self.for_each_batch(Table::Events, |batch, path| {
            events.clear();
            columns::events::decode(batch, path, &mut events)?;
            each(&events);
            Ok(())
        })
    }

    /// Scraped series under their raw names, in the order in which they first appear; `signal` is `None`.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Io`].
    pub fn signals(&self) -> Result<Vec<Series>> {
        let mut collector = columns::signals::Collector::default();
        self.for_each_batch(Table::Signals, |batch, path| collector.add(batch, path))?;
        Ok(collector.finish())
    }

    /// Stage spans.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Io`].
    pub fn spans(&self) -> Result<Vec<StageSpan>> {
        let mut spans = Vec::new();
        self.for_each_batch(Table::Spans, |batch, path| columns::spans::decode(batch, path, &mut spans))?;
        Ok(spans)
    }

    /// Spans as services exported them while the run went on, each on its own host's clock.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Io`].
    pub fn traces(&self) -> Result<Vec<TraceSpan>> {
        let mut spans = Vec::new();
        self.for_each_batch(Table::Traces, |batch, path| columns::traces::decode(batch, path, &mut spans))?;
        Ok(spans)
    }

    /// Files that are kept with the run.
    pub fn attached(&self) -> Vec<Attached> {
        let name = |listed: &str| listed.strip_prefix(attached::FOLDER)?.strip_prefix('/').map(str::to_owned);
        let files = self.run.files.iter();
        files.filter_map(|file| Some(Attached { name: name(&file.name)?, bytes: file.bytes })).collect()
    }

    /// The content of an attached file.
    ///
    /// # Errors
    /// [`Error::NoAttachment`], [`Error::Io`].
    pub fn read_attached(&self, name: &str) -> Result<Vec<u8>> {
        let listed = attached::listed_name(name);
        if !self.run.lists(&listed) {
            return Err(Error::NoAttachment { path: self.dir.clone(), name: name.into() });
        }
        let path = self.dir.join(listed);
        fs::read(&path).named("read", &path)
    }

    /// What can be concluded from: the rows, with events folded as they are read. `label` names the run in reports.
    /// What was ignored of a run without its end is added to its warnings.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Io`].
    pub fn evidence(&self, label: impl Into<String>) -> Result<RunEvidence> {
        let (requests, note) = self.placed()?;
        let mut info = self.info_with_warnings(note);
        let streams = if info.detail == Detail::Events {
            let inside = inside_window(&requests, info.window);
            let mut fold = StreamFold::new(requests.len());
            let mut strays = 0u64;
            self.for_each_event_batch(|events| {
                for event in events {
                    let counts = inside.get(event.request as usize).copied().unwrap_or(false);
                    strays += u64::from(!fold.add(event, counts));
                }
            })?;
            if strays > 0 {
                info.warnings.push(format!("{strays} events belong to no request and were ignored"));
            }
            Some(fold.finish(&requests, info.window))
        } else {
            None
        };
        let (signals, spans) = (self.signals()?, self.spans()?);
        Ok(RunEvidence { label: label.into(), info, requests, streams, signals, spans })
    }

    /// The whole run in memory. What was ignored of a run without its end is added to its warnings.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Io`].
    pub fn recording(&self) -> Result<Recording> {
        let (requests, note) = self.placed()?;
        let mut events = Vec::new();
        self.for_each_batch(Table::Events, |batch, path| columns::events::decode(batch, path, &mut events))?;
        let (signals, spans) = (self.signals()?, self.spans()?);
        Ok(Recording { info: self.info_with_warnings(note), requests, events, signals, spans })
    }

    fn info_with_warnings(&self, note: Option<String>) -> RunInfo {
        let mut info = self.info().clone();
        let cuts = self.salvage().map(|salvage| salvage.cuts.as_slice()).unwrap_or_default();
        info.warnings.extend(cuts.iter().map(ToString::to_string));
        // A finished bundle already has the note among its warnings; its rows have no gaps.
        info.warnings.extend(note);
        info
    }

    fn for_each_batch(&self, table: Table, each: impl FnMut(&RecordBatch, &Path) -> Result<()>) -> Result<()> {
        match &self.journal {
            Some(journal) => journal.for_each_batch(table, each),
            None if self.run.lists(table.parquet_name()) => parquet_file::for_each_batch(&self.dir, table, each),
            None => Ok(()),
        }
    }
}
