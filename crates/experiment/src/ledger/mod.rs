//! What has happened so far.

mod entry;
mod file;

pub use entry::{Begun, Entry, Process};
pub use file::LedgerFile;

use crate::plan::{Cell, Errand};
use firstcheck_model::unit::Seconds;

/// All entries so far, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    entries: Vec<Entry>,
}

/// A deployment that was started and not stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// What it was started for.
    pub errand: Errand,
    /// Its process, where it is ours.
    pub process: Option<Process>,
    /// Whether the experiment was interrupted since.
    pub abandoned: bool,
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

    /// How the experiment began.
    pub fn begun(&self) -> Option<&Begun> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Begun(begun) => Some(begun),
            _ => None,
        })
    }

    /// The bundle of a cell, if its run is done and was not lost since.
    pub fn bundle(&self, cell: &Cell) -> Option<&str> {
        self.entries.iter().fold(None, |bundle, entry| match entry {
            Entry::RunDone { cell: c, bundle } if c == cell => Some(bundle.as_str()),
            Entry::Lost { cell: c, .. } if c == cell => None,
            _ => bundle,
        })
    }

    /// Whether what a deployment is started for has been done.
    pub fn is_done(&self, errand: Errand) -> bool {
        match errand {
            Errand::WarmUp => self.warm_up().is_some(),
            Errand::Run(cell) => self.bundle(&cell).is_some(),
        }
    }

    /// How long a run warms up, where base has shown it.
    pub fn warm_up(&self) -> Option<Seconds> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::WarmedUp { warm_up, .. } => Some(*warm_up),
            _ => None,
        })
    }

    /// What was started last and not stopped since.
    pub fn standing(&self) -> Option<Standing> {
        self.entries.iter().fold(None, |standing, entry| match entry {
            Entry::Started { errand, process } => {
                Some(Standing { errand: *errand, process: *process, abandoned: false })
            }
            Entry::Stopped { .. } => None,
            Entry::Resumed => standing.map(|standing| Standing { abandoned: true, ..standing }),
            _ => standing,
        })
    }

    /// Whether the look after so many pairs was taken.
    pub fn has_looked(&self, after: u32) -> bool {
        self.entries.iter().any(|entry| matches!(entry, Entry::Looked { pairs, .. } if *pairs == after))
    }

    /// After how many pairs a look decided, if one did.
    pub fn decided(&self) -> Option<u32> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Looked { pairs, decides: true, .. } => Some(*pairs),
            _ => None,
        })
    }
}
