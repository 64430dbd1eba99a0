//! Signatures of a regression in simulated experiments: a fault shows its own, and no other that it does not also cause.
//!
//! Memory, start-up and the GPU's model stand in logs and fingerprints; their signatures are read off tables elsewhere.

use firstcheck_analyze::compare::{Policy, compare};
use firstcheck_model::{
    evidence::RunEvidence,
    report::SignatureState,
    run::{PairPlace, Role},
    unit::Seconds,
};
use firstcheck_sim::{
    Deployment, EngineConfig, Scenario, SimulateOptions,
    fault::{Fault, Severity, healthy, scenario},
    simulate_scenario,
};
use firstcheck_workload::{
    arrivals::ArrivalProcess, distribution::Distribution, prefix::SharedPrefix, spec::Spec, trace::Trace,
};

/// Pairs of an experiment.
const PAIRS: u32 = 4;

fn engine() -> EngineConfig {
    EngineConfig { num_gpu_blocks: 2_600, max_model_len: 4096, max_num_seqs: 48, ..EngineConfig::default() }
}

fn trace(seed: u64) -> Trace {
    let spec = Spec {
        arrivals: Some(ArrivalProcess::Poisson { rate: 8.0 }),
        requests: Some(240),
        input: Some(Distribution::lognormal(400.0, 0.6, 16, 3_000)),
        output: Some(Distribution::lognormal(80.0, 0.5, 8, 300)),
        prefix: Some(SharedPrefix { groups: 4, tokens: 256, share: 0.8 }),
        ..Spec::default()
    };
    spec.generate(seed, None).unwrap().trace
}

fn play(deployment: &Scenario, trace: &Trace, pair: u32, role: Role) -> RunEvidence {
    let candidate = role == Role::Candidate;
    let mut options =
        SimulateOptions::new(u64::from(pair) * 2 + u64::from(candidate), format!("{}-{pair}", role.name()));
    options.scrape_interval = Seconds(1.0);
    let mut recording = simulate_scenario(deployment, trace, &options).unwrap().recording;
    firstcheck_ingest::vocabulary::apply(&mut recording.signals);
    let order = u8::from(candidate == pair.is_multiple_of(2));
    let experiment = "signatures".to_owned();
    recording.info.place =
        Some(PairPlace { experiment, pair, role, order, device: None, cell: None, looks: Vec::new() });
    recording.info.load = Some(0.5);
    recording.into_evidence(format!("{}-{pair}", role.name()))
}

/// The signatures that an experiment shows, and what is unknown.
fn shown(fault: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    let trace = trace(7);
    let faults = [Fault::parse(fault, Severity::Moderate).unwrap()];
    let deployment = Deployment::single(engine());
    let [base, candidate] =
        [healthy(&deployment, &trace, &faults).unwrap(), scenario(&deployment, &trace, &faults).unwrap()];
    let runs = |side: &Scenario, role| (0..PAIRS).map(|pair| play(side, &trace, pair, role)).collect::<Vec<_>>();
    let report = compare(&runs(&base, Role::Base), &runs(&candidate, Role::Candidate), &Policy::default());
    let of = |state| -> Vec<&'static str> {
        report.signatures.iter().filter(|row| row.state == state).map(|row| name(&row.name)).collect()
    };
    (of(SignatureState::Present), of(SignatureState::Unknown))
}

const NAMES: [&str; 8] = [
    "ttft-up-queue-up",
    "ttft-up-queue-stable",
    "itl-up-ttft-stable",
    "memory-up-model-changed",
    "hit-rate-down",
    "preemptions-up",
    "slower-on-newer-gpu",
    "start-up-slower",
];

fn name(of: &str) -> &'static str {
    NAMES.into_iter().find(|name| *name == of).unwrap()
}

#[test]
fn a_fault_shows_its_signature() {
    let cases: [(&str, &[&str]); 5] = [
        ("limits-lower:sequences=6,tokens=8192", &["ttft-up-queue-up"]),
        ("tokeniser-slow:us_per_token=80", &["ttft-up-queue-stable"]),
        // A first token takes a step too: it comes a little later, and ITL rises far more.
        ("graph-mode-downgraded:us_per_layer=450", &["itl-up-ttft-stable", "ttft-up-queue-stable"]),
        ("lookups-fail", &["hit-rate-down", "ttft-up-queue-stable"]),
        ("kv-pool-shrank:share=0.1", &["preemptions-up", "ttft-up-queue-up", "hit-rate-down"]),
    ];
    for (fault, expected) in cases {
        let (present, unknown) = shown(fault);
        assert_eq!(present.iter().filter(|name| !expected.contains(name)).count(), 0, "{fault}: {present:?}");
        assert!(present.contains(&expected[0]), "{fault}: {present:?}, unknown {unknown:?}");
    }
}
