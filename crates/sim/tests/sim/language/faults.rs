//! Faults of outputs show themselves in what a client keeps, and in nothing that a healthy run lacks.

use crate::simulate::{config, trace};
use firstcheck_sim::{
    Deployment, SimulateOptions, Simulated, Speculation,
    emit::outputs::Trainer,
    fault::{Fault, FaultSpec, Severity, catalogue, scenario},
    language::{
        asking::{Asking, Seeds},
        sampling::Sampling,
    },
    simulate_scenario,
};
use std::collections::BTreeMap;

/// Two replicas that speculate while few run and whose cache is too small, called by a client that keeps outputs; every
/// other answer ends of itself.
fn play(faults: &[Fault]) -> Simulated {
    let mut engine = config();
    (engine.num_gpu_blocks, engine.mean_output_tokens) = (560, 60.0);
    engine.speculation = Some(Speculation { most_running: Some(8), ..Speculation::default() });
    let mut trace = trace(120, 60.0);
    trace.items.iter_mut().step_by(2).for_each(|item| item.output_tokens = None);
    let sampling = Sampling { logprobs: Some(2), ..Sampling::default() };
    let asking = Asking { sampling, seeds: Seeds::FromRow(1), unseeded_every: 10 };
    let trainer = Some(Trainer::default());
    let options = SimulateOptions { asking: Some(asking), trainer, ..SimulateOptions::new(1, "a") };
    let scenario = scenario(&Deployment::uniform(engine, 2), &trace, faults).unwrap();
    simulate_scenario(&scenario, &trace, &options).unwrap()
}

fn of_outputs() -> impl Iterator<Item = &'static FaultSpec> {
    catalogue().filter(|spec| (30..=38).contains(&spec.symptom[1..].parse::<u32>().unwrap()))
}

#[test]
fn every_fault_of_outputs_shows_in_what_the_client_keeps() {
    let healthy = play(&[]);
    assert!(healthy.truth.preemptions > 0, "a stream can only restart where requests are preempted");
    for spec in of_outputs() {
        let sick = play(&[Fault::new(spec, Severity::Mild)]);
        assert_ne!(healthy.attachments, sick.attachments, "{spec:?} changes nothing that is kept");
        assert_eq!(sick.recording.requests.0.len(), 120);
    }
}

#[test]
fn each_symptom_has_two_causes_at_least() {
    let mut causes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for spec in of_outputs() {
        causes.entry(spec.symptom).or_default().push(spec.cause);
    }
    for symptom in ["S30", "S31", "S32", "S34", "S36", "S37"] {
        let own = causes.get_mut(symptom).unwrap();
        own.dedup();
        assert!(own.len() >= 2, "{symptom}: {own:?}");
    }
}
