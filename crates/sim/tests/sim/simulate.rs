//! Whole runs in virtual time.

use firstcheck_model::{
    moment::Moment,
    request::Fate,
    run::{Arrivals, Detail},
    signal::{Part, Series},
    span::Stage,
    unit::Seconds,
};
use firstcheck_sim::{
    Deployment, EngineConfig, Scenario, SimError, SimulateOptions, simulate, simulate_scenario, simulate_with_truth,
};
use firstcheck_workload::{
    prompt::{Piece, Prompt},
    trace::{Due, Offered, Trace},
};

pub fn config() -> EngineConfig {
    EngineConfig { num_gpu_blocks: 1200, max_model_len: 8192, ..EngineConfig::default() }
}

fn offered(row: u32, due: Due) -> Offered {
    let pieces = vec![
        Piece::Synthetic { seed: u64::from(row % 3), tokens: 64 },
        Piece::Synthetic { seed: 1000 + u64::from(row), tokens: 200 + (row * 97) % 700 },
    ];
    Offered { due, prompt: Prompt::user(pieces), output_tokens: Some(20 + (row * 31) % 100), session: None }
}

fn with_items(arrivals: Arrivals, items: Vec<Offered>) -> Trace {
    Trace { description: "test".into(), arrivals, items, salt: None }
}

/// Open loop at a constant rate.
pub fn trace(requests: u32, rate: f64) -> Trace {
    let due = |row: u32| Due::At(Moment::from_seconds(f64::from(row) / rate));
    with_items(Arrivals::Open { rate, cv: Some(0.0) }, (0..requests).map(|row| offered(row, due(row))).collect())
}

fn series<'a>(signals: &'a [Series], name: &str) -> &'a Series {
    signals.iter().find(|series| series.name == name && series.part != Part::Bucket(0.0)).expect("the series")
}

#[test]
fn an_open_loop_is_recorded_event_by_event() {
    let trace = trace(100, 10.0);
    let options = SimulateOptions { warm_up: Seconds(2.0), ..SimulateOptions::new(1, "a") };
    let simulated = simulate_with_truth(&config(), &trace, &options).unwrap();
    let recording = &simulated.recording;
    assert_eq!(recording.info.detail, Detail::Events);
    let expected: u32 = trace.items.iter().filter_map(|item| item.output_tokens).sum();
    assert_eq!(recording.events.len(), expected as usize);
    assert!(recording.requests.0.iter().all(|request| request.fate == Fate::Completed));
    assert_eq!(recording.spans.len(), 500);
    for (row, request) in recording.requests.0.iter().enumerate() {
        let truth = simulated.truth.requests[row].unwrap();
        assert_eq!(request.intended, request.sent);
        assert_eq!(request.first_token.get(), truth.life.first_token_ns);
        assert_eq!(request.last_token.get(), truth.life.last_token_ns);
        let stage = |stage| recording.spans.iter().find(|s| s.request == row as u32 && s.stage == stage).unwrap();
        assert_eq!(stage(Stage::Queue).end, stage(Stage::Prefill).start);
        assert_eq!(stage(Stage::DecodePreempted).end, request.last_token);
        assert_eq!(stage(Stage::FrontEnd).start, request.sent);
        let input = truth.engine_input_ns();
        let ttft = request.first_token.ns_since(request.sent).unwrap();
        assert_eq!(ttft, input + truth.queue_ns().unwrap() + truth.prefill_ns().unwrap());
        assert!(input >= 2_000_000, "the frontend takes its time");
    }
}

#[test]
fn the_window_and_the_samples_cover_one_another() {
    let options =
        SimulateOptions { warm_up: Seconds(2.0), scrape_interval: Seconds(3.0), ..SimulateOptions::new(1, "a") };
    let recording = simulate(&config(), &trace(100, 10.0), &options).unwrap();
    let window = recording.info.window.unwrap();
    assert_eq!((window.start, window.end), (Moment::at(2_000_000_000), Moment::at(9_900_000_001)));
    let generation = series(&recording.signals, "vllm:generation_tokens_total");
    let at: Vec<f64> = generation.at.iter().filter_map(|at| at.seconds()).collect();
    assert_eq!(&at[..5], &[0.0, 2.0, 5.0, 8.0, 9.900_000_001]);
    assert!(at.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(*generation.value.last().unwrap(), recording.events.len() as f64);
    let delta = generation.delta(Some(window)).unwrap();
    assert_eq!((delta.from, delta.to), (window.start, window.end));
}

#[test]
fn counters_follow_the_events_at_every_sample() {
    let recording = simulate(&config(), &trace(150, 15.0), &SimulateOptions::new(3, "a")).unwrap();
    let generation = series(&recording.signals, "vllm:generation_tokens_total");
    for (at, value) in generation.at.iter().zip(&generation.value) {
        let seen = recording
            .events
            .iter()
            .filter(|event| {
                let sent = recording.requests[event.request as usize].sent;
                sent.plus_ns(event.since_sent_ns) < *at
            })
            .count();
        let end = recording.requests.0.iter().map(|request| request.done).max().unwrap();
        let expected = if *at == end { recording.events.len() } else { seen };
        assert_eq!(*value, expected as f64, "at {at:?}");
    }
}

#[test]
fn a_closed_loop_keeps_its_streams_busy() {
    let items = (0..40).map(|row| offered(row, Due::WhenFree)).collect();
    let trace = with_items(Arrivals::Closed { concurrency: 4 }, items);
    let recording = simulate(&config(), &trace, &SimulateOptions::new(1, "a")).unwrap();
    let mut changes: Vec<(Moment, i32)> = Vec::new();
    for request in &recording.requests.0 {
        assert_eq!(request.fate, Fate::Completed);
        changes.push((request.sent, 1));
        changes.push((request.done, -1));
    }
    changes.sort();
    let mut running = 0;
    let most = changes.iter().map(|(_, change)| {
        running += change;
        running
    });
    assert_eq!(most.max(), Some(4));
    assert!(recording.info.window.unwrap().end > recording.requests.0.iter().map(|r| r.done).max().unwrap());
}

#[test]
fn a_turn_follows_the_turn_before_it() {
    let think_ns = 500_000_000;
    let items = (0..9)
        .map(|row| match row % 3 {
            0 => offered(row, Due::WhenFree),
            _ => offered(row, Due::After { row: row - 1, think_ns }),
        })
        .collect();
    let trace = with_items(Arrivals::Closed { concurrency: 2 }, items);
    let recording = simulate(&config(), &trace, &SimulateOptions::new(1, "a")).unwrap();
    for row in [1, 2, 4, 5, 7, 8] {
        let (before, turn) = (&recording.requests[row - 1], &recording.requests[row]);
        assert_eq!(turn.sent.ns_since(before.done), Some(think_ns));
    }
    let first_session_end = recording.requests[2].done.min(recording.requests[5].done);
    assert_eq!(recording.requests[6].sent, first_session_end, "a stream stays with its session");
}

#[test]
fn equal_prefixes_are_found_and_a_salt_hides_nothing_within_a_run() {
    let cached = |salt: Option<&str>| {
        let mut trace = trace(60, 5.0);
        trace.salt = salt.map(Into::into);
        let recording = simulate(&config(), &trace, &SimulateOptions::new(1, "a")).unwrap();
        recording.requests.0.iter().filter_map(|request| request.cached_tokens).sum::<u32>()
    };
    assert!(cached(None) >= 57 * 48, "{}", cached(None));
    assert!(cached(Some("salt-1")) >= 57 * 48, "{}", cached(Some("salt-1")));
}

#[test]
fn a_client_that_gives_up_frees_the_engine() {
    let mut deployment = Deployment::single(config());
    deployment.client.timeout_seconds = Some(0.3);
    let options = SimulateOptions::new(1, "a");
    let simulated = simulate_scenario(&Scenario::steady(deployment), &trace(60, 30.0), &options).unwrap();
    let requests = &simulated.recording.requests.0;
    let gave_up = requests.iter().filter(|request| request.fate == Fate::TimedOut).count();
    assert!(gave_up > 0 && gave_up < 60, "{gave_up}");
    assert!(requests.iter().all(|request| request.done.since(request.sent).unwrap().0 <= 0.3 + 1e-9));
    let usage = series(&simulated.recording.signals, "vllm:kv_cache_usage_perc");
    assert_eq!(usage.value.last(), Some(&0.0));
}

#[test]
fn what_the_engine_refuses_is_a_rejected_request() {
    let mut trace = trace(3, 1.0);
    trace.items[1].prompt = Prompt::user(vec![Piece::Synthetic { seed: 1, tokens: 9000 }]);
    let recording = simulate(&config(), &trace, &SimulateOptions::new(1, "a")).unwrap();
    assert_eq!(recording.requests[1].fate, Fate::Rejected);
    assert!(recording.requests[1].error.as_ref().unwrap().contains("8192"));
    assert_eq!(recording.requests[2].fate, Fate::Completed);
}

#[test]
fn fewer_blocks_cost_queue_and_preemptions() {
    let run = |num_gpu_blocks| {
        let config = EngineConfig { num_gpu_blocks, ..config() };
        simulate_with_truth(&config, &trace(300, 40.0), &SimulateOptions::new(1, "a")).unwrap()
    };
    let (ample, small) = (run(12_000), run(700));
    let queue = |simulated: &firstcheck_sim::Simulated| {
        simulated.truth.requests.iter().flatten().filter_map(|request| request.queue_ns()).sum::<i64>()
    };
    assert_eq!(ample.truth.preemptions, 0);
    assert!(small.truth.preemptions > 0);
    assert!(queue(&small) > 10 * queue(&ample).max(1), "{} {}", queue(&small), queue(&ample));
    assert!(small.truth.peak_kv_usage > 0.95);
}

#[test]
fn traces_that_cannot_be_played_are_errors() {
    let free = with_items(Arrivals::Open { rate: 1.0, cv: None }, vec![offered(0, Due::WhenFree)]);
    let options = SimulateOptions::new(1, "a");
    assert_eq!(simulate(&config(), &free, &options), Err(SimError::NoStreams { row: 0 }));
    let after = with_items(Arrivals::Unknown, vec![offered(0, Due::After { row: 0, think_ns: 0 })]);
    assert_eq!(simulate(&config(), &after, &options), Err(SimError::TurnOrder { row: 0, after: 0 }));
    let options = SimulateOptions { warm_up: Seconds(f64::NAN), ..options };
    assert!(matches!(simulate(&config(), &trace(1, 1.0), &options), Err(SimError::Duration { name: "warm_up", .. })));
}

#[test]
fn a_healthy_run_keeps_its_books() {
    let (rate, trace) = (20.0, trace(800, 20.0));
    let options = SimulateOptions { scrape_interval: Seconds(0.05), ..SimulateOptions::new(1, "a") };
    let config = EngineConfig { num_gpu_blocks: 4000, ..config() };
    let simulated = simulate_with_truth(&config, &trace, &options).unwrap();
    assert!(simulated.recording.requests.0.iter().all(|request| request.fate == Fate::Completed));
    assert_eq!(simulated.truth.preemptions, 0);
    // Little's law, from what the page shows and what each request took within the engine.
    let mean = |name: &str| {
        let series = series(&simulated.recording.signals, name);
        let steady = series
            .at
            .iter()
            .zip(&series.value)
            .filter(|(at, _)| at.seconds().is_some_and(|seconds| (5.0..35.0).contains(&seconds)));
        let values: Vec<f64> = steady.map(|(_, value)| *value).collect();
        assert!(values.len() > 500, "{name}: {}", values.len());
        values.iter().sum::<f64>() / values.len() as f64
    };
    let within = mean("vllm:num_requests_running") + mean("vllm:num_requests_waiting");
    let stays: Vec<f64> = simulated.truth.requests[100..700]
        .iter()
        .flatten()
        .map(|truth| (truth.life.last_token_ns.unwrap() - truth.life.queued_ns) as f64 * 1e-9)
        .collect();
    let expected = rate * stays.iter().sum::<f64>() / stays.len() as f64;
    assert!((within / expected - 1.0).abs() < 0.1, "{within} in the engine, {expected} by Little's law");
}
