//! What is wrong with a deployment.

use crate::config::ConfigError;

/// Why a deployment cannot be started.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeploymentError {
    /// An engine would not start.
    #[error("{replica} refuses its configuration: {source}")]
    Engine {
        /// Which.
        replica: String,
        /// Why.
        source: ConfigError,
    },
    /// Replicas that cannot serve together.
    #[error(
        "{prefill} prefill, {decode} decode and {unified} unified replicas cannot serve together: take unified ones \
         only, or at least one of each pool"
    )]
    Roles {
        /// Replicas that compute prompts.
        prefill: usize,
        /// Replicas that answer.
        decode: usize,
        /// Replicas that do both.
        unified: usize,
    },
    /// Attention ranks that are not those of one server.
    #[error(
        "rank {rank} of {of} stands at place {place} of {count} replicas: the ranks of a server are all its replicas, in \
         order, and serve whole requests"
    )]
    Ranks {
        /// The place.
        place: usize,
        /// The rank that stands there.
        rank: u32,
        /// Ranks that its server has, by its own account.
        of: u32,
        /// Replicas.
        count: usize,
    },
    /// A parameter outside its range.
    #[error("{name} is {value}, but must be {expected}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        expected: &'static str,
    },
    /// A change in the course of a run that no deployment could make.
    #[error(
        "a fault changes the deployment from {before} to {after} replicas while it runs: let it act from the start"
    )]
    Replicas {
        /// Before.
        before: usize,
        /// After.
        after: usize,
    },
}

/// Whether `value` lies within `least` and `most`.
pub(crate) fn in_range(
    name: &'static str,
    value: f64,
    least: f64,
    most: f64,
    expected: &'static str,
) -> Result<(), DeploymentError> {
    // A value that is not a number lies in no range.
    if (least..=most).contains(&value) { Ok(()) } else { Err(DeploymentError::OutOfRange { name, value, expected }) }
}
