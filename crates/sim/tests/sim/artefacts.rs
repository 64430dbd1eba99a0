//! Files beside a recording.

use firstcheck_model::run::Arrivals;
use firstcheck_sim::{
    EngineConfig, SimulateOptions,
    config::{Leak, Memory, Throttle},
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
    let mut undated = logged.recording;
    assert!(undated.info.clock.started_unix_ns.is_some(), "a log has dates, so the run has one");
    undated.info.clock.started_unix_ns = None;
    assert_eq!(none.recording, undated, "watching changes nothing else");
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

#[test]
fn a_span_agrees_with_the_truth_and_is_joined_by_its_trace() {
    let simulated =
        run(Deployment::uniform(EngineConfig::default(), 2), 20, Artefacts { spans: true, ..Artefacts::default() });
    let mut told = 0;
    for line in text(&simulated, "traces.jsonl").lines() {
        let document: serde_json::Value = serde_json::from_str(line).unwrap();
        let spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
        for span in spans {
            let trace = span["traceId"].as_str().unwrap();
            let same = |request: &&firstcheck_model::request::Request| request.trace_id.as_deref() == Some(trace);
            let row =
                simulated.recording.requests.0.iter().position(|request| same(&request)).expect("a row of that trace");
            let truth = simulated.truth.requests[row].unwrap();
            let attribute = |key: &str| {
                let all = span["attributes"].as_array().unwrap();
                all.iter().find(|attribute| attribute["key"] == key).unwrap()["value"].clone()
            };
            let seconds = |key: &str| attribute(key)["doubleValue"].as_f64().unwrap();
            assert_eq!(attribute("gen_ai.usage.prompt_tokens")["intValue"], truth.prompt_tokens.to_string());
            assert!(
                (seconds("gen_ai.latency.time_in_model_prefill") - truth.prefill_ns().unwrap() as f64 * 1e-9).abs()
                    < 1e-9
            );
            let start: i64 = span["startTimeUnixNano"].as_str().unwrap().parse().unwrap();
            assert_eq!(start - simulated.recording.info.clock.started_unix_ns.unwrap(), truth.life.arrival_ns);
            told += 1;
        }
    }
    assert_eq!(told, 20);
}

/// The last value of a series of a page, with one label.
fn last(simulated: &Simulated, page: &str, name: &str, label: (&str, &str)) -> f64 {
    let series = &simulated.recording.signals;
    let found = series
        .iter()
        .find(|series| series.page == page && series.name == name && series.labels.get(label.0) == Some(label.1));
    *found.unwrap_or_else(|| panic!("{page}: {name}")).value.last().unwrap()
}

#[test]
fn the_machine_tells_a_throttled_replica_from_its_peers() {
    let mut deployment = Deployment::uniform(EngineConfig::default(), 2);
    let slow = &mut deployment.replicas[1].engine;
    (slow.machine.clock_share, slow.machine.throttle, slow.gpu_slowness) = (0.7, Throttle::Thermal, 1.3);
    let mut simulated = run(deployment, 60, Artefacts { machine: true, ..Artefacts::default() });
    // The last sample is taken at rest: what is asked is the one before it.
    for series in &mut simulated.recording.signals {
        series.value.pop();
    }
    let of = |name: &str, replica: &str| last(&simulated, "dcgm", name, ("pod", replica));
    assert_eq!(of("DCGM_FI_DEV_SM_CLOCK", "replica-0"), 1980.0);
    assert!((of("DCGM_FI_DEV_SM_CLOCK", "replica-1") - 1386.0).abs() < 1e-9);
    assert_eq!(of("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "replica-0"), 0.0);
    assert_eq!(of("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "replica-1"), 32.0);
    assert!(
        of("DCGM_FI_DEV_THERMAL_VIOLATION", "replica-1") > 0.0 && of("DCGM_FI_DEV_POWER_VIOLATION", "replica-1") == 0.0
    );
    assert!(of("DCGM_FI_DEV_GPU_UTIL", "replica-1") > of("DCGM_FI_DEV_GPU_UTIL", "replica-0"));
    let used = of("DCGM_FI_DEV_FB_USED", "replica-0");
    assert!(used > 60_000.0 && used + of("DCGM_FI_DEV_FB_FREE", "replica-0") == (79.19_f64 * 1024.0).round());
}

#[test]
fn the_container_shows_a_leak_where_the_server_s_own_page_does_not() {
    let mut memory = Memory::default();
    memory.host.leak =
        Leak { process: firstcheck_sim::config::Leaker::Core, per_request: 64e6, swapped: 0.5, ..Leak::default() };
    let deployment = Deployment::single(EngineConfig { memory, ..EngineConfig::default() });
    let simulated = run(deployment, 30, Artefacts { machine: true, ..Artefacts::default() });
    let series = |page: &str, name: &str| {
        let found = simulated.recording.signals.iter().find(|series| series.page == page && series.name == name);
        found.unwrap_or_else(|| panic!("{name}")).value.clone()
    };
    let grown = |values: &[f64]| values.last().unwrap() - values.first().unwrap();
    assert_eq!(grown(&series("main", "process_resident_memory_bytes")), 0.0);
    assert!((grown(&series("cadvisor", "container_memory_rss")) - 30.0 * 32e6).abs() < 1.0);
    assert!((grown(&series("cadvisor", "container_memory_swap")) - 30.0 * 32e6).abs() < 1.0);
    let smaps = text(&simulated, "smaps_rollup-replica-0.txt");
    let core: Vec<&str> = smaps.split("# ").filter(|snapshot| snapshot.contains("pid=2376")).collect();
    let anonymous = |snapshot: &str| -> f64 {
        let line = snapshot.lines().find(|line| line.starts_with("Anonymous:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0
    };
    assert!((anonymous(core.last().unwrap()) - anonymous(core[0]) - 30.0 * 32e6).abs() < 2048.0);
}
