//! Which replica a request goes to.

use crate::{
    deployment::{play, served},
    simulate::{config, trace},
};
use firstcheck_model::{moment::Moment, run::Arrivals};
use firstcheck_sim::{
    Deployment, Scenario, SimulateOptions, Simulated,
    router::{Routing, RoutingPolicy},
    simulate_scenario,
};
use firstcheck_workload::{
    prompt::{Piece, Prompt},
    trace::{Due, Offered, Trace},
};

fn deployment(replicas: u32, routing: Routing) -> Deployment {
    Deployment { routing, ..Deployment::uniform(config(), replicas) }
}

fn policy(policy: RoutingPolicy) -> Routing {
    Routing { policy, ..Routing::default() }
}

/// Requests of `groups` groups in turn, each with a prefix of 1,024 tokens of its own.
fn grouped(requests: u32, groups: u32, rate: f64) -> Trace {
    let item = |row: u32| Offered {
        due: Due::At(Moment::from_seconds(f64::from(row) / rate)),
        prompt: Prompt::user(vec![
            Piece::Synthetic { seed: u64::from(row * 7 / 3 % groups), tokens: 1024 },
            Piece::Synthetic { seed: 5000 + u64::from(row), tokens: 64 },
        ]),
        output_tokens: Some(30),
        session: Some(row % groups),
    };
    let arrivals = Arrivals::Open { rate, cv: Some(0.0) };
    Trace { description: "groups".into(), arrivals, items: (0..requests).map(item).collect(), salt: None }
}

fn run(deployment: Deployment, trace: &Trace) -> Simulated {
    simulate_scenario(&Scenario::steady(deployment), trace, &SimulateOptions::new(1, "a")).unwrap()
}

fn cached(simulated: &Simulated) -> u32 {
    simulated.recording.requests.0.iter().filter_map(|request| request.cached_tokens).sum()
}

#[test]
fn every_policy_answers_every_request() {
    for each in RoutingPolicy::ALL {
        let simulated = play(&deployment(3, policy(each)), 90, 30.0);
        assert_eq!(served(&simulated).iter().sum::<usize>(), 90, "{each:?}");
        assert!(served(&simulated).iter().all(|served| *served > 0), "{each:?}: {:?}", served(&simulated));
    }
}

#[test]
fn the_least_loaded_replica_spares_a_slow_one() {
    let slow = |each| {
        let mut deployment = deployment(2, policy(each));
        deployment.replicas[0].engine.host_seconds = 0.05;
        served(&play(&deployment, 300, 20.0))[0]
    };
    assert_eq!(slow(RoutingPolicy::RoundRobin), 150);
    assert!(slow(RoutingPolicy::LeastLoaded) < 110, "{}", slow(RoutingPolicy::LeastLoaded));
}

#[test]
fn a_stale_view_of_the_load_herds() {
    // Within one reading interval all go to the replica that was the emptiest at its begin.
    let longest_run = |load_interval_seconds| {
        let routing = Routing { load_interval_seconds, ..policy(RoutingPolicy::LeastLoaded) };
        let simulated = play(&deployment(4, routing), 400, 40.0);
        let replicas: Vec<u32> = simulated.truth.requests.iter().flatten().map(|request| request.replica).collect();
        replicas.chunk_by(|one, other| one == other).map(<[u32]>::len).max().unwrap()
    };
    assert!(longest_run(0.0) < 8, "{}", longest_run(0.0));
    assert!(longest_run(2.0) > 40, "{}", longest_run(2.0));
}

#[test]
fn a_prefix_aware_router_finds_what_turns_lose() {
    let trace = grouped(200, 16, 40.0);
    let of = |routing| run(deployment(4, routing), &trace);
    let in_turn = of(policy(RoutingPolicy::RoundRobin));
    let aware = of(policy(RoutingPolicy::PrefixAware));
    assert!(f64::from(cached(&aware)) > 1.1 * f64::from(cached(&in_turn)), "{} {}", cached(&aware), cached(&in_turn));
    let sticky = of(policy(RoutingPolicy::Session));
    for group in 0..16 {
        let replicas = sticky.truth.requests.iter().skip(group).step_by(16).flatten().map(|request| request.replica);
        let mut replicas: Vec<u32> = replicas.collect();
        replicas.dedup();
        assert_eq!(replicas.len(), 1, "session {group}");
    }
}

#[test]
fn one_hot_prefix_makes_one_hot_replica_unless_load_counts() {
    let trace = grouped(300, 1, 60.0);
    let of = |load_tokens, imbalance| {
        let routing = Routing { load_tokens, imbalance, ..policy(RoutingPolicy::PrefixAware) };
        served(&run(deployment(4, routing), &trace))
    };
    assert_eq!(of(0.0, None).iter().max(), Some(&300));
    assert!(of(256.0, None).iter().all(|served| *served > 10), "{:?}", of(256.0, None));
    assert!(of(0.0, Some(4.0)).iter().all(|served| *served > 10), "{:?}", of(0.0, Some(4.0)));
}

#[test]
fn the_routers_own_time_is_part_of_the_first_token() {
    let first = |overhead_seconds| {
        let routing = Routing { overhead_seconds, ..Routing::default() };
        let simulated = play(&deployment(2, routing), 1, 1.0);
        simulated.recording.requests[0].ttft().unwrap().0
    };
    assert!((first(0.05) - first(0.0) - 0.05).abs() < 1e-9, "{} {}", first(0.05), first(0.0));
}

#[test]
fn routing_out_of_range_is_refused() {
    for (routing, name) in [
        (Routing { overhead_seconds: -1.0, ..Routing::default() }, "routing.overhead_seconds"),
        (Routing { load_tokens: f64::NAN, ..Routing::default() }, "routing.load_tokens"),
        (Routing { index_block_tokens: 0, ..Routing::default() }, "routing.index_block_tokens"),
    ] {
        let said = deployment(2, routing).validate().unwrap_err().to_string();
        assert!(said.starts_with(name), "{said}");
    }
    assert_eq!(trace(1, 1.0).len(), 1);
}
