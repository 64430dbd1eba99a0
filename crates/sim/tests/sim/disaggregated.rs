//! Prefill and decode in pools of their own.

use crate::{
    deployment::{play, served},
    simulate::{config, trace},
};
use firstcheck_model::{
    request::Fate,
    signal::{Part, Series},
    span::Stage,
};
use firstcheck_sim::{
    Deployment, Scenario, SimulateOptions, Simulated,
    deployment::{OnFailure, Replica, Role, Transfer},
    fault::scenario,
    simulate::Artefacts,
    simulate_scenario,
};

fn pools(change: impl FnOnce(&mut Transfer)) -> Deployment {
    let mut deployment = Deployment::disaggregated(&config(), 2, 2);
    change(&mut deployment.transfer);
    deployment
}

fn total(simulated: &Simulated, pool: &str, name: &str) -> f64 {
    let of =
        |series: &&Series| series.name == name && series.page.starts_with(pool) && series.part != Part::Bucket(0.0);
    simulated.recording.signals.iter().filter(of).filter_map(|series| series.value.last()).sum()
}

#[test]
fn each_prompt_is_computed_once_and_comes_across() {
    let simulated = play(&pools(|_| {}), 80, 10.0);
    assert!(simulated.recording.requests.0.iter().all(|request| request.fate == Fate::Completed));
    assert_eq!(served(&simulated)[..2], [0, 0], "the prefill pool answers nobody");
    assert!(served(&simulated)[2..].iter().all(|served| *served > 20));
    let prompts: u64 = simulated.recording.requests.0.iter().filter_map(|r| r.prompt_tokens).map(u64::from).sum();
    for truth in simulated.truth.requests.iter().flatten() {
        let handed_over = truth.handed_over.unwrap();
        assert_eq!(handed_over.tokens, truth.prompt_tokens);
        assert!(handed_over.transfer_start_ns >= handed_over.prefill.first_token_ns.unwrap() + 2_000_000);
        assert_eq!(truth.life.arrival_ns, handed_over.arrived_ns);
        assert!(truth.life.cached_tokens >= truth.prompt_tokens - 1, "only the last token is computed again");
    }
    assert_eq!(total(&simulated, "decode", "vllm:nixl_bytes_transferred_count"), 80.0);
    assert_eq!(total(&simulated, "decode", "vllm:nixl_bytes_transferred_sum"), prompts as f64 * 131_072.0);
    let computed = |pool| total(&simulated, pool, "vllm:request_prefill_kv_computed_tokens_sum");
    assert!(computed("decode") <= 80.0, "{}", computed("decode"));
    assert!(computed("prefill") > 0.5 * prompts as f64);
    let transfers = simulated.recording.spans.iter().filter(|span| span.stage == Stage::HandOver);
    assert_eq!(transfers.count(), 80);
    let mut pages: Vec<&str> = simulated.recording.signals.iter().map(|series| series.page.as_str()).collect();
    pages.dedup();
    assert_eq!(pages, ["prefill-0", "prefill-1", "decode-0", "decode-1"]);
}

#[test]
fn the_account_of_a_request_is_all_that_its_client_waited() {
    let mut two = pools(|_| {});
    two.routing.overhead_seconds = 0.01;
    two.client.flush_seconds = 0.05;
    let mut small = Deployment::single(firstcheck_sim::EngineConfig { num_gpu_blocks: 520, ..config() });
    small.client.concurrency_gate = Some(40);
    let mut preempted = 0;
    for deployment in [two, small] {
        let simulated = play(&deployment, 120, 40.0);
        for (request, truth) in simulated.recording.requests.0.iter().zip(&simulated.truth.requests) {
            let truth = truth.unwrap();
            let (first, last) = (truth.to_first_token().unwrap(), truth.to_last_token().unwrap());
            let waited = |until: firstcheck_model::moment::Moment| until.ns_since(request.intended).unwrap();
            assert_eq!(first.total_ns(), waited(request.first_token));
            assert_eq!(last.total_ns(), waited(request.last_token));
            assert!(Stage::ALL.iter().all(|stage| first.of_ns(*stage) >= 0 && last.of_ns(*stage) >= 0));
            assert_eq!(last.of_ns(Stage::DecodePreempted) > 0, request.output_tokens > Some(1));
            preempted += last.of_ns(Stage::Preempted);
        }
    }
    assert!(preempted > 0, "the small pool throws requests out");
}

#[test]
fn a_slow_link_is_time_to_the_first_token() {
    let first = |change: fn(&mut Transfer)| {
        let simulated = play(&pools(change), 40, 5.0);
        let all = simulated.recording.requests.0[20..].iter().filter_map(|request| request.ttft());
        all.map(|ttft| ttft.0).sum::<f64>() / 20.0
    };
    let fast = first(|_| {});
    let narrow = first(|transfer| transfer.bytes_per_second = 1e9);
    let scattered = first(|transfer| {
        transfer.bytes_per_descriptor = 16_384.0;
        transfer.descriptor_seconds = 20e-6;
    });
    let late = first(|transfer| transfer.latency_seconds = 0.1);
    assert!(narrow > fast + 0.04 && scattered > fast + 0.04, "{fast} {narrow} {scattered}");
    assert!((late - fast - 0.098).abs() < 0.02, "{fast} {late}");
}

#[test]
fn a_failed_transfer_is_computed_again_and_nobody_is_told() {
    let simulated = play(&pools(|transfer| transfer.failure_share = 0.5), 80, 10.0);
    assert!(simulated.recording.requests.0.iter().all(|request| request.fate == Fate::Completed));
    let failed = total(&simulated, "decode", "vllm:nixl_num_failed_transfers_total");
    assert!((20.0..=60.0).contains(&failed), "{failed}");
    assert_eq!(failed + total(&simulated, "decode", "vllm:nixl_bytes_transferred_count"), 80.0);
    assert!(total(&simulated, "decode", "vllm:request_prefill_kv_computed_tokens_sum") > failed * 100.0);
    let told = play(
        &pools(|transfer| {
            transfer.failure_share = 0.5;
            transfer.on_failure = OnFailure::Fail;
        }),
        80,
        10.0,
    );
    let count = told.recording.requests.0.iter().filter(|request| request.fate == Fate::Failed).count();
    assert_eq!(count as f64, failed);
}

#[test]
fn without_being_asked_for_no_transfer_happens() {
    let simulated = play(&pools(|transfer| transfer.asked_for = false), 40, 10.0);
    assert!(simulated.recording.requests.0.iter().all(|request| request.fate == Fate::Completed));
    assert_eq!(total(&simulated, "decode", "vllm:nixl_bytes_transferred_count"), 0.0);
    let prompts: u32 = simulated.recording.requests.0.iter().filter_map(|request| request.prompt_tokens).sum();
    assert!(total(&simulated, "decode", "vllm:request_prefill_kv_computed_tokens_sum") > 0.5 * f64::from(prompts));
}

#[test]
fn who_gives_up_between_the_pools_is_gone() {
    let mut deployment = pools(|transfer| transfer.latency_seconds = 0.5);
    deployment.client.first_token_timeout_seconds = Some(0.3);
    let simulated = play(&deployment, 40, 20.0);
    assert!(simulated.recording.requests.0.iter().all(|request| request.fate == Fate::TimedOut));
    assert_eq!(total(&simulated, "decode", "vllm:generation_tokens_total"), 0.0);
}

#[test]
fn half_of_two_pools_is_no_deployment() {
    let mut deployment = pools(|_| {});
    deployment.replicas.truncate(2);
    assert!(deployment.validate().unwrap_err().to_string().contains("2 prefill, 0 decode"));
    deployment.replicas.push(Replica { role: Role::Unified, engine: config() });
    assert!(deployment.validate().is_err());
}

#[test]
fn an_engine_that_does_not_start_serves_nobody() {
    let mut broken = config();
    broken.memory.unknown_argument = Some("--swap-space 4".into());
    let mut deployment = Deployment::uniform(config(), 3);
    deployment.replicas[1].engine = broken.clone();
    let simulated = play(&deployment, 30, 10.0);
    assert_eq!(served(&simulated), [15, 0, 15]);
    assert!(simulated.recording.signals.iter().all(|series| series.page != "replica-1"));
    let options =
        SimulateOptions { artefacts: Artefacts { logs: true, ..Artefacts::default() }, ..SimulateOptions::new(1, "a") };
    let alone = Scenario::steady(Deployment::single(broken));
    let refused = simulate_scenario(&alone, &trace(5, 1.0), &options).unwrap();
    assert!(refused.recording.requests.0.iter().all(|r| r.error.as_deref() == Some("connection refused")));
    assert!(refused.recording.signals.is_empty());
    let log = String::from_utf8(refused.attachments[0].content.clone()).unwrap();
    assert!(log.contains("swap-space"), "{log}");
}

#[test]
fn a_restart_and_a_death_are_in_the_log() {
    let healthy = Deployment::uniform(config(), 2);
    let trace = trace(100, 4.0);
    let fault = firstcheck_sim::fault::Fault::parse("kv-pool-shrank:share=0.5@12s..", Default::default()).unwrap();
    let options =
        SimulateOptions { artefacts: Artefacts { logs: true, ..Artefacts::default() }, ..SimulateOptions::new(1, "a") };
    let log = |simulated: &Simulated| String::from_utf8(simulated.attachments[0].content.clone()).unwrap();
    let changed = simulate_scenario(&scenario(&healthy, &trace, &[fault]).unwrap(), &trace, &options).unwrap();
    assert_eq!(changed.attachments.len(), 2);
    for part in ["Avg prompt throughput", "shutdown triggered"] {
        assert!(log(&changed).contains(part), "{part}");
    }
    assert_eq!(log(&changed).matches("GPU KV cache size").count(), 2, "it has started twice");
    let mut dead = healthy.clone();
    dead.each_engine(|engine| engine.defects.dead = true);
    let died = simulate_scenario(&Scenario::steady(dead), &trace, &options).unwrap();
    assert!(died.recording.requests.0.iter().all(|request| request.fate == Fate::Failed));
    assert!(log(&died).contains("EngineDeadError") || log(&died).contains("died"), "{}", log(&died));
}

#[test]
fn a_frozen_engine_keeps_its_clients_waiting() {
    let mut deployment = Deployment::uniform(config(), 1);
    deployment.replicas[0].engine.host.frozen = true;
    let simulated = play(&deployment, 5, 1.0);
    let requests = &simulated.recording.requests.0;
    assert!(requests.iter().all(|request| request.fate == Fate::Cancelled && request.sent.reached()));
    assert_eq!(simulated.truth.end_ns, 64_000_000_000, "60 s after the last send");
}
