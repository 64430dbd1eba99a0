//! Several replicas: who serves what, and what is seen of it.

use crate::simulate::{config, trace};
use firstcheck_model::{
    request::Fate,
    signal::{Part, Series},
};
use firstcheck_sim::{
    Deployment, DeploymentError, EngineConfig, Scenario, SimError, SimulateOptions, Simulated,
    deployment::{PatchError, ScrapeMode, patched},
    simulate_scenario,
};

pub fn play(deployment: &Deployment, requests: u32, rate: f64) -> Simulated {
    let scenario = Scenario::steady(deployment.clone());
    simulate_scenario(&scenario, &trace(requests, rate), &SimulateOptions::new(1, "a")).unwrap()
}

/// Requests that each replica answered.
pub fn served(simulated: &Simulated) -> Vec<usize> {
    let replicas = simulated.truth.replicas.len();
    let of = |replica| simulated.truth.requests.iter().flatten().filter(|r| r.replica as usize == replica).count();
    (0..replicas).map(of).collect()
}

fn all<'a>(simulated: &'a Simulated, name: &str) -> Vec<&'a Series> {
    let named = |series: &&Series| series.name == name && series.part == Part::Value;
    simulated.recording.signals.iter().filter(named).collect()
}

#[test]
fn replicas_share_the_load_and_each_tells_its_own() {
    let simulated = play(&Deployment::uniform(config(), 4), 200, 40.0);
    assert_eq!(served(&simulated), [50; 4]);
    assert!(simulated.recording.requests.0.iter().all(|request| request.fate == Fate::Completed));
    let counters = all(&simulated, "vllm:generation_tokens_total");
    let pages: Vec<&str> = counters.iter().map(|series| series.page.as_str()).collect();
    assert_eq!(pages, ["replica-0", "replica-1", "replica-2", "replica-3"]);
    let last: f64 = counters.iter().map(|series| series.value.last().unwrap()).sum();
    assert_eq!(last, simulated.recording.events.len() as f64);
    let mut starts: Vec<f64> =
        all(&simulated, "process_start_time_seconds").iter().map(|series| series.value[0]).collect();
    starts.dedup();
    assert_eq!(starts.len(), 4, "no two processes start at once");
    let spans = &simulated.recording.spans;
    assert!(spans.iter().all(|span| span.replica.as_ref().is_some_and(|name| name.starts_with("replica-"))));
}

#[test]
fn one_replica_is_the_engine_by_itself() {
    let one = play(&Deployment::single(config()), 100, 20.0);
    let alone = firstcheck_sim::simulate_with_truth(&config(), &trace(100, 20.0), &SimulateOptions::new(1, "a"));
    assert_eq!(one, alone.unwrap());
    assert!(one.recording.signals.iter().all(|series| series.page == "main"));
    assert!(one.recording.spans.iter().all(|span| span.replica.is_none()));
}

#[test]
fn a_page_behind_a_load_balancer_alternates() {
    let mut deployment = Deployment::uniform(config(), 2);
    deployment.scrape = ScrapeMode::LoadBalanced;
    let simulated = play(&deployment, 400, 20.0);
    let starts = all(&simulated, "process_start_time_seconds");
    let [start] = starts.as_slice() else { panic!("one page: {starts:?}") };
    assert!(start.value.len() >= 4, "{:?}", start.value);
    assert!(start.value.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", start.value);
    assert_eq!(start.page, "main");
}

#[test]
fn a_patched_replica_is_another_one() {
    let mut deployment = Deployment::uniform(config(), 2);
    deployment.replicas[1].engine = patched(&config(), "host_seconds=0.02").unwrap();
    let simulated = play(&deployment, 100, 10.0);
    let mean = |replica: u32| {
        let served = simulated.truth.requests.iter().flatten().filter(|request| request.replica == replica);
        let times: Vec<f64> = served.filter_map(|request| Some(request.decode_ns()? as f64)).collect();
        times.iter().sum::<f64>() / times.len() as f64
    };
    assert!(mean(1) > 2.0 * mean(0), "{} {}", mean(0), mean(1));
}

#[test]
fn equal_arguments_give_equal_results() {
    let deployment = Deployment::uniform(config(), 3);
    assert_eq!(play(&deployment, 150, 60.0), play(&deployment, 150, 60.0));
}

#[test]
fn without_events_only_the_events_are_missing() {
    let scenario = Scenario::steady(Deployment::uniform(config(), 2));
    let with = SimulateOptions::new(1, "a");
    let without = SimulateOptions { events: false, ..with.clone() };
    let full = simulate_scenario(&scenario, &trace(60, 20.0), &with).unwrap();
    let lean = simulate_scenario(&scenario, &trace(60, 20.0), &without).unwrap();
    assert!(lean.recording.events.is_empty());
    assert_eq!(lean.recording.info.detail, firstcheck_model::run::Detail::Requests);
    assert_eq!(full.recording.requests, lean.recording.requests);
    assert_eq!(full.truth, lean.truth);
}

#[test]
fn a_deployment_that_cannot_start_says_which_replica_and_why() {
    let mut deployment = Deployment::uniform(config(), 3);
    deployment.replicas[2].engine.block_size = 0;
    let said = deployment.validate().unwrap_err().to_string();
    assert!(said.starts_with("replica-2 refuses") && said.contains("block_size"), "{said}");
    let scenario = Scenario::steady(deployment);
    let refused = simulate_scenario(&scenario, &trace(1, 1.0), &SimulateOptions::new(1, "a"));
    assert!(matches!(refused, Err(SimError::Deployment(DeploymentError::Engine { .. }))));
    assert!(Deployment::uniform(config(), 0).validate().is_err());
}

#[test]
fn patches_say_what_is_wrong_with_them() {
    let config = EngineConfig::default();
    assert_eq!(patched(&config, "max_num_seqs=64").unwrap().max_num_seqs, 64);
    assert_eq!(patched(&config, "noise.step_sd=0.25").unwrap().noise.step_sd, 0.25);
    assert_eq!(patched(&config, "kv_cache_dtype=fp8").unwrap().kv_cache_dtype, "fp8");
    assert!(matches!(patched(&config, "max_num_seqs"), Err(PatchError::Form(_))));
    for (patch, part) in [
        ("max_num_sequences=64", "unknown field"),
        ("noise.sd=1", "unknown field"),
        ("max_num_seqs=many", "invalid type"),
        ("block_size.x=1", "invalid type"),
    ] {
        let said = patched(&config, patch).unwrap_err().to_string();
        assert!(said.contains(part) && said.contains(patch), "{patch}: {said}");
    }
}
