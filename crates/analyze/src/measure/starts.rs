//! How far each start of a side came, and what ended it.

use super::memory_ledger::StartLedger;
use crate::side::{Measure, Side};
use firstcheck_model::{
    engine_log::{EngineLog, Failure, FailureKind, StartPhase, Term},
    evidence::RunEvidence,
    measurement::Missing,
};

/// The last start in each log of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct Starts {
    /// In the order of the logs.
    pub starts: Vec<Start>,
}

/// The last start in a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The log, as reports name it.
    pub log: String,
    /// What became of it.
    pub outcome: StartOutcome,
}

/// What became of a start.
#[derive(Debug, Clone, PartialEq)]
pub enum StartOutcome {
    /// The server took requests.
    Ready {
        /// Line that says so; 0 where the start is not in the log, which goes on with a server that serves.
        line: u64,
    },
    /// It failed.
    Failed(Box<FailedStart>),
    /// The log ends before either.
    Unfinished {
        /// The last step that was reached.
        reached: Option<StartPhase>,
    },
}

/// A start that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedStart {
    /// What was being done.
    pub stage: Stage,
    /// The failure behind all others.
    pub root: Failure,
    /// Where memory went until then, if the log tells any of it.
    pub ledger: Option<StartLedger>,
}

/// What an engine does while it starts, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Reading options.
    Configuration,
    /// Taking the device and meeting the other ranks.
    Device,
    /// Loading weights.
    Weights,
    /// Profiling memory.
    Profile,
    /// Sizing and allocating the KV cache.
    KvCache,
    /// Capturing graphs.
    Capture,
    /// Warming up.
    WarmUp,
    /// Opening the server.
    Server,
}

impl Stage {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Configuration => "reading its configuration",
            Self::Device => "taking the device",
            Self::Weights => "loading weights",
            Self::Profile => "profiling memory",
            Self::KvCache => "sizing the KV cache",
            Self::Capture => "capturing graphs",
            Self::WarmUp => "warming up",
            Self::Server => "opening its server",
        }
    }

    /// The stage that a failure ended: by what it says, else by the lines before it.
    fn of(log: &EngineLog, failure: &Failure) -> Self {
        match failure.kind {
            FailureKind::Configuration => return Self::Configuration,
            FailureKind::FreeMemory => return Self::Device,
            FailureKind::NoKvMemory | FailureKind::KvTooSmall | FailureKind::KvRequestTooLarge => return Self::KvCache,
            FailureKind::SamplerWarmUp => return Self::WarmUp,
            _ => {}
        }
        let phase = |phase| log.last_start().find(|one| one.phase == phase && one.line < failure.line);
        let term = |term| log.memory.iter().any(|s| s.term == term && s.line >= log.began && s.line < failure.line);
        let captures = failure.text.contains("Capture cuda graph failed");
        if phase(StartPhase::Initialised).is_some() {
            Self::Server
        } else if phase(StartPhase::KvCache).is_some() || phase(StartPhase::Graphs).is_some() || captures {
            match (term(Term::GraphsActual), phase(StartPhase::Graphs).is_some() || captures) {
                (true, _) => Self::WarmUp,
                (false, true) => Self::Capture,
                (false, false) => Self::KvCache,
            }
        } else if term(Term::Weights) || phase(StartPhase::Compile).is_some() || phase(StartPhase::Profile).is_some() {
            Self::Profile
        } else if let Some(loading) = phase(StartPhase::Weights) {
            // A line with a length says that loading ended.
            if loading.length.is_some() { Self::Profile } else { Self::Weights }
        } else if failure.process.as_deref().is_some_and(|process| process.contains("Worker"))
            || phase(StartPhase::Distributed).is_some()
        {
            Self::Device
        } else {
            Self::Configuration
        }
    }
}

impl Measure for Starts {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let serves = side.evidence.runs.iter().any(RunEvidence::shows_an_engine);
        let start = |log: &EngineLog| Start { log: log.label.clone(), outcome: outcome(log, serves) };
        Ok(Self { starts: side.evidence.logs.iter().map(start).collect() })
    }
}

fn outcome(log: &EngineLog, serves: bool) -> StartOutcome {
    let ready = log.last_start().find(|phase| phase.phase == StartPhase::Ready).map(|phase| phase.line);
    if let Some(line) = ready {
        return StartOutcome::Ready { line };
    }
    // Statistics lines without a start before them come from a server that serves.
    if !log.series.is_empty() && log.last_start().next().is_none() {
        return StartOutcome::Ready { line: 0 };
    }
    // Ranks that wait for each other hang, in a start or while they serve: that is no refusal.
    let hangs = |failure: &Failure| log.collective_timeouts.iter().any(|timeout| timeout.line == failure.line);
    let Some(root) = root(log).filter(|root| !hangs(root)) else {
        return if serves {
            StartOutcome::Ready { line: 0 }
        } else {
            StartOutcome::Unfinished { reached: log.reached() }
        };
    };
    StartOutcome::Failed(Box::new(FailedStart { stage: Stage::of(log, &root), root, ledger: StartLedger::of(log) }))
}

/// The failure behind all others. Where memory ran out in the warm-up of the sampler, what says so comes after it, and what
/// the device held stands in the first.
fn root(log: &EngineLog) -> Option<Failure> {
    let root = log.root_cause()?.clone();
    let warm_up = log.failures.iter().find(|f| f.line > root.line && f.kind == FailureKind::SamplerWarmUp);
    match warm_up.filter(|_| root.kind == FailureKind::OutOfMemory) {
        Some(warm_up) => Some(Failure { memory: warm_up.memory.or(root.memory), ..warm_up.clone() }),
        None => Some(root),
    }
}
