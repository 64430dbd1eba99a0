//! A folder as engineers leave it: results of a benchmark, metrics pages before and after, answers of `/version`,
//! `/v1/models` and `/server_info` beside them.

mod pages;
mod scan;

use crate::{
    Error, Format, Limits, fingerprint,
    guarded::read_all,
    results::{self, Import},
};
use firstcheck_model::{fingerprint::Fingerprint, run::RunInfo};
use pages::Pages;
use scan::Scan;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// What a folder holds: bundles to open, and runs of other tools.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) bundles: Vec<PathBuf>,
    pub(crate) import: Import,
}

/// Reads a folder. Results in the folder itself stand for it; only without any are the folders below looked into.
pub(crate) fn read(folder: &Path, limits: &Limits) -> Result<Contents, Error> {
    let mut contents = Contents::default();
    descend(folder, limits, limits.depth, &mut contents)?;
    if contents.bundles.is_empty() && contents.import.runs.is_empty() {
        if let [only] = &contents.import.unread[..] {
            return Err(Error::malformed(Path::new(&only.path), only.line, "result", only.reason.clone()));
        }
        let unread = contents.import.unread.len() as u64;
        return Err(Error::NothingFound { path: folder.into(), unread });
    }
    Ok(contents)
}

fn descend(folder: &Path, limits: &Limits, depth: usize, contents: &mut Contents) -> Result<(), Error> {
    let mut scan = Scan::of(folder, limits)?;
    contents.import.unread.append(&mut scan.unread);
    let results = std::mem::take(&mut scan.results);
    if results.is_empty() && scan.bundles.is_empty() {
        for below in scan.folders.iter().filter(|_| depth > 0) {
            descend(below, limits, depth - 1, contents)?;
        }
        return Ok(());
    }
    contents.bundles.append(&mut scan.bundles);
    let mut here = read_results(results, limits)?;
    let stated = stated(&scan, limits, &mut here);
    let pages = Pages::read(&scan.pages, limits, &mut here.unread)?;
    for run in &mut here.runs {
        pages.attach(&mut run.recording);
        merge(&stated, &mut run.recording.info);
    }
    contents.import.runs.append(&mut here.runs);
    contents.import.unread.append(&mut here.unread);
    Ok(())
}

fn read_results(files: Vec<(PathBuf, Format)>, limits: &Limits) -> Result<Import, Error> {
    let mut all = Import::default();
    let mut files = results::without_repeats(files, limits)?;
    let of = |format: Format, files: &[(PathBuf, Format)]| -> Vec<PathBuf> {
        files.iter().filter(|(_, f)| *f == format).map(|(path, _)| path.clone()).collect()
    };
    if let ([records], [summary]) = (&of(Format::AiperfRecords, &files)[..], &of(Format::AiperfSummary, &files)[..]) {
        files.retain(|(path, _)| path != records && path != summary);
        take(results::read_aiperf(records, summary, limits), &mut all);
    }
    for (path, format) in files {
        take(results::read(&path, format, limits), &mut all);
    }
    drop_repeats(&mut all);
    Ok(all)
}

fn take(import: Result<Import, Error>, all: &mut Import) {
    match import {
        Ok(mut import) => {
            all.runs.append(&mut import.runs);
            all.unread.append(&mut import.unread);
        }
        Err(error) => all.unread.push(error.unread()),
    }
}

/// A run that stands in two files of the folder (a sweep's collected results) counts once.
fn drop_repeats(all: &mut Import) {
    let mut first: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<results::Labelled> = Vec::with_capacity(all.runs.len());
    for run in all.runs.drain(..) {
        match first.get(&run.recording.info.id.0) {
            Some(at) => kept[*at].recording.info.warnings.push(format!("the same run is also in {}", run.label)),
            None => {
                first.insert(run.recording.info.id.0.clone(), kept.len());
                kept.push(run);
            }
        }
    }
    all.runs = kept;
}

/// What the endpoints' answers beside the results say.
fn stated(scan: &Scan, limits: &Limits, import: &mut Import) -> Fingerprint {
    let mut stated = Fingerprint::default();
    for (path, format) in &scan.answers {
        let from = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        match read_all(path, limits) {
            Ok(json) => {
                let _understood = match format {
                    Format::Version => fingerprint::from_version(&json, &from, &mut stated),
                    Format::Models => fingerprint::from_models(&json, &from, &mut stated),
                    _ => fingerprint::from_server_info(&json, &from, &mut stated),
                };
            }
            Err(error) => import.unread.push(error.unread()),
        }
    }
    stated
}

/// The deployment's own word counts more than what the client was told.
fn merge(stated: &Fingerprint, info: &mut RunInfo) {
    for (name, value) in &stated.0 {
        info.fingerprint.0.insert(name.clone(), value.clone());
    }
}
