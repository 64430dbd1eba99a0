//! Paths and streams to evidence: the public entry.

use crate::{
    Error, Fetched, Limits,
    guarded::guarded,
    join::{self, BundleAt, Joined},
    numbered,
    unpack::Watch,
    vocabulary,
    walk::{Walk, Wanted},
};
use firstcheck_bundle::Bundle;
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    recording::Recording,
    report::{NotUnderstood, ReadRow, Unread},
    run::RunInfo,
    trace_span::TraceSpan,
};
use rayon::prelude::*;
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// Something to read.
pub enum Input<'i> {
    /// A file or a folder.
    Path(PathBuf),
    /// A stream with the name that reports give it (`-`).
    Stream(&'i str, &'i mut dyn Read),
    /// What a live source answered.
    Fetched(Fetched),
}

/// Everything that some inputs hold, and everything that could not be read or understood.
#[derive(Debug, Default)]
pub struct Collected {
    /// What they come to.
    pub evidence: Evidence,
    /// What was read.
    pub read: Vec<ReadRow>,
    /// What could not be read.
    pub unread: Vec<Unread>,
    /// What was read and not understood.
    pub not_understood: Vec<NotUnderstood>,
}

/// Takes everything that the inputs hold. Nothing fails as a whole: what cannot be read is listed.
pub fn collect(inputs: Vec<Input<'_>>, limits: &Limits) -> Collected {
    collected(inputs, limits, None)
}

/// As [`collect`]; `watch` is called now and then with the input at hand and how many bytes of it were taken.
pub fn collect_watched(inputs: Vec<Input<'_>>, limits: &Limits, watch: Watch) -> Collected {
    collected(inputs, limits, Some(watch))
}

fn collected(inputs: Vec<Input<'_>>, limits: &Limits, watch: Option<Watch>) -> Collected {
    let mut walk = Walk::new(*limits, Wanted::All, watch);
    for input in inputs {
        match input {
            Input::Path(path) => {
                if let Err(error) = walk.path(&path) {
                    walk.list(&error);
                }
            }
            Input::Stream(name, source) => walk.stream(name, source),
            Input::Fetched(fetched) => walk.fetched(&fetched),
        }
    }
    let mut intake = walk.intake;
    let Joined { bundles, runs, observed, stated, beside } = join::join(&mut intake);
    let mut evidence = Evidence { stated, ..Evidence::default() };
    let opened: Vec<_> = bundles.into_par_iter().map(|at| (evidence_of(&at), at)).collect();
    for (opened, bundle) in opened {
        match opened {
            Ok((run, traces)) => {
                if let Some(row) = intake.read.iter_mut().find(|row| Path::new(&row.path) == bundle.path) {
                    describe_bundle(row, &run);
                }
                evidence.runs.push(run);
                evidence.traces.extend(traces);
            }
            Err(error) => {
                intake.read.retain(|row| Path::new(&row.path) != bundle.path);
                intake.failed(error);
            }
        }
    }
    evidence.runs.extend(runs.into_iter().map(|run| run.recording.into_evidence(run.label)));
    evidence.runs.extend(observed);
    if evidence.runs.len() > 1 {
        evidence.runs.iter_mut().for_each(join::observed::set_aside);
    }
    beside.into_iter().for_each(|(path, piece)| join::put(&mut evidence, &path, piece));
    join::join_traces(&mut evidence);
    let not_understood = intake.take_not_understood();
    Collected { evidence, read: intake.read, unread: intake.unread, not_understood }
}

fn describe_bundle(row: &mut ReadRow, run: &RunEvidence) {
    let RunInfo { clock, window, fingerprint, .. } = &run.info;
    row.rows = run.requests.len() as u64;
    row.length_s = window.and_then(|window| window.length()).map(|length| length.0);
    let unix =
        |moment: firstcheck_model::moment::Moment| Some((clock.started_unix_ns? as f64 + moment.get()? as f64) * 1e-9);
    row.from_unix_s = window.and_then(|window| unix(window.start));
    row.to_unix_s = window.and_then(|window| unix(window.end));
    row.engine = fingerprint.get(firstcheck_model::fingerprint::field::ENGINE).map(str::to_owned);
    row.version = fingerprint.get(firstcheck_model::fingerprint::field::ENGINE_VERSION).map(str::to_owned);
}

/// Runs of some paths, and everything that could not be read.
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
    let found = Found::of(path, limits)?;
    let (bundles, unread) = found.open(|at| {
        let (mut recording, traces) = open(at, |bundle| Ok((bundle.recording()?, bundle.traces()?)))?;
        vocabulary::apply(&mut recording.signals);
        if recording.spans.is_empty() {
            recording.spans = join::stages(&traces, &recording.requests, &mut recording.info);
        }
        Ok(recording)
    })?;
    let runs = found.joined.runs.into_iter().map(|run| run.recording);
    Ok((bundles.into_iter().chain(runs).collect(), unread))
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
    let found = Found::of(path, limits)?;
    let (bundles, unread) = found.open(|at| evidence_of(at).map(|(run, _)| run))?;
    let runs = found.joined.runs.into_iter().map(|run| run.recording.into_evidence(run.label));
    Ok((bundles.into_iter().chain(runs).collect(), unread))
}

/// What a path holds of runs.
struct Found {
    joined: Joined,
    unread: Vec<Unread>,
}

impl Found {
    fn of(path: &Path, limits: &Limits) -> Result<Self, Error> {
        let (file, number) = match numbered::split(path) {
            Some((file, number)) => (file, Some(number)),
            None => (path.to_owned(), None),
        };
        let mut walk = Walk::new(*limits, Wanted::Runs, None);
        walk.path(&file)?;
        let mut intake = walk.intake;
        let mut joined = join::join(&mut intake);
        if let Some(number) = number {
            let runs = joined.runs.len();
            if number > runs {
                return Err(Error::NoSuchRun { path: file, number, runs });
            }
            joined.runs = joined.runs.into_iter().skip(number - 1).take(1).collect();
        }
        if joined.bundles.is_empty() && joined.runs.is_empty() {
            return Err(nothing(&file, intake));
        }
        Ok(Self { joined, unread: intake.unread })
    }

    /// Opens the bundles. One that is damaged is listed, unless nothing else is there.
    fn open<T: Send>(
        &self,
        read: impl Fn(&BundleAt) -> Result<T, Error> + Send + Sync,
    ) -> Result<(Vec<T>, Vec<Unread>), Error> {
        let (mut opened, mut unread, mut first) = (Vec::new(), self.unread.clone(), None);
        for run in self.joined.bundles.par_iter().map(read).collect::<Vec<_>>() {
            match run {
                Ok(run) => opened.push(run),
                Err(error) => {
                    unread.push(error.unread());
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if opened.is_empty() && self.joined.runs.is_empty() => Err(error),
            _ => Ok((opened, unread)),
        }
    }
}

/// Why a path gave no run.
fn nothing(path: &Path, mut intake: crate::frame::Intake) -> Error {
    let is_folder = path.is_dir();
    match (intake.errors.pop(), &intake.unread[..], &intake.read[..]) {
        (Some(error), [_], _) => error,
        (None, _, [only]) if !is_folder => Error::NotARun { path: path.into(), what: only.what.clone() },
        (_, [only], _) if is_folder || only.line.is_some() => {
            Error::malformed(Path::new(&only.path), only.line, "result", only.reason.clone())
        }
        _ if is_folder => Error::NothingFound { path: path.into(), unread: intake.unread.len() as u64 },
        _ => Error::Unknown { path: path.into() },
    }
}

/// A bundle's run, and the spans that were exported to it; the run has the stages that they tell of.
fn evidence_of(at: &BundleAt) -> Result<(RunEvidence, Vec<TraceSpan>), Error> {
    let (mut run, traces) = open(at, |bundle| Ok((bundle.evidence(at.path.display().to_string())?, bundle.traces()?)))?;
    vocabulary::apply(&mut run.signals);
    if run.spans.is_empty() {
        run.spans = join::stages(&traces, &run.requests, &mut run.info);
    }
    Ok((run, traces))
}

fn open<T>(at: &BundleAt, read: impl FnOnce(&Bundle) -> Result<T, firstcheck_bundle::Error>) -> Result<T, Error> {
    guarded(&at.path, "run bundle", || {
        let failed = |source| Error::Bundle { path: at.path.clone(), source: Box::new(source) };
        read(&Bundle::open(at.folder()).map_err(failed)?).map_err(failed)
    })
}
