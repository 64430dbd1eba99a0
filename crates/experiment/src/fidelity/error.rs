//! What can go wrong with a recorded run.

use std::path::PathBuf;

/// A recorded run that cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FidelityError {
    /// A file could not be read.
    #[error("cannot read {}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A line or file that is not what it should be.
    #[error("{}:{line}: not the JSON that is expected here", .path.display())]
    Json {
        /// Which file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The workload is not the one that was served.
    #[error("{}: {reason}", .path.display())]
    Workload {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A setup that no preset of step times stands for.
    #[error("{}: no step times are known for {model} on {device}", .path.display())]
    NoPreset {
        /// Which file.
        path: PathBuf,
        /// The model.
        model: String,
        /// The GPU.
        device: String,
    },
    /// A bundle could not be read.
    #[error("cannot read the bundle")]
    Bundle(#[from] firstcheck_bundle::Error),
    /// The engine refuses the configuration.
    #[error("the simulated engine refuses its configuration")]
    Config(#[from] firstcheck_sim::ConfigError),
    /// The run could not be simulated.
    #[error("the simulated engine failed")]
    Simulation(#[from] firstcheck_sim::SimError),
    /// The engine refuses a request that the real one served.
    #[error("the simulated engine refuses request {row}, which the real one served: {reason}")]
    Refused {
        /// Its row.
        row: usize,
        /// Why.
        reason: String,
    },
}
