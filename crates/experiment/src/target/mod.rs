//! What a run is made on.

mod process;
mod server;
mod simulated;

pub use server::{DEVICE, Hooks, Served, ServerTarget, end_abandoned};
pub use simulated::SimulatedTarget;

use std::fmt;

/// A deployment that runs can be made on. Its text form names it in ledgers, without secrets.
#[derive(Debug, Clone)]
pub enum Target {
    /// A simulated one, in virtual time.
    Simulated(Box<SimulatedTarget>),
    /// A real one.
    Server(Box<ServerTarget>),
}

impl Target {
    /// The simulated deployment, if it is one.
    pub fn simulated(&self) -> Option<&SimulatedTarget> {
        match self {
            Self::Simulated(target) => Some(target),
            Self::Server(_) => None,
        }
    }

    /// The real deployment, if it is one.
    pub fn server(&self) -> Option<&ServerTarget> {
        match self {
            Self::Simulated(_) => None,
            Self::Server(target) => Some(target),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated(target) => write!(f, "{target}"),
            Self::Server(target) => write!(f, "{target}"),
        }
    }
}
