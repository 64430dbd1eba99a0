//! Signatures on simulated pairs: each fault shows its own, an unchanged deployment none.

use firstcheck_analyze::compare::{Comparison, Policy, Slices};
use firstcheck_experiment::simulated::record;
use firstcheck_model::{
    evidence::RunEvidence,
    report::{Report, SignatureState},
    run::{PairPlace, Role},
    unit::Seconds,
};
use firstcheck_sim::{
    Deployment, EngineConfig, SimulateOptions,
    fault::{Fault, Severity, one_side},
};
use firstcheck_workload::{arrivals::ArrivalProcess, distribution::Distribution, spec::Spec, trace::Trace};

const PAIRS: u32 = 4;
const WARM_UP_S: f64 = 10.0;

/// Chats over a few common system prompts, with room to spare.
fn trace() -> Trace {
    let spec = Spec {
        arrivals: Some(ArrivalProcess::Poisson { rate: 6.0 }),
        requests: Some(420),
        input: Some(Distribution::lognormal(300.0, 0.6, 16, 3_000)),
        output: Some(Distribution::lognormal(120.0, 0.5, 16, 600)),
        prefix: Some("groups=3,tokens=1600".parse().unwrap()),
        ..Spec::default()
    };
    spec.generate(5, None).unwrap().trace
}

fn run(trace: &Trace, fault: &Fault, role: Role, pair: u32) -> RunEvidence {
    let engine = EngineConfig { num_gpu_blocks: 3_000, max_model_len: 8_192, ..EngineConfig::default() };
    let deployment = Deployment::uniform(engine, 1);
    let faults = [fault.clone()];
    let acting = if role == Role::Candidate { &faults[..] } else { &[] };
    let scenario = one_side(&deployment, trace, acting, &faults).unwrap();
    let seed = u64::from(pair) * 2 + u64::from(role == Role::Candidate) + 100;
    let mut options = SimulateOptions::new(seed, format!("{}-{pair}", role.name()));
    options.warm_up = Seconds(WARM_UP_S);
    let mut recording = record(&scenario, trace, &options).unwrap().recording;
    let order = u8::from(pair.is_multiple_of(2) == (role == Role::Candidate));
    recording.info.place = Some(PairPlace {
        experiment: "signatures".into(),
        pair,
        role,
        order,
        device: None,
        cell: None,
        looks: Vec::new(),
    });
    recording.into_evidence(format!("{}-{pair}", role.name()))
}

fn report(fault: &str, acts: bool) -> Report {
    let fault = Fault::parse(fault, Severity::Severe).unwrap();
    let trace = trace();
    let mut comparison = Comparison::new(Policy { slices: Slices::none(), ..Policy::default() });
    for pair in 0..PAIRS {
        let candidate = if acts { Role::Candidate } else { Role::Base };
        let mut other = run(&trace, &fault, candidate, pair + if acts { 0 } else { 50 });
        if let Some(place) = &mut other.info.place {
            (place.role, place.pair) = (Role::Candidate, pair);
        }
        comparison.add_pair(&run(&trace, &fault, Role::Base, pair), &other);
    }
    comparison.finish()
}

fn present(report: &Report) -> Vec<&str> {
    let present = report.signatures.iter().filter(|row| row.state == SignatureState::Present);
    present.map(|row| row.name.as_str()).collect()
}

#[test]
fn each_fault_shows_its_signature() {
    for (fault, expected, not) in [
        ("kv-pool-shrank", &["preemptions-up", "ttft-up-queue-up"][..], "ttft-up-queue-stable"),
        ("template-deploy", &["hit-rate-down"], "start-up-slower"),
        ("tokeniser-slow", &["ttft-up-queue-stable"], "ttft-up-queue-up"),
        ("core-loop-slow", &["itl-up-ttft-stable"], "preemptions-up"),
    ] {
        let report = report(fault, true);
        let found = present(&report);
        for name in expected {
            assert!(found.contains(name), "{fault} shows {found:?}: {:#?}", report.signatures);
        }
        assert!(!found.contains(&not), "{fault} shows {found:?}: {:#?}", report.signatures);
        let facts = report.signatures.iter().filter(|row| row.state == SignatureState::Present);
        assert!(facts.clone().all(|row| !row.facts.is_empty() && !row.exploratory), "{fault}");
    }
}

#[test]
fn an_unchanged_deployment_shows_none() {
    let report = report("template-deploy", false);
    assert_eq!(present(&report), Vec::<&str>::new(), "{:#?}", report.signatures);
}
