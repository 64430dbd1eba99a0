//! `diagnose` against a real Prometheus that scrapes the simulated engine, and holds a day that was filled in.

use crate::{
    harness::{Bench, Said},
    schema::violations,
};
use firstcheck_ingest::{
    Input, Limits, collect,
    prometheus::{Sample, parse},
};
use firstcheck_model::{
    evidence::RunEvidence,
    report::Quantity,
    signal::{Part, SeriesKind},
};
use firstcheck_observe::{
    Headers, HttpClient, Settings,
    prometheus::{Ask, Bounds, PrometheusApi, Span, Way},
};
use firstcheck_sim::{
    EngineConfig,
    serve::{ServeOptions, Server},
};
use serde_json::Value;
use std::{
    fmt::Write as _,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Longest wait for the server to do what it must do.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two questions whether it has.
const PAUSE: Duration = Duration::from_millis(100);

/// A Prometheus, ended when the test does.
struct Prometheus {
    child: Child,
    addr: SocketAddr,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    /// Starts one over the data in `folder`; `None` where none is installed.
    fn start(folder: &Path, engine: SocketAddr) -> Option<Self> {
        let config = folder.join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: engine\n  static_configs:\n  - targets: ['{engine}']\n"
        );
        std::fs::write(&config, text).unwrap();
        let addr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={addr}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match child {
            Ok(child) => Some(Self { child, addr }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                eprintln!("SKIPPED: no `prometheus` can be run, diagnose is not held against a real one");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The newest value of an expression, where there is one.
    fn value(&self, expression: &str) -> Option<f64> {
        let answer = http(self.addr, &format!("GET /api/v1/query?query={expression} HTTP/1.1"), "").ok()?;
        let answer: Value = serde_json::from_str(&answer).ok()?;
        answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
    }

    fn wait_until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert_eq!(self.child.try_wait().unwrap(), None, "prometheus ended");
            assert!(began.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
            thread::sleep(PAUSE);
        }
    }
}

fn http(addr: SocketAddr, line: &str, body: &str) -> std::io::Result<String> {
    let mut socket = TcpStream::connect(addr)?;
    let length = body.len();
    let head = "Host: x\r\nConnection: close\r\nContent-Type: application/json";
    write!(socket, "{line}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.to_owned()))
}

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// Ten minutes of a replica that preempts `a_sample` times between two of its scrapes, until `end`.
fn past(text: &mut String, end: i64, a_sample: i64) {
    for n in 0..=120 {
        let (preempted, at) = (n * a_sample, end - 5 * (120 - n));
        writeln!(text, "vllm:num_preemptions_total{{job=\"past\",instance=\"a:8000\"}} {preempted} {at}").unwrap();
    }
}

/// Fills two spans, a day apart, into the data of a server that is not yet started; `false` without promtool.
fn fill_in(folder: &Path, end: i64) -> bool {
    let mut text = "# TYPE vllm:num_preemptions counter\n".to_owned();
    past(&mut text, end - 86_400, 1);
    past(&mut text, end, 3);
    text.push_str("# EOF\n");
    let source = folder.join("past.txt");
    std::fs::write(&source, text).unwrap();
    let made = Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .arg(source)
        .arg(folder.join("data"))
        .output();
    match made {
        Ok(made) => {
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            true
        }
        Err(error) => {
            eprintln!("SKIPPED: promtool cannot be run ({error}), no base is compared with");
            false
        }
    }
}

fn json(said: &Said) -> Value {
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(violations(&report), Vec::<String>::new());
    report
}

/// Counters of the engine's own page.
fn counters(engine: &Server) -> Vec<(String, Part, f64)> {
    let page = parse(http(engine.addr(), "GET /metrics HTTP/1.1", "").unwrap().as_bytes());
    let is_one = |sample: &Sample| sample.kind == SeriesKind::Counter && sample.name.starts_with("vllm:");
    let counters = page.samples.into_iter().filter(is_one);
    counters
        .map(|sample| {
            (format!("{}{}", sample.name, sample.labels.get("engine").unwrap_or("")), sample.part, sample.value)
        })
        .collect()
}

fn fetch(url: &str) -> RunEvidence {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answers = runtime.block_on(async {
        let client = HttpClient::new(&Settings::default()).unwrap();
        let api = PrometheusApi::at(client, &url.parse().unwrap(), Headers::default()).await.unwrap();
        let span = Span { from_ms: api.now_ms() - 600_000, to_ms: api.now_ms() };
        let select = vec!["job=\"engine\"".parse().unwrap()];
        api.fetch(&Ask { select, span, step: None, bounds: Bounds::default() }).await.unwrap()
    });
    assert_eq!(answers.way, Way::Raw);
    let collected = collect(vec![Input::Fetched(answers.fetched)], &Limits::default());
    assert_eq!(collected.unread, []);
    collected.evidence.runs.into_iter().next().unwrap()
}

#[test]
fn a_real_prometheus_says_what_the_engine_says() {
    let (bench, engine) = (Bench::new(), Server::start(EngineConfig::default(), ServeOptions::default()).unwrap());
    // A whole day has passed since the base's end, and the head of the data has not begun.
    let end = now_s() - 7200;
    let filled = fill_in(&bench.path(""), end);
    let Some(mut prometheus) = Prometheus::start(&bench.path(""), engine.addr()) else { return };
    prometheus.wait_until("two scrapes", |p| p.value("count_over_time(up[1m])").is_some_and(|scrapes| scrapes >= 2.0));
    for _ in 0..3 {
        let body = r#"{"model":"llama-3.1-8b","prompt":"one two three","max_tokens":16}"#;
        assert!(http(engine.addr(), "POST /v1/completions HTTP/1.1", body).unwrap().contains("usage"));
    }
    let at_rest = counters(&engine);
    let tokens = at_rest.iter().find(|(name, ..)| name.starts_with("vllm:generation_tokens_total")).unwrap().2;
    assert!(tokens > 0.0);
    prometheus.wait_until("the tokens", |p| p.value("vllm:generation_tokens_total") == Some(tokens));

    let run = fetch(&prometheus.url());
    let mut compared = 0;
    for (name, part, grown) in at_rest {
        let is_it = |s: &&firstcheck_model::signal::Series| {
            s.part == part
                && s.signal.is_some()
                && format!("{}{}", s.name, s.labels.get("engine").unwrap_or("")) == name
        };
        let all: Vec<_> = run.signals.iter().filter(is_it).collect();
        // What came up with the first request had no sample before it.
        if let [series] = all[..]
            && series.value[0] == 0.0
        {
            assert_eq!(series.delta(run.info.window).unwrap().value, grown, "{name} {part:?}");
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared} counters");

    let url = prometheus.url();
    let args = ["diagnose", &url, "--select", "job=\"engine\"", "--since", "5m", "--format", "json"];
    let report = json(&bench.expect(0, &args));
    let read = &report["read"][0];
    assert!(read["notes"].to_string().contains("raw samples with the times of their scrapes"), "{read}");
    assert!(read["replicas"].to_string().contains("instance=127.0.0.1:") && read["engine"] == "vllm", "{read}");
    let capture = ["capture", "--prometheus", &url, "--select", "job=\"engine\"", "--since", "5m", "--gap", "0s"];
    bench.expect(0, &[&capture[..], &["--out", "box.tar.zst"]].concat());
    let read = json(&bench.call(&["diagnose", "box.tar.zst", "--format", "json"]))["read"].to_string();
    assert!(read.contains("series.json") && read.contains("instance=127.0.0.1:"), "{read}");
    let said = bench.expect(2, &["diagnose", &url]);
    assert!(said.err.contains("name the series with --select") && said.err.contains("engine"), "{}", said.err);
    let said = bench.expect(2, &["diagnose", &url, "--select", "job=\"engine\"", "--base", "40d-ago"]);
    assert!(said.err.contains("has no series for {job=\"engine\"}"), "{}", said.err);
    let said = bench.expect(2, &["diagnose", &url, "--select", "job=\"engine\"", "--base", "1m-ago"]);
    assert!(said.err.contains("--base overlaps"), "{}", said.err);
    let said = bench.expect(2, &["diagnose", &url, "--select", "job=~\"[\""]);
    assert!(said.err.contains("bad_data"), "{}", said.err);
    if filled {
        compare(&bench, &url, end);
    }
}

/// The span that was filled in last against the one a day before it.
fn compare(bench: &Bench, url: &str, end: i64) {
    let until = end.to_string();
    // A minute before the first sample: whether a span holds its very start differs between releases.
    let since = (end - 660).to_string();
    let select = ["diagnose", url, "--select", "job=\"past\"", "--since", &since, "--until", &until];
    for (step, samples) in [(&[][..], 121), (&["--step", "1m"][..], 11)] {
        let args = [&select[..], &["--base", "24h-ago", "--format", "json"], step].concat();
        let report = json(&bench.expect(0, &args));
        let row = report["metrics"].as_array().unwrap().iter().find(|row| row["metric"] == "preemptions").unwrap();
        let value = |side: &str| serde_json::from_value::<Quantity>(row[side].clone()).unwrap();
        assert_eq!((value("base"), value("candidate")), (Quantity::Finite(120.0), Quantity::Finite(360.0)), "{step:?}");
        assert_eq!(row["claim"], "shown");
        let read = report["read"].as_array().unwrap();
        assert_eq!(read.iter().map(|row| row["rows"].as_u64().unwrap()).collect::<Vec<_>>(), [samples, samples]);
        assert!(report["sides"]["base"].is_object() && report["verdict"] == "none");
    }
}
