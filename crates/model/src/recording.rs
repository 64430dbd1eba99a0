//! A whole run in memory, as the simulator returns it and as importers read it.

use crate::{
    event::{self, Event},
    evidence::RunEvidence,
    request::Requests,
    run::{Detail, RunInfo},
    signal::Series,
    span::StageSpan,
};

/// A run with all its rows. For what fits in memory: simulated runs and foreign result files. A measured run goes to
/// disk as it happens and is folded while read.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Everything but the rows.
    pub info: RunInfo,
    /// One row an offered request.
    pub requests: Requests,
    /// Events; in order within each request.
    pub events: Vec<Event>,
    /// Scraped series.
    pub signals: Vec<Series>,
    /// Stage spans.
    pub spans: Vec<StageSpan>,
}

impl Recording {
    /// What can be concluded from: the rows with their events folded. `label` names the run in reports (its path).
    pub fn into_evidence(self, label: impl Into<String>) -> RunEvidence {
        let streams = matches!(self.info.detail, Detail::Events)
            .then(|| event::fold(&self.events, &self.requests, self.info.window));
        RunEvidence {
            label: label.into(),
            info: self.info,
            requests: self.requests,
            streams,
            signals: self.signals,
            spans: self.spans,
        }
    }
}
