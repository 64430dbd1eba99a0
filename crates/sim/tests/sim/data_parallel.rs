//! Attention ranks with requests of their own, which take every step together.

use crate::{
    deployment::served,
    simulate::{config, trace},
};
use firstcheck_model::{
    request::Fate,
    signal::{Part, Series},
};
use firstcheck_sim::{
    DataRank, Deployment, DeploymentError, EngineConfig, Scenario, SimulateOptions, Simulated, simulate::Artefacts,
    simulate_scenario,
};

const RANKS: u32 = 4;

fn play(engine: &EngineConfig, skew: f64, rate: f64) -> Simulated {
    let mut deployment = Deployment::ranks(engine, RANKS);
    deployment.routing.skew = skew;
    let artefacts = Artefacts { steps: true, logs: true, ..Artefacts::default() };
    let options = SimulateOptions { artefacts, ..SimulateOptions::new(1, "a") };
    simulate_scenario(&Scenario::steady(deployment), &trace(120, rate), &options).unwrap()
}

fn text<'a>(simulated: &'a Simulated, name: &str) -> &'a str {
    let file = simulated.attachments.iter().find(|file| file.name == name).expect("the file");
    std::str::from_utf8(&file.content).unwrap()
}

/// Begin and end of each step of a rank in nanoseconds, with the time that it waits for the others.
fn steps(simulated: &Simulated, rank: u32) -> Vec<(i64, i64, f64)> {
    let of = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let seconds = |name: &str| line[name].as_f64().unwrap();
        let ns = |seconds: f64| (seconds * 1e9).round() as i64;
        (ns(seconds("start")), ns(seconds("start") + seconds("duration")), seconds("wait"))
    };
    text(simulated, &format!("steps-rank-{rank}.jsonl")).lines().map(of).collect()
}

#[test]
fn ranks_begin_and_end_their_steps_together() {
    for engine in [config(), EngineConfig { max_model_len: 8192, ..EngineConfig::sglang() }] {
        let simulated = play(&engine, 0.0, 20.0);
        assert!(simulated.recording.requests.0.iter().all(|request| request.fate == Fate::Completed));
        let all: Vec<_> = (0..RANKS).map(|rank| steps(&simulated, rank)).collect();
        let mut together = 0;
        for (first, others) in all.iter().enumerate().map(|(place, steps)| (steps, &all[place + 1..])) {
            for (begins, ends, waits) in first {
                assert!(*waits >= 0.0);
                for (begins_too, ends_too, _) in others.iter().flatten() {
                    let overlap = begins < ends_too && begins_too < ends;
                    assert_eq!(overlap, begins == begins_too && ends == ends_too, "{begins} {begins_too}");
                    together += usize::from(overlap);
                }
            }
        }
        assert!(together > 100, "{together} pairs of steps");
        // The slowest of those that have something to compute waits for nobody.
        let slowest = |(begins, ..): &(i64, i64, f64)| {
            let beside = all.iter().flatten().filter(|(begins_too, ..)| begins == begins_too);
            beside.map(|(.., waits)| *waits).fold(f64::INFINITY, f64::min)
        };
        assert!(all[0].iter().all(|step| slowest(step) < 1e-8));
        assert!(all.iter().flatten().any(|(.., waits)| *waits > 1e-3), "a prompt holds up the others");
    }
}

#[test]
fn one_rank_can_be_changed_by_its_name() {
    let mut deployment = Deployment::ranks(&config(), RANKS);
    deployment.set("rank-1.host_seconds=0.02").unwrap();
    let slow: Vec<bool> = deployment.replicas.iter().map(|rank| rank.engine.host_seconds == 0.02).collect();
    assert_eq!(slow, [false, true, false, false]);
    let said = deployment.set("rank-4.host_seconds=0.02").unwrap_err().to_string();
    assert!(said.contains("there is no rank-4"), "{said}");
}

#[test]
fn one_page_and_one_log_tell_of_every_rank() {
    let simulated = play(&config(), 0.0, 5.0);
    let named = |name: &str, part| -> Vec<&Series> {
        let all = simulated.recording.signals.iter();
        all.filter(|series| series.name == name && series.part == part).collect()
    };
    let generated = named("vllm:generation_tokens_total", Part::Value);
    let ranks: Vec<&str> = generated.iter().filter_map(|series| series.labels.get("engine")).collect();
    assert_eq!(ranks, ["0", "1", "2", "3"]);
    assert!(generated.iter().all(|series| series.page == "main"));
    let last: f64 = generated.iter().map(|series| series.value.last().unwrap()).sum();
    assert_eq!(last, simulated.recording.events.len() as f64);
    for series in named("vllm:kv_cache_usage_perc", Part::Value).iter().chain(&generated) {
        assert!(series.at.windows(2).all(|pair| pair[0] < pair[1]), "one sample a reading: {series:?}");
        assert!(series.value.iter().any(|value| *value > 0.0), "each rank has a pool of its own");
    }
    assert_eq!(named("process_start_time_seconds", Part::Value).len(), 1, "they share the process that answers");
    let log = text(&simulated, "server.log");
    let lines = |rank: u32| log.lines().filter(|line| line.contains(&format!("Engine {rank:03}: Avg prompt"))).count();
    assert!(lines(0) >= 2);
    assert!((1..RANKS).all(|rank| lines(rank) == lines(0)), "{log}");
    assert!(log.contains("data_parallel_size=4") && log.contains("'enable_expert_parallel': True"));
    assert_eq!(log.matches("Initializing a V1 LLM engine").count(), 1);
}

#[test]
fn sglang_s_schedulers_have_labels_and_lines_of_their_own_and_its_requests_have_none() {
    let simulated = play(&EngineConfig { max_model_len: 8192, ..EngineConfig::sglang() }, 0.0, 20.0);
    let signals = &simulated.recording.signals;
    let labelled = |name: &str| -> Vec<Option<&str>> {
        let all = signals.iter().filter(|series| series.name == name && series.part == Part::Value);
        all.map(|series| series.labels.get("dp_rank")).collect()
    };
    assert_eq!(labelled("sglang:num_running_reqs"), [Some("0"), Some("1"), Some("2"), Some("3")]);
    assert_eq!(labelled("sglang:num_requests_total"), [None]);
    let finished = signals.iter().find(|series| series.name == "sglang:num_requests_total").unwrap();
    assert_eq!(finished.value.last(), Some(&120.0), "those of all ranks");
    let log = text(&simulated, "server.log");
    assert!((0..RANKS).all(|rank| log.contains(&format!(" DP{rank} TP{rank}] Prefill batch"))), "{log}");
    assert!(log.contains("'dp_size': 4, 'enable_dp_attention': True"));
}

#[test]
fn skew_sends_the_most_to_the_first_rank() {
    assert_eq!(served(&play(&config(), 0.0, 20.0)), [30; 4]);
    let skewed = served(&play(&config(), 0.6, 20.0));
    assert!(skewed[0] > 60 && skewed[1..].iter().all(|others| (5..30).contains(others)), "{skewed:?}");
}

#[test]
fn the_ranks_of_a_server_are_all_its_replicas() {
    let mut alone = Deployment::uniform(config(), 2);
    alone.replicas[1].engine.parallel.data = DataRank { rank: 1, of: 2 };
    let mut mixed_up = Deployment::ranks(&config(), 2);
    mixed_up.replicas.reverse();
    let mut short = Deployment::ranks(&config(), 3);
    short.replicas.truncate(2);
    for deployment in [alone, mixed_up, short] {
        assert!(matches!(deployment.validate(), Err(DeploymentError::Ranks { .. })), "{deployment:?}");
    }
    assert_eq!(Deployment::ranks(&config(), 1).validate(), Ok(()));
}
