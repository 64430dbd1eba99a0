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
    /// What is simulated of it under `trace`. The scenes that the faults of `all` deployments of the experiment need, itself
    /// among them, are set up in each, so that they differ in nothing but what acts.
    ///
    /// # Errors
    /// A deployment that would not start.
    pub fn against(&self, all: &[&Self], trace: &Trace) -> Result<Scenario, DeploymentError> {
        let all: Vec<Fault> = all.iter().flat_map(|one| one.faults.iter().cloned()).collect();
        fault::one_side(&self.deployment, trace, &self.faults, &all)
    }
}

impl fmt::Display for SimulatedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sim:{}", self.text)
    }
}
