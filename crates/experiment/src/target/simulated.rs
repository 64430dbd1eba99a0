//! A simulated deployment, with what goes wrong in it.

use firstcheck_sim::{
    Deployment, Scenario,
    deployment::DeploymentError,
    fault::{self, Fault},
};
use firstcheck_workload::trace::Trace;
use std::fmt;

/// A simulated deployment and the faults that act in it.
#[derive(Debug, Clone)]
pub struct SimulatedTarget {
    /// How a user wrote it.
    pub text: String,
    /// The deployment without its faults.
    pub deployment: Deployment,
    /// What goes wrong in it.
    pub faults: Vec<Fault>,
}

impl SimulatedTarget {
    /// What is simulated of it under `trace`. The scenes that the faults of `other` need are set up here as well, so that
    /// the sides differ in nothing but what acts.
    ///
    /// # Errors
    /// A deployment that would not start.
    pub fn against(&self, other: Option<&Self>, trace: &Trace) -> Result<Scenario, DeploymentError> {
        let theirs = other.map_or(&[][..], |other| &other.faults);
        let all: Vec<Fault> = self.faults.iter().chain(theirs).cloned().collect();
        fault::one_side(&self.deployment, trace, &self.faults, &all)
    }
}

impl fmt::Display for SimulatedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sim:{}", self.text)
    }
}
