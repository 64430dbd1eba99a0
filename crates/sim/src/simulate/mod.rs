//! A whole run in virtual time: the same trace that a client would offer to a server, without a server.

mod account;
mod artefacts;
mod caller;
mod drive;
mod dumps;
mod fingerprint;
mod machine;
mod plan;
mod prompts;
mod record;
mod scrape;
mod steps;
mod tracing;
mod truth;

pub use crate::emit::attachment::Attachment;
pub use account::StageAccount;
pub use artefacts::Artefacts;
pub use truth::{FaultTruth, ReplicaTruth, RequestTruth, Seen, Truth};

use crate::{
    config::EngineConfig,
    deployment::{DeploymentError, Scenario},
    emit::outputs::Trainer,
    language::asking::Asking,
};
use firstcheck_model::{moment::Moment, recording::Recording, run::RunId, slo::Slo, unit::Seconds};
use firstcheck_workload::trace::Trace;

/// How a run is simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulateOptions {
    /// Draws the spread of step times: replicates differ by it.
    pub seed: u64,
    /// Identity of the run.
    pub run: RunId,
    /// Time before the window.
    pub warm_up: Seconds,
    /// Time between two samples of the metrics page.
    pub scrape_interval: Seconds,
    /// End of the window. `None`: just after the last intended send where the trace fixes all sends, else when the last
    /// request ended.
    pub window_end: Option<Moment>,
    /// The SLO the run is measured under.
    pub slo: Option<Slo>,
    /// What is written beside the recording.
    pub artefacts: Artefacts,
    /// How the client samples where outputs are compared: then they are recorded, in an attachment. `None`: it asks for
    /// the likeliest tokens and keeps none.
    pub asking: Option<Asking>,
    /// A trainer that computes log probabilities of what is recorded, in an attachment.
    pub trainer: Option<Trainer>,
    /// How long the client waits for answers when nothing moves any more.
    pub patience: Seconds,
    /// Whether every event is recorded: without them a run of millions of requests fits into memory.
    pub events: bool,
}

impl SimulateOptions {
    /// No warm-up, a sample every 5 s, 60 s of patience, every event, no logs.
    pub fn new(seed: u64, run: impl Into<String>) -> Self {
        Self {
            seed,
            run: RunId(run.into()),
            warm_up: Seconds(0.0),
            scrape_interval: Seconds(5.0),
            window_end: None,
            slo: None,
            artefacts: Artefacts::default(),
            asking: None,
            trainer: None,
            patience: Seconds(60.0),
            events: true,
        }
    }
}

/// A recording with what really happened behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// What a client and a scraper would have recorded.
    pub recording: Recording,
    /// Files beside it, as [`SimulateOptions::artefacts`], [`SimulateOptions::asking`] and [`SimulateOptions::trainer`] ask
    /// for.
    pub attachments: Vec<Attachment>,
    /// What the engine knows and a client cannot see.
    pub truth: Truth,
}

/// Why a run cannot be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The deployment would not start.
    #[error(transparent)]
    Deployment(#[from] DeploymentError),
    /// Requests wait for a free stream, but the trace has no stream.
    #[error("request {row} waits for a free stream, but the trace's arrivals are not a closed loop with streams")]
    NoStreams {
        /// The first such request.
        row: usize,
    },
    /// A turn that follows a turn that is not before it.
    #[error("request {row} follows request {after}, which does not come before it")]
    TurnOrder {
        /// The turn.
        row: usize,
        /// What it follows.
        after: u32,
    },
    /// More requests than rows can be numbered.
    #[error("the trace has {0} requests, more than a run can number")]
    TooMany(usize),
    /// A duration that is not one.
    #[error("{name} is {seconds} s, but must be {expected}")]
    Duration {
        /// Which.
        name: &'static str,
        /// Its value.
        seconds: f64,
        /// What it may be.
        expected: &'static str,
    },
}

/// Runs `trace` against an engine in virtual time and returns what a client and a scraper would have recorded. Equal
/// arguments give equal recordings, bit by bit.
///
/// # Errors
/// A configuration with which no engine would start, or a trace or options that cannot be played.
pub fn simulate(config: &EngineConfig, trace: &Trace, options: &SimulateOptions) -> Result<Recording, SimError> {
    Ok(simulate_with_truth(config, trace, options)?.recording)
}

/// As [`simulate`], with what really happened.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with_truth(
    config: &EngineConfig,
    trace: &Trace,
    options: &SimulateOptions,
) -> Result<Simulated, SimError> {
    simulate_scenario(&Scenario::single(config.clone()), trace, options)
}

/// Runs `trace` against a deployment that may change on its way. Equal arguments give equal results, bit by bit.
///
/// # Errors
/// A deployment that would not start, or a trace or options that cannot be played.
pub fn simulate_scenario(scenario: &Scenario, trace: &Trace, options: &SimulateOptions) -> Result<Simulated, SimError> {
    options.validate()?;
    let mut finished = drive::Drive::new(scenario, trace, options)?.run();
    finished.truth.faults = scenario.faults().to_vec();
    Ok(record::assemble(finished, scenario, trace, options))
}

impl SimulateOptions {
    fn validate(&self) -> Result<(), SimError> {
        let checks = [
            ("warm_up", self.warm_up.0, self.warm_up.0 >= 0.0, "zero or more"),
            ("patience", self.patience.0, self.patience.0 >= 0.0, "zero or more"),
            ("scrape_interval", self.scrape_interval.0, self.scrape_interval.0 >= 1e-3, "at least 1 ms"),
        ];
        for (name, seconds, in_range, expected) in checks {
            if !in_range || seconds > 1e9 {
                return Err(SimError::Duration { name, seconds, expected });
            }
        }
        Ok(())
    }
}

/// Whole nanoseconds of a validated duration.
fn nanoseconds(duration: Seconds) -> i64 {
    nanoseconds_of(duration.0)
}

/// Whole nanoseconds of validated seconds.
fn nanoseconds_of(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
