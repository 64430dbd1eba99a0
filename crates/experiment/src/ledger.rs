//! What has happened so far: append-only JSON lines beside the bundles.

use crate::{
    error::Error,
    plan::pairs::{Cell, PairPlan},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Entry {
    /// The experiment began, by this plan.
    Begun {
        /// The plan.
        plan: PairPlan,
    },
    /// A run ended and its bundle is complete.
    RunDone {
        /// Which.
        cell: Cell,
        /// The bundle's folder, relative to the ledger's.
        bundle: String,
    },
}

/// All entries so far, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    entries: Vec<Entry>,
}

impl Ledger {
    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds an entry in memory.
    pub fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// The bundle of a cell, if its run is done.
    pub fn bundle(&self, cell: &Cell) -> Option<&str> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::RunDone { cell: c, bundle } if c == cell => Some(bundle.as_str()),
            _ => None,
        })
    }
}

/// A ledger on disk.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    file: File,
    ledger: Ledger,
}

impl LedgerFile {
    /// Opens the ledger at `path`, or begins one for `plan`.
    ///
    /// A last line without its end was cut by a crash: it is dropped, and its step will be taken again.
    ///
    /// # Errors
    /// A file that cannot be read, a line that is no entry, or a ledger of another plan.
    pub fn open(path: &Path, plan: PairPlan) -> Result<Self, Error> {
        let fail = |action| move |source| Error::File { action, path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path).map_err(fail("open"))?;
        let (ledger, whole) = read(path, &file)?;
        file.set_len(whole).map_err(fail("repair"))?;
        let mut opened = Self { path: path.to_owned(), file, ledger };
        match opened.ledger.entries().first() {
            None => opened.append(Entry::Begun { plan })?,
            Some(Entry::Begun { plan: found }) if *found == plan => {}
            Some(other) => {
                let (found, asked) = (format!("{other:?}"), format!("{plan:?}"));
                return Err(Error::OtherPlan { path: path.to_owned(), found, asked });
            }
        }
        Ok(opened)
    }

    /// What has happened so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Appends an entry and syncs it to disk.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn append(&mut self, entry: Entry) -> Result<(), Error> {
        let fail = |source| Error::File { action: "append to", path: self.path.clone(), source };
        let mut line = serde_json::to_vec(&entry).map_err(|e| fail(e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).map_err(fail)?;
        self.ledger.push(entry);
        Ok(())
    }
}

fn read(path: &Path, file: &File) -> Result<(Ledger, u64), Error> {
    let (mut ledger, mut whole) = (Ledger::default(), 0);
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let fail = |source| Error::File { action: "read", path: path.to_owned(), source };
        let read = lines.read_until(b'\n', &mut line).map_err(fail)?;
        if read == 0 || line.last() != Some(&b'\n') {
            break;
        }
        let entry = serde_json::from_slice(&line);
        ledger.push(entry.map_err(|source| Error::Ledger { path: path.to_owned(), line: number, source })?);
        whole += read as u64;
    }
    Ok((ledger, whole))
}
