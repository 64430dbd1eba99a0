//! Paths to runs: bundles and foreign results, files and folders.

use crate::{
    Error, Format, Limits, detect, folder,
    guarded::guarded,
    numbered,
    results::{self, Import},
    vocabulary,
};
use firstcheck_bundle::Bundle;
use firstcheck_model::{evidence::RunEvidence, recording::Recording, report::Unread};
use std::path::{Path, PathBuf};

/// Everything that could be read of some paths, and everything that could not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gathered {
    /// The runs, in the order of the paths.
    pub runs: Vec<RunEvidence>,
    /// What could not be read: whole files, or lines.
    pub unread: Vec<Unread>,
}

/// Reads all runs of a path into memory, events included: a bundle, a result file of another tool, or a folder that
/// holds some. A single file is read alone; a folder's metrics pages and endpoint answers are given to its runs.
///
/// # Errors
/// When nothing can be read: see [`Error`]. Lines that are lost are counted in the runs' warnings.
pub fn read_recordings(path: &Path) -> Result<Vec<Recording>, Error> {
    read_recordings_within(path, &Limits::default())
}

/// As [`read_recordings`], within `limits`.
///
/// # Errors
/// As [`read_recordings`].
pub fn read_recordings_within(path: &Path, limits: &Limits) -> Result<Vec<Recording>, Error> {
    recordings(path, limits).map(|(recordings, _)| recordings)
}

/// As [`read_recordings`], with what could not be read beside it: lines of a file, files of a folder.
///
/// # Errors
/// As [`read_recordings`].
pub fn gather_recordings(path: &Path) -> Result<(Vec<Recording>, Vec<Unread>), Error> {
    recordings(path, &Limits::default())
}

fn recordings(path: &Path, limits: &Limits) -> Result<(Vec<Recording>, Vec<Unread>), Error> {
    let contents = contents(path, limits)?;
    let mut recordings = Vec::new();
    for bundle in &contents.bundles {
        let mut recording = open(bundle, |bundle| bundle.recording())?;
        vocabulary::apply(&mut recording.signals);
        recordings.push(recording);
    }
    recordings.extend(contents.import.runs.into_iter().map(|run| run.recording));
    Ok((recordings, contents.import.unread))
}

/// Reads all runs of a path as evidence: their events are folded as they are read.
///
/// # Errors
/// As [`read_recordings`].
pub fn read_runs(path: &Path) -> Result<Vec<RunEvidence>, Error> {
    read_runs_within(path, &Limits::default())
}

/// As [`read_runs`], within `limits`.
///
/// # Errors
/// As [`read_recordings`].
pub fn read_runs_within(path: &Path, limits: &Limits) -> Result<Vec<RunEvidence>, Error> {
    runs(path, limits).map(|(runs, _)| runs)
}

/// Reads all runs of several paths; a path that cannot be read is in [`Gathered::unread`].
pub fn gather(paths: &[PathBuf]) -> Gathered {
    let mut gathered = Gathered::default();
    for path in paths {
        match runs(path, &Limits::default()) {
            Ok((mut runs, mut unread)) => {
                gathered.runs.append(&mut runs);
                gathered.unread.append(&mut unread);
            }
            Err(error) => gathered.unread.push(error.unread()),
        }
    }
    gathered
}

fn runs(path: &Path, limits: &Limits) -> Result<(Vec<RunEvidence>, Vec<Unread>), Error> {
    let contents = contents(path, limits)?;
    let mut runs = Vec::new();
    for path in &contents.bundles {
        let mut run = open(path, |bundle| bundle.evidence(path.display().to_string()))?;
        vocabulary::apply(&mut run.signals);
        runs.push(run);
    }
    let Import { runs: imported, unread } = contents.import;
    runs.extend(imported.into_iter().map(|run| run.recording.into_evidence(run.label)));
    Ok((runs, unread))
}

fn contents(path: &Path, limits: &Limits) -> Result<folder::Contents, Error> {
    let Some((file, number)) = numbered::split(path) else { return whole(path, limits) };
    let mut contents = whole(&file, limits)?;
    let runs = contents.import.runs.len();
    if number > runs {
        return Err(Error::NoSuchRun { path: file, number, runs });
    }
    contents.import.runs = contents.import.runs.into_iter().skip(number - 1).take(1).collect();
    Ok(contents)
}

fn whole(path: &Path, limits: &Limits) -> Result<folder::Contents, Error> {
    match detect(path, limits)? {
        Format::Folder => folder::read(path, limits),
        Format::Bundle => Ok(folder::Contents { bundles: vec![path.into()], ..folder::Contents::default() }),
        Format::Unknown => Err(Error::Unknown { path: path.into() }),
        format => Ok(folder::Contents { import: results::read(path, format, limits)?, ..folder::Contents::default() }),
    }
}

fn open<T>(path: &Path, read: impl FnOnce(&Bundle) -> Result<T, firstcheck_bundle::Error>) -> Result<T, Error> {
    guarded(path, Format::Bundle.name(), || {
        let failed = |source| Error::Bundle { path: path.into(), source: Box::new(source) };
        read(&Bundle::open(path).map_err(failed)?).map_err(failed)
    })
}
