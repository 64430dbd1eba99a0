//! Pages and answers of a test, read as what was observed.

use crate::collect::stream;
use firstcheck_ingest::{Collected, Limits};
use firstcheck_model::{
    evidence::RunEvidence,
    signal::{Part, Signal},
};

pub fn read(text: &str) -> Collected {
    read_within(text, &Limits::default())
}

pub fn read_within(text: &str, limits: &Limits) -> Collected {
    stream(text.as_bytes(), limits)
}

/// The one run that there is.
pub fn only(collected: &Collected) -> &RunEvidence {
    assert_eq!(collected.evidence.runs.len(), 1, "{:?}", collected.unread);
    &collected.evidence.runs[0]
}

/// What all series of a signal grew by.
pub fn growth(run: &RunEvidence, signal: Signal) -> f64 {
    run.series(signal, Part::Value).map(|series| series.delta(run.info.window).unwrap().value).sum()
}
