//! Measurements, the facts that reports show, where each comes from, and what is missing.

use crate::{moment::Moment, run::RunId, unit::Unit};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A value with its unit, interval, sample count and source.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement<U> {
    /// The value.
    pub value: U,
    /// Its interval, where one was computed.
    pub interval: Option<(U, U)>,
    /// Samples behind it.
    pub n: u64,
    /// Where it comes from.
    pub source: Source,
}

/// Where a number comes from, so that it can be followed back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Lines of a file, first inclusive, last exclusive, counted from 1.
    Lines {
        /// The file as it was given.
        path: String,
        /// Line range.
        lines: Range<u32>,
    },
    /// A metric series over a span of a run's clock.
    Series {
        /// Run (or file) it was scraped in.
        run: RunId,
        /// Raw name.
        name: String,
        /// Labels as a page writes them.
        labels: String,
        /// First sample, nanoseconds on the run's clock.
        from_ns: Moment,
        /// Last sample, nanoseconds on the run's clock.
        to_ns: Moment,
    },
    /// Requests of a run: how many, and some of their rows.
    Requests {
        /// The run.
        run: RunId,
        /// Number of requests used.
        count: u64,
        /// Rows worth looking at (at most a handful).
        rows: Vec<u32>,
    },
    /// A run's own description (`run.json`).
    Run {
        /// The run.
        run: RunId,
        /// Field of the description.
        field: String,
    },
    /// Computed from other sources.
    Derived {
        /// By which formula or measurement.
        by: String,
        /// From what.
        from: Vec<Source>,
    },
}

impl Source {
    /// One line of a file, counted from 1. Lines are kept as 32 bits: one beyond them is shown as the last of these.
    pub fn line(path: impl Into<String>, line: u64) -> Self {
        let line = u32::try_from(line).unwrap_or(u32::MAX - 1).min(u32::MAX - 1);
        Self::Lines { path: path.into(), lines: line..line + 1 }
    }
}

/// A sentence with its number: what a finding shows for or against a cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// The sentence.
    pub text: String,
    /// Its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The number's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The number's interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Samples behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// Where it comes from.
    pub source: Source,
}

impl Fact {
    /// A sentence without a number.
    pub fn told(text: impl Into<String>, source: Source) -> Self {
        Self { text: text.into(), value: None, unit: None, interval: None, n: None, source }
    }
}

impl<U: Unit> Measurement<U> {
    /// The measurement as a fact: the unit becomes text here, at the door of the report, and nowhere earlier.
    pub fn fact(&self, text: impl Into<String>) -> Fact {
        Fact {
            text: text.into(),
            value: Some(self.value.into()),
            unit: Some(U::NAME.into()),
            interval: self.interval.map(|(low, high)| (low.into(), high.into())),
            n: Some(self.n),
            source: self.source.clone(),
        }
    }
}

/// Something that was needed and is not there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    /// What is missing.
    pub what: String,
    /// Why.
    pub why: Why,
    /// The command or artefact that would supply it.
    pub obtain: String,
}

/// Why something is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// No artefact of that kind was given.
    NotGiven,
    /// The artefact is there, but does not say it.
    NotExposed,
    /// Too few samples.
    TooFew {
        /// Samples there are.
        have: u64,
        /// Samples it takes.
        need: u64,
    },
    /// Too old for the window.
    Stale,
    /// A ratio's denominator did not grow.
    ZeroDenominator,
    /// The window is too short to tell.
    TooShort,
    /// What there is holds traffic that is not the window's, and nothing tells the two apart.
    Mixed,
    /// It could not be read.
    Unreadable,
}

impl Missing {
    /// Missing because no artefact of that kind was given.
    pub fn not_given(what: impl Into<String>, obtain: impl Into<String>) -> Self {
        Self { what: what.into(), why: Why::NotGiven, obtain: obtain.into() }
    }

    /// Missing because what was given does not say it.
    pub fn not_exposed(what: impl Into<String>, obtain: impl Into<String>) -> Self {
        Self { what: what.into(), why: Why::NotExposed, obtain: obtain.into() }
    }
}
