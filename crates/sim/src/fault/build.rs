//! From a healthy deployment and faults to what is simulated.

use super::{Fault, Rig, Scene};
use crate::deployment::{Deployment, DeploymentError, Scenario};
use firstcheck_workload::trace::Trace;

/// A healthy deployment with faults that come and go: a phase begins wherever one starts or ends, and in each phase
/// those that act are applied to the healthy deployment in the order given. The scenes that the faults need are set up
/// from start to end.
///
/// # Errors
/// A healthy deployment that could not run, or a phase whose deployment could not.
pub fn scenario(healthy: &Deployment, trace: &Trace, faults: &[Fault]) -> Result<Scenario, DeploymentError> {
    build(healthy, trace, &scenes_of(faults), faults)
}

/// The same with none of the faults acting, in the scenes that they need: what the faulty run is held against.
///
/// # Errors
/// A deployment that could not run.
pub fn healthy(deployment: &Deployment, trace: &Trace, faults: &[Fault]) -> Result<Scenario, DeploymentError> {
    build(deployment, trace, &scenes_of(faults), &[])
}

/// The same with `acting` alone acting, in the scenes that all of `faults` need: one side of a comparison, where the sides
/// differ in nothing but what acts.
///
/// # Errors
/// A phase whose deployment could not run.
pub fn one_side(
    healthy: &Deployment,
    trace: &Trace,
    acting: &[Fault],
    faults: &[Fault],
) -> Result<Scenario, DeploymentError> {
    build(healthy, trace, &scenes_of(faults), acting)
}

/// The scenes that faults need, each once.
fn scenes_of(faults: &[Fault]) -> Vec<Scene> {
    let mut scenes: Vec<Scene> = Vec::new();
    for scene in faults.iter().map(|fault| fault.spec.scene) {
        if !scenes.contains(&scene) {
            scenes.push(scene);
        }
    }
    scenes
}

fn build(healthy: &Deployment, trace: &Trace, scenes: &[Scene], faults: &[Fault]) -> Result<Scenario, DeploymentError> {
    // Scenes and faults work out new values from those there are.
    healthy.validate()?;
    let mut starts: Vec<i64> = vec![0];
    starts.extend(faults.iter().flat_map(|fault| [Some(fault.start_ns), fault.ends_ns()]).flatten());
    starts.sort_unstable();
    starts.dedup();
    let (mut phases, mut others) = (Vec::with_capacity(starts.len()), Vec::new());
    for start_ns in starts {
        let mut rig = Rig::new(healthy.clone(), trace);
        scenes.iter().for_each(|scene| (scene.apply)(&mut rig));
        let acting = faults.iter().zip(0..).filter(|(fault, _)| fault.acts_at(start_ns));
        acting.for_each(|(fault, number)| rig.apply(fault, number, start_ns));
        let (phase, also) = rig.finish(start_ns);
        phases.push(phase);
        others.extend(also);
    }
    let told = faults.iter().map(Into::into).collect();
    Scenario::new(phases, others, told)
}
