//! Clients that wait, give up, try again and go away.

use crate::simulate::{config, trace};
use firstcheck_model::{request::Fate, run::Arrivals};
use firstcheck_sim::{
    Deployment, EngineConfig, Scenario, SimulateOptions, Simulated, deployment::Client, simulate_scenario,
};
use firstcheck_workload::trace::{Due, Trace};

fn run(engine: EngineConfig, client: Client, trace: &Trace) -> Simulated {
    let deployment = Deployment { client, ..Deployment::single(engine) };
    simulate_scenario(&Scenario::steady(deployment), trace, &SimulateOptions::new(1, "a")).unwrap()
}

fn count(simulated: &Simulated, fate: Fate) -> usize {
    simulated.recording.requests.0.iter().filter(|request| request.fate == fate).count()
}

/// Requests that the engine admitted, over all attempts: each looks its prompt up once.
fn looked_up(simulated: &Simulated) -> f64 {
    let queries = simulated.recording.signals.iter().find(|s| s.name == "vllm:prefix_cache_queries_total");
    *queries.unwrap().value.last().unwrap()
}

#[test]
fn retries_feed_the_overload_they_come_from() {
    let crowded = EngineConfig { max_num_seqs: 4, ..config() };
    let impatient = Client { first_token_timeout_seconds: Some(0.5), ..Client::default() };
    let stubborn = Client { retries: 3, ..impatient };
    let trace = trace(200, 40.0);
    let (once, again) = (run(crowded.clone(), impatient, &trace), run(crowded, stubborn, &trace));
    assert!(count(&once, Fate::TimedOut) > 50, "{}", count(&once, Fate::TimedOut));
    assert!(again.truth.requests.iter().flatten().any(|request| request.attempts > 1));
    assert!(looked_up(&again) > looked_up(&once));
    assert!(again.recording.requests.0.iter().all(|request| request.done.reached()));
    let late = again.recording.requests.0.iter().filter(|r| r.fate == Fate::Completed);
    let longest = late.filter_map(|request| request.ttft()).map(|ttft| ttft.0).fold(0.0, f64::max);
    assert!(longest > 0.5, "time counts from the first send: {longest}");
}

#[test]
fn what_nobody_waits_for_is_computed_where_a_gateway_hides_the_hang_up() {
    let crowded = EngineConfig { max_num_seqs: 4, ..config() };
    let stubborn = Client { first_token_timeout_seconds: Some(0.5), retries: 3, ..Client::default() };
    let trace = trace(200, 40.0);
    let told = run(crowded.clone(), stubborn, &trace);
    let hidden = run(crowded, Client { hidden_hang_ups: true, ..stubborn }, &trace);
    let attempts = |simulated: &Simulated| -> u32 {
        simulated.truth.requests.iter().flatten().map(|request| u32::from(request.attempts)).sum()
    };
    assert!(attempts(&hidden) > 0);
    assert!(count(&hidden, Fate::Completed) < count(&told, Fate::Completed));
    assert!(looked_up(&hidden) > looked_up(&told));
    // An answer belongs to the attempt that the client still waits for: none came later than it would have waited.
    for request in hidden.recording.requests.0.iter().filter(|request| request.fate == Fate::Completed) {
        let events = request.output_tokens.unwrap();
        assert_eq!(Some(events), request.requested_tokens, "{request:?}");
    }
}

#[test]
fn patience_ends_with_the_first_token() {
    let client = Client { first_token_timeout_seconds: Some(0.4), ..Client::default() };
    let simulated = run(config(), client, &trace(30, 5.0));
    assert_eq!(count(&simulated, Fate::Completed), 30);
    assert!(simulated.recording.requests.0.iter().any(|request| request.e2e().unwrap().0 > 0.4));
}

#[test]
fn a_gate_outside_the_timer_hides_the_wait() {
    let trace = trace(120, 60.0);
    let gated = |gate_outside_timer| {
        let client = Client { concurrency_gate: Some(4), gate_outside_timer, ..Client::default() };
        run(config(), client, &trace)
    };
    let (honest, defect) = (gated(false), gated(true));
    let worst = |simulated: &Simulated| {
        let all = simulated.recording.requests.0.iter().filter_map(|request| request.ttft());
        all.map(|ttft| ttft.0).fold(0.0, f64::max)
    };
    assert!(worst(&honest) > 2.0, "{}", worst(&honest));
    assert!(worst(&defect) < 0.3, "{}", worst(&defect));
    let done = |simulated: &Simulated| simulated.recording.requests.0.iter().map(|request| request.done).max();
    assert_eq!(done(&honest), done(&defect), "the defect is in the clock alone");
    let mut changes: Vec<_> = honest.recording.requests.0.iter().flat_map(|r| [(r.sent, 1), (r.done, -1)]).collect();
    changes.sort_unstable();
    let mut in_flight = 0;
    let most = changes.iter().map(|(_, change)| {
        in_flight += change;
        in_flight
    });
    assert!(most.max() <= Some(5), "one may leave and one enter at the same moment");
}

#[test]
fn users_go_away() {
    let client = Client { abort_share: 0.5, abort_after_seconds: 0.2, ..Client::default() };
    let simulated = run(config(), client, &trace(200, 20.0));
    let gone = count(&simulated, Fate::Cancelled);
    assert!((60..=140).contains(&gone), "{gone}");
    assert_eq!(gone + count(&simulated, Fate::Completed), 200);
    assert!(
        simulated.truth.generation_tokens
            < trace(200, 20.0).items.iter().filter_map(|i| i.output_tokens).map(u64::from).sum()
    );
}

#[test]
fn users_think_longer() {
    let mut items = trace(6, 1.0).items;
    for row in [1, 2, 4, 5] {
        items[row].due = Due::After { row: row as u32 - 1, think_ns: 1_000_000_000 };
    }
    let sessions = Trace { description: "sessions".into(), arrivals: Arrivals::Unknown, items, salt: None };
    let simulated = run(config(), Client { think_factor: 2.5, ..Client::default() }, &sessions);
    let requests = &simulated.recording.requests;
    for row in [1, 2, 4, 5] {
        assert_eq!(requests[row].sent.ns_since(requests[row - 1].done), Some(2_500_000_000));
    }
}

#[test]
fn a_proxy_that_gathers_makes_bursts_of_events() {
    let zero_gaps = |flush_seconds| {
        let simulated = run(config(), Client { flush_seconds, ..Client::default() }, &trace(20, 4.0));
        let events = &simulated.recording.events;
        let mut by_request: Vec<_> = events.iter().map(|event| (event.request, event.since_sent_ns)).collect();
        by_request.sort_unstable();
        let zero = by_request.windows(2).filter(|pair| pair[0] == pair[1]).count();
        zero as f64 / by_request.len() as f64
    };
    assert_eq!(zero_gaps(0.0), 0.0);
    assert!(zero_gaps(0.1) > 0.5, "{}", zero_gaps(0.1));
}

#[test]
fn clients_out_of_range_are_refused() {
    for (client, name) in [
        (Client { timeout_seconds: Some(0.0), ..Client::default() }, "client.timeout_seconds"),
        (Client { concurrency_gate: Some(0), ..Client::default() }, "client.concurrency_gate"),
        (Client { abort_share: 1.5, ..Client::default() }, "client.abort_share"),
        (Client { think_factor: f64::NAN, ..Client::default() }, "client.think_factor"),
    ] {
        let said = Deployment { client, ..Deployment::single(config()) }.validate().unwrap_err().to_string();
        assert!(said.starts_with(name), "{said}");
    }
}
