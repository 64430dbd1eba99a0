//! `firstcheck ab` on servers behind HTTP: at addresses, and started by commands.

use crate::harness::{Bench, Said};
use firstcheck_bundle::Bundle;
use firstcheck_model::report::Report;
use firstcheck_sim::{
    EngineConfig,
    serve::{ServeOptions, Server},
};
use std::{
    collections::BTreeSet,
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};

/// Two short pairs.
const SHORT: [&str; 18] = [
    "--rate",
    "20",
    "--warm-up",
    "0s",
    "--duration",
    "1s",
    "--pairs",
    "2",
    "--input-tokens",
    "fixed:64",
    "--output-tokens",
    "fixed:8",
    "--seed",
    "5",
    "--format",
    "json",
    "--out",
    "ab",
];

fn engine() -> (Server, String) {
    let server = Server::start(EngineConfig::default(), ServeOptions::default()).unwrap();
    let url = format!("http://{}", server.addr());
    (server, url)
}

fn report(said: &Said) -> Report {
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A configuration whose sides are started by these commands on one port.
fn started(port: u16, base: &[&str], candidate: &[&str], more: &str) -> String {
    let side = |name: &str, start: &[&str]| {
        format!("[ab.{name}]\ntarget = \"http://127.0.0.1:{port}\"\nstart = {start:?}\ngrace_s = 5\n{more}\n")
    };
    side("base", base) + &side("candidate", candidate)
}

/// The simulated engine as a command.
fn serve(address: &str) -> [&str; 5] {
    [env!("CARGO_BIN_EXE_firstcheck"), "sim", "serve", "--addr", address]
}

#[test]
fn two_addresses_are_measured_on_one_trace_under_salts_of_their_own() {
    let bench = Bench::new();
    let ((_one, base), (_other, candidate)) = (engine(), engine());
    let said = bench.call(&[&["ab", "--base", &base, "--candidate", &candidate][..], &SHORT].concat());
    let found = report(&said);
    let ttft = found.metrics.iter().find(|row| row.metric == firstcheck_model::metric::Metric::Ttft).unwrap();
    assert_eq!(ttft.pairs, 2, "{:?}", found.why);
    let infos: Vec<_> = ["base", "candidate"]
        .iter()
        .flat_map(|role| (1..=2).map(move |n| format!("ab/pair-{n:02}-{role}")))
        .map(|name| Bundle::open(&bench.path(&name)).unwrap().info().clone())
        .collect();
    let traces: BTreeSet<_> = infos.iter().map(|info| info.workload.trace_hash.clone().unwrap()).collect();
    let salts: BTreeSet<_> = infos.iter().map(|info| info.workload.salt.clone().unwrap()).collect();
    let lengths: BTreeSet<_> = salts.iter().map(String::len).collect();
    assert_eq!((traces.len(), salts.len(), lengths.len()), (1, 4, 1), "{salts:?}");
    assert!(infos.iter().all(|info| info.place.as_ref().is_some_and(|place| place.experiment.starts_with("ab-5-"))));
}

#[test]
fn a_side_that_does_not_answer_costs_no_run_of_the_other() {
    let (_server, alive) = engine();
    let dead = format!("http://127.0.0.1:{}", free_port());
    // Whichever side the plan has first.
    for (base, candidate, named) in [(&alive, &dead, "candidate"), (&dead, &alive, "base")] {
        for seed in ["5", "6", "7"] {
            let bench = Bench::new();
            let asked = ["ab", "--base", base, "--candidate", candidate];
            let mut args = [&asked[..], &SHORT].concat();
            let place = args.iter().position(|arg| *arg == "--seed").unwrap();
            args[place + 1] = seed;
            let said = bench.expect(2, &args);
            assert!(said.err.contains(&format!("error: {named} does not answer, and nothing was run")), "{}", said.err);
            assert!(said.err.contains("start its server, or mend its address"), "{}", said.err);
            let runs = std::fs::read_dir(bench.path("ab")).unwrap().filter_map(Result::ok);
            assert!(!runs.into_iter().any(|entry| entry.path().is_dir()), "a run was made");
        }
    }
}

#[test]
fn one_server_on_both_sides_is_said() {
    let bench = Bench::new();
    let (server, url) = engine();
    let other_name = format!("http://localhost:{}", server.addr().port());
    for (candidate, out) in [(&url, "same"), (&other_name, "other-name")] {
        let mut args = [&["ab", "--base", &url, "--candidate", candidate][..], &SHORT].concat();
        *args.last_mut().unwrap() = out;
        let found = report(&bench.call(&args));
        assert!(found.notes.iter().any(|note| note.contains("are one server")), "{candidate}: {:?}", found.notes);
    }
}

#[test]
fn commands_start_a_server_for_each_run_and_nothing_is_left_of_it() {
    let bench = Bench::new();
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    bench.write("firstcheck.toml", &started(port, &serve(&address), &serve(&address), ""));
    let said = bench.call(&[&["ab"][..], &SHORT].concat());
    assert_eq!(report(&said).sides.base.unwrap().runs.len(), 2, "{}", said.err);
    for name in ["pair-01-base", "pair-01-candidate", "pair-02-base", "pair-02-candidate"] {
        let log = std::fs::read_to_string(bench.path(&format!("ab/logs/{name}.log"))).unwrap();
        assert!(log.contains("listening on"), "{name}: {log}");
        let bundle = Bundle::open(&bench.path(&format!("ab/{name}"))).unwrap();
        let kept = bundle.read_attached(&format!("{name}.log")).unwrap();
        assert!(String::from_utf8(kept).unwrap().contains("listening on"), "its log is kept with the run");
        assert_eq!(bundle.info().workload.salt, None, "a fresh server needs none");
    }
    assert!(TcpStream::connect(&address).is_err(), "the last server still listens");
    let ledger = std::fs::read_to_string(bench.path("ab/ledger.jsonl")).unwrap();
    assert_eq!(ledger.matches("\"stopped\"").count(), 4);
}

#[test]
fn a_server_that_a_killed_experiment_has_left_is_ended_before_it_goes_on() {
    let bench = Bench::new();
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    bench.write("firstcheck.toml", &started(port, &serve(&address), &serve(&address), ""));
    let mut child = bench.command(&[&["ab", "--quiet"][..], &SHORT].concat()).spawn().unwrap();
    let begun = Instant::now();
    while TcpStream::connect(&address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the first server does not come up");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(TcpStream::connect(&address).is_ok(), "a killed process cannot end what it has started");
    let said = bench.call(&[&["ab"][..], &SHORT].concat());
    assert_eq!(report(&said).sides.base.unwrap().runs.len(), 2, "{}", said.err);
    assert!(TcpStream::connect(&address).is_err());
}

#[test]
fn what_is_wrong_with_a_server_is_said_with_its_last_words() {
    let (server, url) = engine();
    let taken = server.addr().port();
    let sh = |script: &'static str| ["sh", "-c", script];
    let cases: [(u16, [&str; 3], &str, &[&str]); 4] = [
        (
            free_port(),
            sh("echo loading the weights; sleep 60"),
            "ready_timeout_s = 0.3",
            &["base was not ready after 0 s", "| loading the weights"],
        ),
        (
            free_port(),
            sh("echo out of memory >&2; exit 3"),
            "",
            &["base ended before it was ready (exit status: 3)", "| out of memory"],
        ),
        (free_port(), ["/no/such/program", "", ""], "", &["cannot start /no/such/program"]),
        (taken, sh("sleep 60"), "", &["something listens on", "stop it, or choose another port"]),
    ];
    for (port, start, more, expected) in cases {
        let bench = Bench::new();
        bench.write("firstcheck.toml", &started(port, &start, &start, more));
        let said = bench.expect(2, &[&["ab"][..], &SHORT].concat());
        expected.iter().for_each(|part| assert!(said.err.contains(part), "{}", said.err));
    }
    let bench = Bench::new();
    let model = ["ab", "--base", &url, "--candidate", &url, "--model", "gpt-5"];
    let said = bench.expect(2, &[&model[..], &SHORT].concat());
    assert!(said.err.contains("serves llama-3.1-8b, not gpt-5"), "{}", said.err);
}

#[test]
fn a_command_for_a_shell_is_refused_where_there_is_none() {
    let bench = Bench::new();
    let args = ["ab", "--aa", "--base", "http://127.0.0.1:1", "--base-start", "serve | tee log"];
    let said = bench.expect(2, &args);
    assert!(said.err.contains("start = ["), "{}", said.err);
    let said = bench.expect(2, &["ab", "--base", "sim:"]);
    assert!(said.err.contains("[ab.candidate] of firstcheck.toml"), "{}", said.err);
    let said = bench.expect(2, &["ab", "--aa", "--base", "http://{device}:8000"]);
    assert!(said.err.contains("--devices A,B"), "{}", said.err);
}
