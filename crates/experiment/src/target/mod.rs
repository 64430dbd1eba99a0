//! What a run is made on.

mod simulated;

pub use simulated::SimulatedTarget;

use std::fmt;

/// A deployment that runs can be made on. Its text form names it in ledgers, without secrets.
#[derive(Debug, Clone)]
pub enum Target {
    /// A simulated one, in virtual time.
    Simulated(SimulatedTarget),
}

impl Target {
    /// The simulated deployment, if it is one.
    pub fn simulated(&self) -> Option<&SimulatedTarget> {
        match self {
            Self::Simulated(target) => Some(target),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated(target) => write!(f, "{target}"),
        }
    }
}
