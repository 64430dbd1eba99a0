//! Result files of other clients, one module a tool. Each gives recordings: what the format knows is kept, what it does
//! not know is marked.

pub(crate) mod aiperf;
pub(crate) mod answers;
mod contradictions;
mod failure;
mod figures;
pub(crate) mod guidellm;
pub(crate) mod inference_perf;
mod lists;
mod outcome;
mod rows;
pub(crate) mod sglang;
mod stated;
pub(crate) mod vllm;

pub(crate) use aiperf::Records as AiperfRecords;

use crate::{
    Error,
    frame::{Artefact, Intake, Piece, Reading},
    join::Labelled,
    json::lenient,
};
use firstcheck_model::{
    moment::{Moment, Window},
    recording::Recording,
    request::Request,
};
use std::path::Path;

/// Reads all recordings of a result that is one piece of JSON, or several in a row.
fn take(
    artefact: &mut Artefact<'_>,
    intake: &mut Intake,
    read: fn(&Path, &[u8]) -> Result<Vec<Recording>, Error>,
) -> Result<Reading, Error> {
    let bytes = artefact.all(intake.limits())?;
    let runs = labelled(artefact.path(), read(artefact.path(), &lenient(&bytes))?);
    let reading = reading(&runs);
    for run in runs {
        intake.give(Piece::Run(Box::new(run)));
    }
    Ok(reading)
}

/// Names the runs of one file: its path, and which run where there are several.
fn labelled(path: &Path, recordings: Vec<Recording>) -> Vec<Labelled> {
    let several = recordings.len() > 1;
    let mut runs: Vec<Labelled> = recordings.into_iter().map(|recording| one(path, recording)).collect();
    if several {
        for (n, run) in runs.iter_mut().enumerate() {
            run.label = format!("{}#{}", run.label, n + 1);
        }
    }
    runs
}

/// A run with what the file says twice and differently noted.
fn one(path: &Path, mut recording: Recording) -> Labelled {
    contradictions::note(&mut recording);
    Labelled { label: path.display().to_string(), recording }
}

/// What a report says of a file of runs.
fn reading(runs: &[Labelled]) -> Reading {
    let rows: usize = runs.iter().map(|run| run.recording.requests.len()).sum();
    let (rows, unit) = if rows == 0 { (runs.len(), "summaries") } else { (rows, "requests") };
    let mut reading = Reading { rows: rows as u64, unit, ..Reading::default() };
    if let [Labelled { recording, .. }] = runs {
        reading.clock = Some(recording.info.clock);
        reading.window = recording.info.window.or_else(|| span(&recording.requests.0));
    }
    reading
}

/// From the first send to the last end.
fn span(requests: &[Request]) -> Option<Window> {
    let reached = |moment: &Moment| moment.reached();
    let start = requests.iter().map(|r| r.sent).filter(reached).min()?;
    let end = requests.iter().flat_map(|r| [r.done, r.last_token]).filter(reached).max()?;
    Some(Window { start, end })
}
