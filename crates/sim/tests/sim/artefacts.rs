//! Files beside a recording.

use firstcheck_model::run::Arrivals;
use firstcheck_sim::{
    EngineConfig, SimulateOptions,
    deployment::{Deployment, Scenario},
    simulate::{Artefacts, Simulated},
    simulate_scenario,
};
use firstcheck_workload::{arrivals::ArrivalProcess, distribution::Distribution, spec::Spec, trace::Trace};

/// `requests` requests at one a second, of 200 prompt and 50 generated tokens.
fn trace(requests: u32) -> Trace {
    let spec = Spec {
        requests: Some(requests),
        arrivals: Some(ArrivalProcess::Constant { rate: 1.0 }),
        input: Some(Distribution::fixed(200)),
        output: Some(Distribution::fixed(50)),
        ..Spec::default()
    };
    let trace = spec.generate(1, None).unwrap().trace;
    assert!(!matches!(trace.arrivals, Arrivals::Closed { .. }));
    trace
}

fn run(deployment: Deployment, requests: u32, artefacts: Artefacts) -> Simulated {
    let options = SimulateOptions { artefacts, ..SimulateOptions::new(1, "run") };
    simulate_scenario(&Scenario::steady(deployment), &trace(requests), &options).unwrap()
}

fn text<'a>(simulated: &'a Simulated, name: &str) -> &'a str {
    let names: Vec<_> = simulated.attachments.iter().map(|file| &file.name).collect();
    let file =
        simulated.attachments.iter().find(|file| file.name == name).unwrap_or_else(|| panic!("{name} of {names:?}"));
    std::str::from_utf8(&file.content).unwrap()
}

#[test]
fn nothing_is_written_unless_asked_for() {
    let none = run(Deployment::default(), 3, Artefacts::default());
    assert!(none.attachments.is_empty());
    let logged = run(Deployment::default(), 3, Artefacts { logs: true, ..Artefacts::default() });
    assert_eq!(none.recording, logged.recording, "watching changes nothing");
}

#[test]
fn each_replica_has_a_log_that_agrees_with_its_counters() {
    let two = Deployment::uniform(EngineConfig::default(), 2);
    let simulated = run(two, 60, Artefacts { logs: true, ..Artefacts::default() });
    for (replica, truth) in simulated.truth.replicas.iter().enumerate() {
        let log = text(&simulated, &format!("server-replica-{replica}.log"));
        assert!(log.contains("Application startup complete."));
        let told: f64 = log
            .lines()
            .filter_map(|line| line.split("Avg generation throughput: ").nth(1))
            .map(|rest| rest.split(' ').next().unwrap().parse::<f64>().unwrap() * 10.0)
            .sum();
        // The last interval is not over when the run is.
        let generated = truth.generation_tokens as f64;
        assert!(told <= generated && told > generated * 0.8, "{told} of {generated}");
    }
}
