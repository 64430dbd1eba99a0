//! Pieces to evidence: what lies in one folder belongs together. Metrics pages and answers of endpoints are given to the
//! runs beside them; without a run they are what a deployment said of itself while others used it.

mod beside;
pub(crate) mod observed;
mod pages;

use crate::{
    Error,
    frame::{Intake, Piece, intake::Given},
    model_folder,
    prometheus::{History, Page},
    results::{self, AiperfRecords},
};
pub(crate) use beside::{Beside, join_traces, put, stages};
use firstcheck_model::{evidence::RunEvidence, fingerprint::Fingerprint, recording::Recording};
use pages::Pages;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

/// A run out of a file, with the name that reports give it.
#[derive(Debug)]
pub(crate) struct Labelled {
    pub(crate) label: String,
    pub(crate) recording: Recording,
}

impl Piece {
    /// Whether it is a run, or part of one.
    pub(crate) fn is_run(&self) -> bool {
        matches!(
            self,
            Self::Run(_)
                | Self::AiperfRecords(_)
                | Self::AiperfSummary(_)
                | Self::InferencePerf { .. }
                | Self::Bundle(_)
        )
    }
}

/// A bundle to open.
#[derive(Debug)]
pub(crate) struct BundleAt {
    /// As reports name it.
    pub(crate) path: PathBuf,
    /// Where it was unpacked to, if it lay in an archive.
    unpacked: Option<Arc<TempDir>>,
}

impl BundleAt {
    /// The folder to open.
    pub(crate) fn folder(&self) -> &Path {
        self.unpacked.as_ref().map_or(&self.path, |unpacked| unpacked.path())
    }
}

/// What the pieces of all folders come to.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    /// Bundles to open.
    pub(crate) bundles: Vec<BundleAt>,
    /// Runs of other tools.
    pub(crate) runs: Vec<Labelled>,
    /// What deployments said of themselves where no run is known.
    pub(crate) observed: Vec<RunEvidence>,
    /// What was stated of a deployment of which nothing else is known.
    pub(crate) stated: Fingerprint,
    /// Evidence that is no run, with the path it came from.
    pub(crate) beside: Vec<(PathBuf, Beside)>,
}

/// The pieces of one folder.
#[derive(Default)]
struct Heap {
    runs: Vec<Labelled>,
    records: Vec<(PathBuf, AiperfRecords)>,
    summaries: Vec<(PathBuf, serde_json::Value)>,
    stages: Vec<Labelled>,
    wholes: Vec<Labelled>,
    bundles: Vec<BundleAt>,
    pages: Vec<(String, Page)>,
    histories: Vec<(PathBuf, History)>,
    stated: Fingerprint,
    weights: Vec<crate::fingerprint::Shard>,
    beside: Vec<(PathBuf, Beside)>,
}

/// Joins everything that an intake was given.
pub(crate) fn join(intake: &mut Intake) -> Joined {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut heaps: HashMap<PathBuf, Heap> = HashMap::new();
    for given in std::mem::take(&mut intake.given) {
        if !heaps.contains_key(&given.folder) {
            folders.push(given.folder.clone());
        }
        heaps.entry(given.folder.clone()).or_default().put(given);
    }
    let mut joined = Joined::default();
    for folder in folders {
        if let Some(heap) = heaps.remove(&folder) {
            heap.join(intake, &folder, &mut joined);
        }
    }
    joined
}

impl Heap {
    fn put(&mut self, given: Given) {
        let Given { path, piece, .. } = given;
        match piece {
            Piece::Run(run) => self.runs.push(*run),
            Piece::AiperfRecords(records) => self.records.push((path, *records)),
            Piece::AiperfSummary(summary) => self.summaries.push((path, *summary)),
            Piece::InferencePerf { run, stage: true } => self.stages.push(*run),
            Piece::InferencePerf { run, stage: false } => self.wholes.push(*run),
            Piece::Bundle(unpacked) => self.bundles.push(BundleAt { path, unpacked }),
            Piece::Page(page) => self.pages.push((name_of(&path), *page)),
            Piece::History(history) => self.histories.push((path, *history)),
            Piece::Weights(shard) => self.weights.push(shard),
            Piece::Stated(stated) => self.stated.merge(&stated),
            Piece::Beside(beside) => self.beside.push((path, *beside)),
        }
    }

    fn join(mut self, intake: &mut Intake, folder: &Path, joined: &mut Joined) {
        joined.beside.append(&mut self.beside);
        self.stated.merge(&model_folder::together(&self.weights, &folder.display().to_string()));
        // The whole repeats its stages.
        let perf = if self.stages.is_empty() { &mut self.wholes } else { &mut self.stages };
        self.runs.append(perf);
        self.aiperf(intake);
        self.runs.sort_by_key(|run| natural(&run.label));
        drop_repeats(&mut self.runs);
        joined.bundles.append(&mut self.bundles);
        if !self.runs.is_empty() {
            let pages = Pages::new(&self.pages);
            for run in &mut self.runs {
                pages.attach(&mut run.recording);
                run.recording.info.fingerprint.merge(&self.stated);
            }
            joined.runs.append(&mut self.runs);
            self.pages.clear();
        }
        let before = joined.observed.len();
        joined.observed.extend(self.histories.into_iter().map(|(path, history)| observed::of_history(&path, history)));
        let chains = pages::chains(self.pages);
        joined.observed.extend(chains.into_iter().map(|chain| observed::of_pages(folder, &chain)));
        for run in &mut joined.observed[before..] {
            run.info.fingerprint.merge(&self.stated);
        }
        if before == joined.observed.len() {
            joined.stated.merge(&self.stated);
        }
    }

    /// One file of records and one summary in a folder are of one run.
    fn aiperf(&mut self, intake: &mut Intake) {
        let about = match (&self.records[..], &self.summaries[..]) {
            ([_], [_]) => self.summaries.pop(),
            _ => None,
        };
        for (_, records) in self.records.drain(..) {
            match records.run(about.as_ref().map(|(_, about)| about)) {
                Ok(run) => self.runs.push(run),
                Err(error) => intake.failed(error),
            }
        }
        self.runs.extend(self.summaries.drain(..).map(|(path, about)| results::aiperf::summary_run(&path, &about)));
    }
}

/// A label by which `FILE#10` comes after `FILE#2`.
fn natural(label: &str) -> (String, usize) {
    let (file, number) = label.rsplit_once('#').unwrap_or((label, ""));
    number.parse().map_or_else(|_| (label.to_owned(), 0), |number| (file.to_owned(), number))
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// A run that stands in two files of the folder (a sweep's collected results) counts once.
fn drop_repeats(runs: &mut Vec<Labelled>) {
    let mut first: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<Labelled> = Vec::with_capacity(runs.len());
    for run in runs.drain(..) {
        match first.get(&run.recording.info.id.0) {
            Some(at) => kept[*at].recording.info.warnings.push(format!("the same run is also in {}", run.label)),
            None => {
                first.insert(run.recording.info.id.0.clone(), kept.len());
                kept.push(run);
            }
        }
    }
    *runs = kept;
}

/// The error of a piece that could not be joined, as if its file could not be read.
impl Intake {
    pub(crate) fn failed(&mut self, error: Error) {
        self.unread.push(error.unread());
        self.errors.push(error);
    }
}
