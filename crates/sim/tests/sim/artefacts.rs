//! Files beside a recording.

use crate::real::artefact;
use firstcheck_model::run::Arrivals;
use firstcheck_sim::{
    EngineConfig, SimulateOptions,
    config::{Hang, HangCause, Leak, Memory, Throttle},
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

#[test]
fn the_step_log_accounts_for_all_the_time_spent_in_steps() {
    let simulated =
        run(Deployment::uniform(EngineConfig::default(), 2), 20, Artefacts { steps: true, ..Artefacts::default() });
    for (replica, truth) in simulated.truth.replicas.iter().enumerate() {
        let log = text(&simulated, &format!("steps-replica-{replica}.jsonl"));
        let steps: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(steps.len() as u64, truth.steps);
        let busy: f64 = steps.iter().map(|step| step["duration"].as_f64().unwrap()).sum();
        assert!((busy - truth.busy_ns as f64 * 1e-9).abs() < 1e-6, "{busy}");
        assert!(steps.iter().all(|step| step.get("ranks").is_none() && step["graph"].is_string()));
    }
}

/// Dumps of a hang by name.
fn hung(cause: HangCause) -> Simulated {
    let mut engine = EngineConfig {
        hang: Some(Hang { cause, ranks: 4, rank: 2, sequence: 5730, ..Hang::default() }),
        ..EngineConfig::default()
    };
    engine.host.frozen = true;
    let options = SimulateOptions {
        artefacts: Artefacts { dumps: true, ..Artefacts::default() },
        ..SimulateOptions::new(1, "run")
    };
    let mut deployment = Deployment::single(engine);
    deployment.client.timeout_seconds = Some(90.0);
    simulate_scenario(&Scenario::steady(deployment), &trace(3), &options).unwrap()
}

#[test]
fn a_hang_leaves_dumps_of_every_rank_that_tell_its_cause() {
    let innermost = |simulated: &Simulated, rank: u32| -> String {
        let dump = text(simulated, &format!("pyspy_rank{rank}.txt")).to_owned();
        let main = dump.split("\"MainThread\"\n").nth(1).unwrap().to_owned();
        main.trim_start().split(' ').next().unwrap().to_owned()
    };
    let record = |simulated: &Simulated, rank: u32| -> serde_json::Value {
        serde_json::from_str(text(simulated, &format!("fr_trace_json_rank{rank}.json"))).unwrap()
    };
    let enqueued = |simulated: &Simulated, rank: u32| -> u64 {
        let stated = &record(simulated, rank)["pg_status"]["2"]["last_enqueued_collective"];
        stated.as_str().unwrap().parse().unwrap()
    };
    let last = |simulated: &Simulated, rank: u32| {
        record(simulated, rank)["entries"].as_array().unwrap().last().unwrap().clone()
    };
    let transport = hung(HangCause::Transport);
    for rank in 0..4 {
        assert_eq!((innermost(&transport, rank).as_str(), enqueued(&transport, rank)), ("all_reduce", 5730));
        assert_eq!(last(&transport, rank)["state"], "started");
    }
    let lock = hung(HangCause::Lock);
    assert_eq!((innermost(&lock, 2).as_str(), enqueued(&lock, 2), enqueued(&lock, 1)), ("wait", 5729, 5730));
    assert_eq!(last(&lock, 2)["state"], "completed");
    let compile = hung(HangCause::Compile);
    assert!(text(&compile, "pyspy_rank2.txt").contains("(active): \"MainThread\"\n    make_cubin"));
    let skipped = hung(HangCause::Skipped);
    assert_eq!(
        (enqueued(&skipped, 2), enqueued(&skipped, 0), innermost(&skipped, 2).as_str()),
        (5731, 5730, "all_gather_into_tensor")
    );
    let size = hung(HangCause::OtherSize);
    assert_ne!(last(&size, 2)["input_sizes"], last(&size, 1)["input_sizes"]);
    assert_eq!(last(&hung(HangCause::NoSource), 0)["profiling_name"], "nccl:broadcast");
    assert_eq!(innermost(&hung(HangCause::Queue), 3), "acquire_read");
    let gone = hung(HangCause::Gone);
    assert!(!gone.attachments.iter().any(|file| file.name.contains("rank2")) && gone.attachments.len() == 7);
}

#[test]
fn records_have_the_fields_of_real_ones() {
    let Some(real) = artefact("traces/flight_recorder/fr_trace_json_rank0.json") else { return };
    let real: serde_json::Value = serde_json::from_str(&real).unwrap();
    let simulated = hung(HangCause::Transport);
    let ours: serde_json::Value = serde_json::from_str(text(&simulated, "fr_trace_json_rank0.json")).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&ours), keys(&real));
    assert_eq!(keys(&ours["entries"][0]), keys(&real["entries"][0]));
    let kinds = |entry: &serde_json::Value| -> Vec<_> {
        entry.as_object().unwrap().values().map(std::mem::discriminant).collect()
    };
    assert_eq!(kinds(&ours["entries"][0]), kinds(&real["entries"][0]), "numbers are numbers and texts are texts");
    assert_eq!(keys(&ours["pg_status"]["2"]), keys(&real["pg_status"]["0"]));
    let Some(real) = artefact("traces/pyspy/pyspy_rank0.txt") else { return };
    // Numbers and names blotted out, the lines of a dump are of five forms.
    let form = |line: &str| match line {
        "" => "empty".to_owned(),
        line if line.starts_with("Process ") || line.starts_with("Python v") => {
            line.split(' ').next().unwrap().to_owned()
        }
        line if line.starts_with("Thread ") => {
            let rest: Vec<&str> = line.splitn(4, ' ').collect();
            format!("Thread {} {}", rest[2].starts_with('(') && rest[2].ends_with("):"), rest[3].starts_with('"'))
        }
        line => format!("call {} {}", line.starts_with("    "), line.ends_with(')') && line.contains(':')),
    };
    let forms = |text: &str| text.lines().map(form).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(forms(text(&simulated, "pyspy_rank0.txt")), forms(&real));
}
