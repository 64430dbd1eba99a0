//! `firstcheck run` against the simulated engine behind HTTP on a free port of this process.

use crate::{
    harness::{Bench, Said},
    schema,
};
use firstcheck_bundle::Bundle;
use firstcheck_model::{
    exit_code::exit_code,
    metric::Metric,
    report::{Quantity, Report},
    run::{CacheState, RunState},
};
use firstcheck_sim::{
    EngineConfig,
    serve::{ServeOptions, Server},
};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
};

fn engine() -> Server {
    Server::start(EngineConfig::default(), ServeOptions::default()).unwrap()
}

fn url(server: &Server) -> String {
    format!("http://{}", server.addr())
}

/// A report that holds to the schema and to its exit code. On a busy machine the client may find itself invalid, and
/// says so with 3: what was measured is there all the same.
fn json(said: &Said) -> Report {
    let value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert_eq!(schema::violations(&value), Vec::<String>::new());
    let report: Report = serde_json::from_value(value).unwrap();
    assert_eq!(said.code, i32::from(exit_code(&report, None)), "{:?}", report.invalid);
    report
}

const SHORT: &[&str] = &["--input-tokens", "fixed:64", "--output-tokens", "fixed:8", "--format", "json"];

#[test]
fn an_open_loop_is_measured_and_can_be_read_again() {
    let (bench, server) = (Bench::new(), engine());
    let url = url(&server);
    let mut args = vec!["run", "--url", &url, "--rate", "20", "--warm-up", "1s", "--duration", "2s", "--seed", "5"];
    args.extend(["--slo", "ttft=1s,itl=50ms", "--out", "measured"]);
    args.extend(SHORT);
    let report = json(&bench.call(&args));
    assert_eq!(report.seed, Some(5));
    let side = report.sides.candidate.as_ref().unwrap();
    let run = &side.runs[0];
    assert!((20..=60).contains(&run.requests), "two seconds at 20 a second: {}", run.requests);
    assert_eq!(run.fates.get("completed"), Some(&run.requests), "{run:?}");
    assert_eq!(side.fingerprint.get("model"), Some("llama-3.1-8b"));
    for (metric, stat) in [(Metric::Ttft, "p50"), (Metric::Tpot, "p50"), (Metric::Goodput, "total")] {
        let row = report.metric(metric, stat).unwrap_or_else(|| panic!("no {metric} {stat}"));
        assert!(matches!(row.candidate, Some(Quantity::Finite(value)) if value > 0.0), "{row:?}");
    }
    let again = json(&bench.call(&["report", "measured", "--format", "json"]));
    assert_eq!(again.metric(Metric::Ttft, "p50"), report.metric(Metric::Ttft, "p50"));
    let bundle = Bundle::open(&bench.path("measured")).unwrap();
    assert_eq!(bundle.info().workload.cache, CacheState::Cold, "salted prompts share nothing with an earlier run");
    assert!(!bundle.signals().unwrap().is_empty(), "/metrics was scraped");
}

#[test]
fn one_seed_gives_one_trace_and_another_another() {
    let (bench, server) = (Bench::new(), engine());
    let url = url(&server);
    let hash = |out: &str, seed: &str| {
        let mut args = vec!["run", "--url", &url, "--rate", "50", "--requests", "10", "--seed", seed, "--out", out];
        args.extend(SHORT);
        json(&bench.call(&args));
        Bundle::open(&bench.path(out)).unwrap().info().workload.trace_hash.clone().unwrap()
    };
    let first = hash("a", "1");
    assert_eq!(first, hash("b", "1"));
    assert_ne!(first, hash("c", "2"));
}

#[test]
fn every_way_of_asking_works() {
    let (bench, server) = (Bench::new(), engine());
    let url = url(&server);
    bench
        .write("bodies.jsonl", "{\"messages\": [{\"role\": \"user\", \"content\": \"one two\"}], \"max_tokens\": 4}\n");
    let cases: [&[&str]; 6] = [
        &["--concurrency", "2", "--requests", "6"],
        &["--endpoint", "completions", "--rate", "50", "--requests", "6"],
        &["--no-stream", "--rate", "50", "--requests", "6"],
        &["--arrivals", "gamma:2", "--rate", "50", "--requests", "6", "--prefix", "groups=2,tokens=32,share=0.5"],
        &["--rate", "50", "--requests", "6", "--turns", "fixed:2", "--salt", "none", "--extra-body", "{\"top_k\": 1}"],
        &["--rate", "50", "--requests", "6", "--header", "x-team: blue", "--model", "llama-3.1-8b"],
    ];
    for (n, case) in cases.into_iter().enumerate() {
        let out = format!("run-{n}");
        let mut args = vec!["run", "--url", &url, "--out", &out];
        args.extend(case);
        args.extend(SHORT);
        let report = json(&bench.call(&args));
        let run = &report.sides.candidate.as_ref().unwrap().runs[0];
        assert_eq!((run.requests, run.fates.get("completed")), (6, Some(&6)), "{case:?}: {run:?}");
    }
    let bodies = ["--workload", "bodies:bodies.jsonl", "--rate", "50", "--format", "json"];
    let report = json(&bench.call(&[&["run", "--url", &url][..], &bodies[..]].concat()));
    assert_eq!(report.sides.candidate.unwrap().runs[0].requests, 1);
    assert!(Bundle::is_bundle(&bench.path("firstcheck-run")), "the folder without --out");
}

#[test]
fn a_sweep_is_a_run_for_each_level() {
    let (bench, server) = (Bench::new(), engine());
    let url = url(&server);
    let mut args = vec!["run", "--url", &url, "--sweep-rate", "40,80", "--requests", "12", "--out", "sweep"];
    args.extend(SHORT);
    let report = json(&bench.call(&args));
    assert_eq!(report.sides.candidate.as_ref().unwrap().runs.len(), 2);
    let slices: Vec<_> = report
        .metrics
        .iter()
        .filter(|row| row.metric == Metric::Ttft && row.stat == "p50")
        .map(|row| &row.slice)
        .collect();
    assert_eq!(slices, [&Some("rate 40".to_owned()), &Some("rate 80".to_owned())]);
    for level in ["sweep/rate-40", "sweep/rate-80"] {
        assert!(Bundle::is_bundle(&bench.path(level)), "{level}");
    }
}

#[test]
fn arguments_that_do_not_go_together_are_refused() {
    let bench = Bench::new();
    let url = ["run", "--url", "http://127.0.0.1:9"];
    let cases: [(&[&str], &str); 9] = [
        (&[], "arrivals"),
        (&["--arrivals", "poisson"], "needs a rate"),
        (&["--arrivals", "trace", "--rate", "4"], "has its own times"),
        (&["--rate", "4", "--concurrency", "2"], "cannot be used with"),
        (&["--rate", "4", "--workload", "mooncake"], "expected mooncake:FILE"),
        (&["--rate", "4", "--workload", "mooncake:nowhere.jsonl"], "cannot read nowhere.jsonl"),
        (&["--rate", "4", "--key-env", "FIRSTCHECK_TEST_NO_SUCH_KEY"], "FIRSTCHECK_TEST_NO_SUCH_KEY"),
        (&["--rate", "4", "--extra-body", "[1]"], "expected a JSON object"),
        (&["--rate", "0"], "arrivals"),
    ];
    for (case, expected) in cases {
        let said = bench.expect(2, &[&url[..], case].concat());
        assert!(said.err.contains(expected), "{case:?}: {}", said.err);
    }
}

#[test]
fn a_folder_that_is_used_is_not_written_into() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("used")).unwrap();
    bench.write("used/notes.txt", "mine");
    let said = bench.expect(2, &["run", "--url", "http://127.0.0.1:9", "--rate", "4", "--out", "used"]);
    assert!(said.err.contains("used is not empty"), "{}", said.err);
}

/// A server that never answers a question, and tells when one was asked.
fn silent_server() -> (String, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, told) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let asked = asked.clone();
            thread::spawn(move || silently(stream, &asked));
        }
    });
    (url, told)
}

fn silently(mut stream: TcpStream, asked: &mpsc::Sender<()>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    if lines.read_line(&mut first).is_err() {
        return;
    }
    if first.starts_with("GET") {
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return;
    }
    let _ = asked.send(());
    // Until the client goes away.
    let _ = lines.read_to_end(&mut Vec::new());
}

#[cfg(unix)]
#[test]
fn an_interrupt_finishes_the_bundle_and_exits_3() {
    let bench = Bench::new();
    let (url, asked) = silent_server();
    let args = ["run", "--url", &url, "--model", "m", "--rate", "50", "--duration", "10m", "--out", "cut"];
    let child = bench.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    asked.recv().unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{out}\n{}", String::from_utf8_lossy(&output.stderr));
    let bundle = Bundle::open(&bench.path("cut")).unwrap();
    let RunState::Interrupted { reason } = &bundle.info().state else { panic!("{:?}", bundle.info().state) };
    assert!(reason.contains("ctrl-c"), "{reason}");
    assert!(out.contains("not to be believed"), "{out}");
}

#[test]
fn a_server_that_is_not_there_is_2_with_its_address() {
    let bench = Bench::new();
    // A port that was free a moment ago, so that nothing listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}");
    let said = bench.expect(2, &["run", "--url", &url, "--rate", "4", "--requests", "2"]);
    assert!(said.err.contains(&address.to_string()), "{}", said.err);
}

#[test]
fn sim_serve_says_where_it_listens_and_answers() {
    let bench = Bench::new();
    let mut child = bench
        .command(&[
            "sim",
            "serve",
            "--addr",
            "127.0.0.1:0",
            "--blocks",
            "1800",
            "--max-model-len",
            "8192",
            "--model",
            "mine",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answer.contains("\"mine\""), "{answer}");
}

#[test]
fn sim_serve_refuses_what_no_engine_takes() {
    let bench = Bench::new();
    for args in [&["--blocks", "0"][..], &["--time-scale", "0"]] {
        let said = bench.expect(2, &[&["sim", "serve", "--addr", "127.0.0.1:0"][..], args].concat());
        assert!(said.err.starts_with("error: "), "{args:?}: {}", said.err);
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = bench.expect(2, &["sim", "serve", "--addr", &address]);
    assert!(said.err.contains(&address), "{}", said.err);
}

#[test]
fn a_fingerprint_says_what_it_is_and_what_differs() {
    let bench = Bench::new();
    let small = EngineConfig { num_gpu_blocks: 1800, max_model_len: 8192, ..EngineConfig::default() };
    let (base, candidate) = (engine(), Server::start(small, ServeOptions::default()).unwrap());
    let (base, candidate) = (url(&base), url(&candidate));
    let one = json(&bench.call(&["fingerprint", &base, "--format", "json"]));
    assert_eq!(one.sides.candidate.unwrap().fingerprint.get("engine"), Some("vllm"));
    let two = json(&bench.call(&["fingerprint", &base, &candidate, "--format", "json"]));
    let blocks = two.differences.iter().find(|one| one.field == "kv_blocks").expect("the blocks differ");
    assert_eq!(blocks.base, EngineConfig::default().num_gpu_blocks.to_string());
    assert_eq!(blocks.candidate, "1800");
    let said = bench.expect(2, &["fingerprint", "http://127.0.0.1:1"]);
    assert!(said.err.contains("127.0.0.1:1"), "{}", said.err);
}

#[test]
fn a_probe_says_its_cost_and_leaves_a_run() {
    let (bench, server) = (Bench::new(), engine());
    let url = url(&server);
    let args = ["diagnose", "--live", &url, "--probe=8", "--for", "1s", "--model", "llama-3.1-8b"];
    let said = bench.expect(0, &[&args[..], &["--format", "json"]].concat());
    assert!(said.err.contains("8 requests over 1 s, 4,096 tokens of prompts and at most 256 of answers"), "{said:?}");
    let report: Report = serde_json::from_str(&said.out).unwrap();
    assert!(report.notes.iter().any(|note| note == "bundle of the probe: firstcheck-probe"), "{:?}", report.notes);
    let requests = Bundle::open(&bench.path("firstcheck-probe")).unwrap().requests().unwrap().0;
    assert_eq!(requests.len(), 8);
    assert_eq!(requests.iter().filter(|request| request.schema.is_some()).count(), 4);
    assert_eq!((requests[0].prompt_hash, requests[1].prompt_hash), (requests[2].prompt_hash, requests[0].prompt_hash));
}

#[test]
fn a_probe_is_refused_where_there_is_no_engine() {
    let bench = Bench::new();
    bench.write("server.log", "INFO started\n");
    let said = bench.expect(2, &["diagnose", "server.log", "--probe"]);
    assert!(said.err.contains("--probe asks an engine: give its address"), "{said:?}");
    let said = bench.expect(2, &["diagnose", "--live", "server.log"]);
    assert!(said.err.contains("--live server.log: give an address"), "{said:?}");
    bench.expect(2, &["diagnose"]);
}
