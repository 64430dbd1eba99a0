//! A format: how it is recognised, what is taken of it, who reads it.

use super::{Artefact, Head, Intake};
use crate::Error;
use firstcheck_model::{moment::Window, run::Clock};
use std::{collections::BTreeSet, fmt};

/// How sure a format is of an artefact. The surest wins; of equals, the one that the registry names first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It could be.
    Weak,
    /// It looks like it.
    Likely,
    /// It is.
    Certain,
}

impl Confidence {
    /// Certain, if `it_is`.
    pub(crate) fn certain_if(it_is: bool) -> Option<Self> {
        it_is.then_some(Self::Certain)
    }
}

/// Formats of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Results of a benchmark.
    Results,
    /// Metrics of an engine.
    Metrics,
    /// Answers of an engine's endpoints.
    Answers,
    /// Logs.
    Logs,
    /// What a host and its devices say.
    Host,
    /// Files of a model.
    Model,
    /// Stacks of processes that hang.
    Stacks,
    /// Spans of requests.
    Spans,
    /// Traces of a profiler.
    Traces,
    /// What is offered.
    Workloads,
    /// How something was set up.
    Settings,
    /// Anything else.
    Other,
}

impl Group {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Results => "Results of benchmarks",
            Self::Metrics => "Metrics",
            Self::Answers => "Answers of endpoints",
            Self::Logs => "Logs",
            Self::Host => "Hosts and devices",
            Self::Model => "Models",
            Self::Stacks => "Hangs",
            Self::Spans => "Spans",
            Self::Traces => "Traces",
            Self::Workloads => "Workloads",
            Self::Settings => "Settings",
            Self::Other => "Others",
        }
    }
}

/// What is done with an artefact of a format.
#[derive(Clone, Copy)]
pub enum Action {
    /// It becomes evidence.
    Read(ReadFn),
    /// It is known, and read elsewhere: where.
    Later(&'static str),
    /// It is known, and nothing is taken of it: why.
    OutOfScope(&'static str),
}

/// Reads an artefact into the intake. What was given before an error stays.
pub(crate) type ReadFn = fn(&mut Artefact<'_>, &mut Intake) -> Result<Reading, Error>;

/// A format as the registry lists it.
pub struct Format {
    /// Its name for programs.
    pub id: &'static str,
    /// What kind it is of.
    pub group: Group,
    /// In words.
    pub name: &'static str,
    /// Versions that were read.
    pub versions: &'static str,
    /// What becomes evidence.
    pub takes: &'static str,
    /// Whether an artefact that begins like this is one.
    pub recognise: fn(&Head<'_>) -> Option<Confidence>,
    /// What is done with it.
    pub action: Action,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// What a report says of an artefact that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// How much was read.
    pub rows: u64,
    /// Of what: `lines`, `samples`, `requests`.
    pub unit: &'static str,
    /// The clock of `window`.
    pub clock: Option<Clock>,
    /// The span of time it covers.
    pub window: Option<Window>,
    /// The engine it speaks of.
    pub engine: Option<String>,
    /// The engine's version.
    pub version: Option<String>,
    /// The replicas and ranks it tells apart.
    pub replicas: BTreeSet<String>,
    /// What a reader should know of it.
    pub notes: Vec<String>,
}
