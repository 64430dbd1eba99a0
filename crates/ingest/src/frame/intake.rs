//! Where everything goes that a format reads, and everything that it could not.

use crate::{Limits, join, json::clip, prometheus};
use firstcheck_model::{
    fingerprint::Fingerprint,
    report::{NotUnderstood, ReadRow, Unread},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

/// Characters of an example that are kept.
const EXAMPLE: usize = 200;
/// Kinds of not understood things that are told apart in one artefact; more are counted together.
const MOST_KINDS: usize = 500;

/// Typed evidence of one artefact, before it is joined with that of others.
#[derive(Debug)]
pub(crate) enum Piece {
    /// A benchmark's run.
    Run(Box<join::Labelled>),
    /// What AIPerf's records hold; its summary may lie beside them.
    AiperfRecords(Box<crate::results::AiperfRecords>),
    /// AIPerf's summary.
    AiperfSummary(Box<serde_json::Value>),
    /// An inference-perf summary: of a stage, or of the whole run, which repeats its stages.
    InferencePerf {
        /// The summary's figures.
        run: Box<join::Labelled>,
        /// Whether it is that of one stage.
        stage: bool,
    },
    /// A run bundle, opened when it is known whether its events are wanted; with the folder that it was unpacked to.
    Bundle(Option<Arc<TempDir>>),
    /// A single metrics page without a time.
    Page(Box<prometheus::Page>),
    /// Pages with their times, as series.
    History(Box<prometheus::History>),
    /// Settings that the deployment states.
    Stated(Fingerprint),
    /// A file of a model's weights.
    Weights(crate::fingerprint::Shard),
    /// Evidence that is no run.
    Beside(Box<join::Beside>),
}

/// What is well-formed and says nothing to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// A line of a log.
    Line,
    /// A series of a metrics page.
    Series,
}

impl What {
    const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Series => "series",
        }
    }
}

/// A piece with where it came from.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) piece: Piece,
}

/// Gathers what artefacts give. A format's reader sees the artefact at hand only.
#[derive(Debug)]
pub struct Intake {
    limits: Limits,
    pub(crate) given: Vec<Given>,
    pub(crate) read: Vec<ReadRow>,
    pub(crate) unread: Vec<Unread>,
    /// The errors behind some of `unread`.
    pub(crate) errors: Vec<crate::Error>,
    not_understood: BTreeMap<(String, What, String), NotUnderstood>,
    path: PathBuf,
    folder: PathBuf,
    /// Of the artefact at hand: what was unread, and how many kinds were not understood.
    lost: u64,
    kinds: usize,
}

impl Intake {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            given: Vec::new(),
            read: Vec::new(),
            unread: Vec::new(),
            errors: Vec::new(),
            not_understood: BTreeMap::new(),
            path: PathBuf::new(),
            folder: PathBuf::new(),
            lost: 0,
            kinds: 0,
        }
    }

    /// Adds what another one gathered, after what is here.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.end();
        other.end();
        self.given.append(&mut other.given);
        self.read.append(&mut other.read);
        self.unread.append(&mut other.unread);
        self.errors.append(&mut other.errors);
        self.not_understood.append(&mut other.not_understood);
    }

    /// Bounds on what is held in memory.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Turns to another artefact.
    pub(crate) fn begin(&mut self, path: &Path, folder: &Path) {
        self.end();
        (self.path, self.folder) = (path.into(), folder.into());
    }

    /// Ends the artefact at hand.
    pub(crate) fn end(&mut self) {
        let kept = self.limits.unread as u64;
        if self.lost > kept {
            let reason = format!("{} more like these", self.lost - kept);
            self.unread.push(Unread { path: self.path.display().to_string(), line: None, reason });
        }
        (self.lost, self.kinds) = (0, 0);
    }

    /// Gives typed evidence.
    pub(crate) fn give(&mut self, piece: impl Into<Piece>) {
        self.given.push(Given { path: self.path.clone(), folder: self.folder.clone(), piece: piece.into() });
    }

    /// Gives the bundle at `path`, or of that name in an archive and unpacked.
    pub(crate) fn bundle(&mut self, path: &Path, unpacked: Option<Arc<TempDir>>) {
        self.begin(path, path);
        self.give(Piece::Bundle(unpacked));
        self.end();
        // How much is in it is known when it is opened.
        self.read.push(ReadRow {
            path: path.display().to_string(),
            format: "bundle".into(),
            what: "run bundle".into(),
            rows: 0,
            unit: "requests".into(),
            from_unix_s: None,
            to_unix_s: None,
            length_s: None,
            engine: None,
            version: None,
            replicas: Vec::new(),
            notes: Vec::new(),
        });
    }

    /// Lists a line or a part that should be readable and is not.
    pub fn unread(&mut self, line: Option<u64>, reason: impl Into<String>) {
        self.lost += 1;
        if self.lost <= self.limits.unread as u64 {
            self.unread.push(Unread { path: self.path.display().to_string(), line, reason: reason.into() });
        }
    }

    /// Counts something well-formed that says nothing to us; `kind` groups such things, and the first example is kept.
    pub(crate) fn not_understood(&mut self, what: What, kind: &str, line: Option<u64>, example: &str) {
        self.count(what, kind, line, example, 1);
    }

    /// As [`Intake::not_understood`], for `count` of them.
    pub(crate) fn count(&mut self, what: What, kind: &str, line: Option<u64>, example: &str, count: u64) {
        let path = self.path.display().to_string();
        let kind = if self.kinds < MOST_KINDS { clip(kind, EXAMPLE) } else { "others".into() };
        let key = (path.clone(), what, kind.clone());
        if let Some(known) = self.not_understood.get_mut(&key) {
            known.count += count;
            return;
        }
        self.kinds += 1;
        let example = clip(example, EXAMPLE);
        let one = NotUnderstood { path, what: what.name().into(), kind, count, line, example };
        self.not_understood.insert(key, one);
    }

    /// What was not understood, by artefact and kind.
    pub(crate) fn take_not_understood(&mut self) -> Vec<NotUnderstood> {
        std::mem::take(&mut self.not_understood).into_values().collect()
    }
}

impl From<Fingerprint> for Piece {
    fn from(stated: Fingerprint) -> Self {
        Self::Stated(stated)
    }
}
