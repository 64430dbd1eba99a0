//! Evidence: everything known of one side, typed.

use crate::{
    event::Streams,
    fingerprint::Fingerprint,
    measurement::Missing,
    request::{Request, Requests},
    run::RunInfo,
    signal::{Part, Series, Signal},
    span::StageSpan,
    unit::Seconds,
};
use serde::{Deserialize, Serialize};

/// One run as it can be reasoned about: its rows, with events folded.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEvidence {
    /// How reports name it: the path or address it came from.
    pub label: String,
    /// Everything but the rows.
    pub info: RunInfo,
    /// One row an offered request.
    pub requests: Requests,
    /// Folded events; `None` where the source has none.
    pub streams: Option<Streams>,
    /// Scraped series.
    pub signals: Vec<Series>,
    /// Stage spans.
    pub spans: Vec<StageSpan>,
}

impl RunEvidence {
    /// Requests of the measured window with their rows.
    pub fn window(&self) -> impl Iterator<Item = (usize, &Request)> {
        self.requests.in_window(self.info.window)
    }

    /// The longest gap of a row's stream.
    pub fn longest_gap(&self, row: usize) -> Option<Seconds> {
        self.streams.as_ref()?.longest_gap.get(row).copied().flatten()
    }

    /// Series that carry that part of a signal (one for each set of labels and page).
    pub fn series(&self, signal: Signal, part: Part) -> impl Iterator<Item = &Series> {
        self.signals.iter().filter(move |s| s.signal == Some(signal) && s.part == part)
    }
}

/// A kind of evidence that a check can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Requests with their times.
    Requests,
    /// Events of streams.
    Events,
    /// Scraped metrics of the engine.
    EngineMetrics,
    /// Per-request stage spans.
    Spans,
}

impl Kind {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests with their times",
            Self::Events => "events of streams",
            Self::EngineMetrics => "the engine's /metrics over the window",
            Self::Spans => "stage spans of the requests",
        }
    }

    /// The command that supplies it.
    pub const fn obtain(self) -> &'static str {
        match self {
            Self::Requests | Self::Events => "firstcheck run --url URL",
            Self::EngineMetrics => {
                "firstcheck run --url URL (it scrapes URL/metrics before, during and after the window)"
            }
            Self::Spans => "start the engine with its OpenTelemetry exporter on",
        }
    }
}

/// Everything known of one side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Its runs, and what it said of itself while others used it.
    pub runs: Vec<RunEvidence>,
    /// What it states of itself beside its runs.
    pub stated: Fingerprint,
}

impl Evidence {
    /// Runs, and nothing beside them.
    pub fn of(runs: Vec<RunEvidence>) -> Self {
        Self { runs, ..Self::default() }
    }

    /// Why evidence of that kind is missing, if it is.
    pub fn lacks(&self, kind: Kind) -> Option<Missing> {
        let there = self.runs.iter().any(|run| match kind {
            Kind::Requests => !run.requests.is_empty(),
            Kind::Events => run.streams.is_some(),
            Kind::EngineMetrics => run.signals.iter().any(|s| s.signal.is_some()),
            Kind::Spans => !run.spans.is_empty(),
        });
        (!there).then(|| Missing::not_given(kind.name(), kind.obtain()))
    }
}
