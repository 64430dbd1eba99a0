//! Result files of other clients, one module a tool. Each gives recordings: what the format knows is kept, what it does
//! not know is marked.

mod aiperf;
mod contradictions;
mod failure;
mod figures;
mod guidellm;
mod inference_perf;
mod rows;
mod sglang;
mod vllm;

use crate::{Error, Format, Limits, guarded::guarded, guarded::read_all, json::lenient};
use firstcheck_model::{recording::Recording, report::Unread};
use std::path::{Path, PathBuf};

/// A run out of a file, with the name that reports give it.
pub(crate) struct Labelled {
    pub(crate) label: String,
    pub(crate) recording: Recording,
}

/// What a file gave.
#[derive(Default)]
pub(crate) struct Import {
    pub(crate) runs: Vec<Labelled>,
    pub(crate) unread: Vec<Unread>,
}

impl Import {
    /// Names the runs of one file: its path, and which run where there are several.
    fn of(path: &Path, mut recordings: Vec<Recording>) -> Self {
        recordings.iter_mut().for_each(contradictions::note);
        let several = recordings.len() > 1;
        let label = |n: usize| {
            let path = path.display();
            if several { format!("{path}#{}", n + 1) } else { path.to_string() }
        };
        let runs = recordings.into_iter().enumerate();
        Self { runs: runs.map(|(n, recording)| Labelled { label: label(n), recording }).collect(), unread: Vec::new() }
    }
}

/// Reads one result file of a known format.
pub(crate) fn read(path: &Path, format: Format, limits: &Limits) -> Result<Import, Error> {
    guarded(path, format.name(), || match format {
        Format::AiperfRecords => aiperf::records(path, None, limits),
        _ => {
            let bytes = read_all(path, limits)?;
            let bytes = lenient(&bytes);
            let recordings = match format {
                Format::VllmBench => vllm::read(path, &bytes)?,
                Format::SglangBench => sglang::read(path, &bytes)?,
                Format::AiperfSummary => aiperf::summary(path, &bytes)?,
                Format::Guidellm => guidellm::read(path, &bytes)?,
                Format::InferencePerf => inference_perf::read(path, &bytes)?,
                other => return Err(Error::NotARun { path: path.into(), what: other.name() }),
            };
            Ok(Import::of(path, recordings))
        }
    })
}

/// Reads AIPerf's records with the summary of the same folder, which knows how the load was offered.
pub(crate) fn read_aiperf(records: &Path, summary: &Path, limits: &Limits) -> Result<Import, Error> {
    guarded(records, Format::AiperfRecords.name(), || aiperf::records(records, Some(summary), limits))
}

/// The result files of a folder that stand for runs of their own: inference-perf's whole-run summary repeats its stages.
pub(crate) fn without_repeats(files: Vec<(PathBuf, Format)>, limits: &Limits) -> Result<Vec<(PathBuf, Format)>, Error> {
    let mut kept = Vec::new();
    let (perf, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|(_, f)| *f == Format::InferencePerf);
    let mut stages = Vec::new();
    let mut wholes = Vec::new();
    for (path, format) in perf {
        let bytes = read_all(&path, limits)?;
        let stage = inference_perf::is_stage(&lenient(&bytes));
        if stage { stages.push((path, format)) } else { wholes.push((path, format)) }
    }
    kept.extend(others);
    kept.extend(if stages.is_empty() { wholes } else { stages });
    kept.sort();
    Ok(kept)
}
