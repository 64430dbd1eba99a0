//! What can go wrong in an experiment.

use std::path::PathBuf;

/// An experiment that could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ledger or a folder could not be read or written.
    #[error("cannot {action} {}", .path.display())]
    File {
        /// `create`, `read`, `append to`.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A line of the ledger that is no entry.
    #[error("{}:{line}: not a ledger entry; remove the line or start in a new folder", .path.display())]
    Ledger {
        /// The ledger.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The ledger belongs to another experiment.
    #[error("{} is the ledger of another experiment ({differences}): ask for the same, or name a new folder", .path.display())]
    OtherPlan {
        /// The ledger.
        path: PathBuf,
        /// What differs.
        differences: String,
    },
    /// The ledger does not begin with how its experiment began.
    #[error("{}:1: a ledger begins with its plan; this one does not: name a new folder", .path.display())]
    NoBeginning {
        /// The ledger.
        path: PathBuf,
    },
    /// The ledger is in use.
    #[error("{} is in use by another firstcheck: wait for it, or name a new folder", .path.display())]
    InUse {
        /// The ledger.
        path: PathBuf,
    },
    /// Too few versions for a search.
    #[error("a search takes two versions or more, in order, the first known to be good")]
    Versions,
    /// What was measured cannot be computed with.
    #[error("cannot compute with what was measured")]
    Statistics(#[from] firstcheck_stats::Error),
    /// The plan does not balance.
    #[error(transparent)]
    Plan(#[from] crate::plan::PlanError),
    /// The experiment was told to end, or a run of it was.
    #[error("interrupted: {reason}")]
    Interrupted {
        /// Why.
        reason: String,
    },
    /// Base answered nothing, so that no warm-up can be learnt from it.
    #[error(
        "base answered none of {requests} requests in full, so that it cannot be seen how long it takes to warm up: mend it, or give --warm-up"
    )]
    NothingAnswered {
        /// How many were offered.
        requests: usize,
    },
    /// What the caller makes failed: the trace of a length of warm-up.
    #[error("cannot make the trace")]
    Trace(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A run on a deployment that no step has started.
    #[error("a run was asked for before its deployment was started")]
    NotStarted,
    /// A file of calibrations that cannot be used.
    #[error("{} is no file of calibrations ({why}): remove it, or name another with --calibration", .path.display())]
    Calibration {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A program that could not be started.
    #[error("cannot start {program}: is it installed, and its path right?")]
    Start {
        /// Which.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A hook that failed.
    #[error("the command {command} failed ({how}); {log}")]
    Hook {
        /// Which.
        command: String,
        /// How it ended.
        how: String,
        /// Its last words.
        log: String,
    },
    /// A server that ended before it was ready.
    #[error("{role} ended before it was ready ({status}); {log}")]
    ServerEnded {
        /// Which side.
        role: String,
        /// How it ended.
        status: String,
        /// Its last words.
        log: String,
    },
    /// A server that does not get ready.
    #[error("{role} was not ready after {seconds} s ({last}): mend it, or allow more with ready_timeout; {log}")]
    NotReady {
        /// Which side.
        role: String,
        /// How long was waited.
        seconds: u64,
        /// What the last question was answered.
        last: String,
        /// Its last words.
        log: String,
    },
    /// A server that serves another model than is asked for.
    #[error("{address} serves {served}, not {asked}: give its name with --model")]
    OtherModel {
        /// Where.
        address: String,
        /// Model asked for.
        asked: String,
        /// Models that it serves.
        served: String,
    },
    /// A deployment that is not started here and does not answer, found before anything was run.
    #[error("{name} does not answer, and nothing was run: start its server, or mend its address")]
    NoAnswer {
        /// Which side or arm.
        name: String,
        /// Why.
        #[source]
        source: Box<firstcheck_load::Error>,
    },
    /// A deployment that answers and names no model, where none was asked for; found before anything was run.
    #[error("{name} at {address} does not say which model it serves, and nothing was run: name one with --model")]
    NoModel {
        /// Which side or arm.
        name: String,
        /// Where.
        address: String,
    },
    /// Another server listens where one is to be started.
    #[error(
        "something listens on {address} already, and would be measured instead of what is started: stop it, or choose another port"
    )]
    PortTaken {
        /// Where.
        address: String,
    },
    /// A host without an address.
    #[error("cannot find the host of {address}")]
    Resolve {
        /// Whose.
        address: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The workload could not be made.
    #[error("cannot make the workload")]
    Workload(#[from] firstcheck_workload::error::Error),
    /// The simulated engine refused.
    #[error("the simulated engine failed")]
    Simulation(#[from] firstcheck_sim::SimError),
    /// The simulated engine's server failed.
    #[error("the simulated engine's server failed")]
    Serve(#[from] firstcheck_sim::serve::ServeError),
    /// A bundle could not be written or read.
    #[error("cannot write or read a bundle")]
    Bundle(#[from] firstcheck_bundle::Error),
    /// A run could not be read back.
    #[error("cannot read a run back")]
    Ingest(#[from] firstcheck_ingest::Error),
    /// A live run failed.
    #[error("the live run failed")]
    Load(#[from] firstcheck_load::Error),
    /// A server's address could not be read.
    #[error("cannot read the server's address")]
    Address(#[source] firstcheck_observe::Error),
    /// The driver's runtime could not start.
    #[error("cannot start a runtime for the live pair")]
    Runtime(#[source] std::io::Error),
}
