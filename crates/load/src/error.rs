//! Why a run cannot be made. What befalls single requests is recorded with them and is no error of the run.

use crate::{protocol::request::HeaderError, schedule::plan::PlanError, wire::peer::ConnectionError};

/// Why a run cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workload cannot be offered.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A header cannot be sent.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The deployment, one of its pages or a certificate cannot be used.
    #[error(transparent)]
    Observe(#[from] firstcheck_observe::Error),
    /// The deployment's name cannot be resolved.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The deployment answers nothing at all.
    #[error("{address} does not answer: {notes}")]
    NoAnswer {
        /// Where it was asked.
        address: String,
        /// What came of asking.
        notes: String,
    },
    /// The deployment does not say which models it serves, and none was named.
    #[error("{notes}; so {address} does not say which model it serves: see to the server, or name a model")]
    NoModel {
        /// Where it was asked.
        address: String,
        /// What came of asking.
        notes: String,
    },
    /// The bundle cannot be written.
    #[error(transparent)]
    Bundle(#[from] firstcheck_bundle::Error),
    /// The system gives no thread, timer or reactor.
    #[error("cannot start the client: {0}")]
    System(#[from] std::io::Error),
    /// A thread of the client panicked: a fault of this program.
    #[error("the {thread} thread of the client panicked; this is a fault of firstcheck")]
    Panicked {
        /// Which one.
        thread: &'static str,
    },
}
