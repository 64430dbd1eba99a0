//! Whole runs in virtual time.

use crate::simulate::trace;
use firstcheck_model::{request::Fate, signal::Series};
use firstcheck_sim::{EngineConfig, SchedulePolicy, Sglang, SimulateOptions, Simulated, simulate_with_truth};

fn config(rules: Sglang) -> EngineConfig {
    EngineConfig { max_model_len: 8192, sglang: rules, ..EngineConfig::sglang() }
}

fn run(rules: Sglang, rate: f64) -> Simulated {
    simulate_with_truth(&config(rules), &trace(300, rate), &SimulateOptions::new(1, "a")).unwrap()
}

fn last(signals: &[Series], name: &str) -> f64 {
    let series = signals.iter().find(|series| series.name == name).expect("the series");
    *series.value.last().expect("a sample")
}

#[test]
fn a_healthy_run_ends_every_request_and_retracts_none() {
    let simulated = run(Sglang::default(), 10.0);
    let recording = &simulated.recording;
    assert!(recording.requests.0.iter().all(|request| request.fate == Fate::Completed));
    assert_eq!(simulated.truth.preemptions, 0);
    let tokens: u32 = recording.requests.0.iter().filter_map(|request| request.output_tokens).sum();
    assert_eq!(recording.events.len(), tokens as usize);
    let signals = &recording.signals;
    assert_eq!(last(signals, "sglang:generation_tokens_total"), f64::from(tokens));
    assert_eq!(last(signals, "sglang:num_requests_total"), 300.0);
    assert_eq!(last(signals, "sglang:num_retracted_requests_total"), 0.0);
    assert!(signals.iter().all(|series| series.name.starts_with("sglang:")));
    assert!(last(signals, "sglang:cached_tokens_total") > 0.0, "prompts of three groups share their beginning");
}

#[test]
fn little_s_law_holds() {
    let simulated = run(Sglang::default(), 10.0);
    let inside: i64 = simulated
        .truth
        .requests
        .iter()
        .flatten()
        .map(|truth| truth.life.last_token_ns.unwrap() - truth.life.arrival_ns)
        .sum();
    // Requests in the system × time, by counting at each token's arrival, against the sum of their stays.
    let requests = &simulated.recording.requests.0;
    let mut changes: Vec<(i64, i64)> = requests
        .iter()
        .flat_map(|request| [(request.sent.get().unwrap(), 1), (request.last_token.get().unwrap(), -1)])
        .collect();
    changes.sort_unstable();
    let mut area = 0;
    let mut inside_now = 0;
    for pair in changes.windows(2) {
        inside_now += pair[0].1;
        area += inside_now * (pair[1].0 - pair[0].0);
    }
    let error = (area - inside).abs() as f64 / inside as f64;
    assert!(error < 0.1, "{area} against {inside}");
}

#[test]
fn equal_arguments_give_equal_runs() {
    for schedule_policy in [SchedulePolicy::Lpm, SchedulePolicy::Random] {
        let rules = Sglang { schedule_policy, max_total_num_tokens: 10_000, ..Sglang::default() };
        assert_eq!(run(rules.clone(), 200.0), run(rules, 200.0));
    }
}

#[test]
fn a_pool_that_is_too_small_retracts_and_still_ends_everything() {
    let rules = Sglang {
        max_total_num_tokens: 8200,
        init_new_token_ratio: 0.05,
        min_new_token_ratio_factor: 1.0,
        ..Sglang::default()
    };
    let simulated = run(rules, 200.0);
    assert!(simulated.recording.requests.0.iter().all(|request| request.fate == Fate::Completed));
    assert!(simulated.truth.preemptions > 0);
    assert!(simulated.truth.recomputed_tokens > 0);
}

#[test]
fn the_fingerprint_says_what_the_server_is() {
    let simulated = run(Sglang { page_size: 64, ..Sglang::default() }, 50.0);
    let fingerprint = &simulated.recording.info.fingerprint;
    let value = |name: &str| fingerprint.get(name).map(ToString::to_string);
    assert_eq!(value("engine").as_deref(), Some("sglang"));
    assert_eq!(value("kv_block_size").as_deref(), Some("64"));
    assert_eq!(value("kv_blocks").as_deref(), Some("6750"));
}
