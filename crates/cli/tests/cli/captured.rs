//! `firstcheck capture`: what it takes, what it lists, and what never enters the archive.

use crate::harness::{Bench, arg};
use firstcheck_sim::{
    EngineConfig,
    serve::{ServeOptions, Server},
};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::{Child, Command, Stdio},
    thread,
};

/// A process that waits for its input to end, with a key in its arguments and in its environment.
#[cfg(unix)]
struct Engine(Child);

#[cfg(unix)]
impl Engine {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "read x", "sh", "--api-key", "planted-key-of-args", "planted-key-of-more", "--port", "80"]);
        command.args(["--kv-url", "redis://me:planted-pass-of-url@cache:6379", "--hf-token=hf_plantedtoken"]);
        command.args(["--system-prompt", "planted prompt of args"]);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("VLLM_API_KEY", "planted-key-of-env").env("VLLM_PORT", "5600");
        command.env("INNOCENT", "planted-personal").env("DB_PASSWORD", "planted-pass-of-env");
        Self(command.stdin(Stdio::piped()).spawn().unwrap())
    }
}

#[cfg(unix)]
impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

const LOG: &str = "INFO 01-02 03:04:05 [api_server.py:1] vLLM API server version 0.12.0\n\
    INFO 01-02 03:04:05 [api_server.py:2] non-default args: {'api_key': ['planted-key-of-log'], 'port': 80}\n\
    INFO 01-02 03:04:06 [logger.py:39] Received request cmpl-1: prompt: 'planted prompt of log', params: x\n\
    planted rest of the prompt\n\
    ERROR 01-02 03:04:07 [core.py:9] a client sent Authorization: Bearer planted-key-of-bearer\n\
    WARNING 01-02 03:04:08 [core.py:9] seen before: planted-pass-of-env and planted-header-value\n";

/// The archive's files by name, unpacked.
fn unpacked(bench: &Bench, archive: &str) -> Vec<(String, Vec<u8>)> {
    let packed = std::fs::File::open(bench.path(archive)).unwrap();
    let mut plain = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(packed).unwrap().read_to_end(&mut plain).unwrap();
    let mut files = Vec::new();
    for entry in tar::Archive::new(plain.as_slice()).entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        files.push((name, bytes));
    }
    files
}

fn holds(bytes: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(text)
}

#[cfg(unix)]
#[test]
fn all_is_taken_and_no_secret_or_prompt_is_in_it() {
    let bench = Bench::new();
    let server = Server::start(EngineConfig::default(), ServeOptions::default()).unwrap();
    let (url, engine) = (format!("http://{}", server.addr()), Engine::start());
    let log = bench.write("server.log", LOG);
    let pid = engine.0.id().to_string();
    let mut command = bench.command(&[
        "capture",
        "--url",
        &url,
        "--log",
        arg(&log),
        "--pid",
        &pid,
        "--gap",
        "0s",
        "--out",
        "incident.tar.zst",
        "--key-env",
        "PLANTED",
        "--header",
        "x-tenant: planted-header-value",
    ]);
    let output = command.env("PLANTED", "planted-key-that-is-sent").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    let files = unpacked(&bench, "incident.tar.zst");
    let file = |name: &str| {
        let found = files.iter().find(|(known, _)| *known == format!("firstcheck-capture/{name}"));
        String::from_utf8_lossy(&found.unwrap_or_else(|| panic!("no {name} in {files:?}")).1).into_owned()
    };
    assert_eq!(file("metrics.prom").matches("# time: ").count(), 2);
    assert!(file("models.json").contains("llama-3.1-8b") && !file("version.json").is_empty());
    assert!(file("log-1.log").contains("vLLM API server version 0.12.0"));
    for (name, bytes) in &files {
        assert!(!holds(bytes, "planted"), "{name} holds what should not leave: {}", String::from_utf8_lossy(bytes));
    }
    assert!(!out.contains("planted") && !err.contains("planted"), "{out}\n{err}");
    if cfg!(target_os = "linux") {
        let process = file(&format!("process-{pid}.json"));
        for stays in ["--api-key", "(redacted)", "\"80\"", "\"5600\"", "INNOCENT", "DB_PASSWORD"] {
            assert!(process.contains(stays), "{stays} is not in {process}");
        }
        assert_eq!(file(&format!("smaps_rollup-{pid}.txt")).matches(&format!("pid={pid}")).count(), 2);
    }
    assert!(out.contains("texts of requests"), "what was cut is listed: {out}");
    let read = bench.expect(0, &["diagnose", "incident.tar.zst", "--all"]).out;
    assert!(read.contains("manifest of a capture") && read.contains("not captured: "), "{read}");
    assert!(read.contains("0.12.0") || read.contains("vllm"), "{read}");
    let again = bench.expect(2, &["capture", "--out", "incident.tar.zst"]).err;
    assert!(again.contains("is there already"), "{again}");
}

#[test]
fn without_a_reachable_server_the_rest_is_taken() {
    let bench = Bench::new();
    // A port that was free a moment ago, so that nothing listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}");
    let log = bench.write("server.log", LOG);
    let args = ["capture", "--url", &url, "--log", arg(&log), "--pid", "4294967295", "--gap", "0s", "--format", "json"];
    let said = bench.expect(0, &args);
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(crate::schema::violations(&report), Vec::<String>::new());
    let headline = report["why"][0].as_str().unwrap();
    assert!(headline.contains("NOTHING GOT of metrics, server, process 4294967295"), "{headline}");
    let gaps = report["unread"].to_string();
    assert!(gaps.contains("cannot connect to") && gaps.contains("process"), "{gaps}");
    let files = unpacked(&bench, "firstcheck-capture.tar.zst");
    assert!(files.iter().any(|(name, _)| name.ends_with("log-1.log")));
    assert!(!bench.path("firstcheck-capture.tar.zst.part").exists());
}

#[test]
fn a_capture_that_got_nothing_of_what_was_asked_for_fails() {
    let bench = Bench::new();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}");
    let args = ["capture", "--url", &url, "--log", "no-such.log", "--gap", "0s", "--out", "x.tar.zst"];
    let said = bench.expect(2, &args);
    assert!(said.out.is_empty(), "there is nothing to report: {}", said.out);
    for part in ["nothing was captured of metrics, server, log no-such.log", "cannot connect to", "x.tar.zst"] {
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
}

/// A capture that is cut leaves nothing that looks like one, and the same command can be given again.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_at_once_and_leaves_nothing() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let args = ["capture", "--url", &url, "--out", "x.tar.zst", "--output", "report.json"];
    let child = bench.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It has asked, and is kept waiting.
    let asked = listener.accept().unwrap();
    let told = std::time::Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(told.elapsed() < std::time::Duration::from_secs(5), "it took {:?}", told.elapsed());
    drop(asked);
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted (ctrl-c): nothing was written"));
    let left: Vec<_> = std::fs::read_dir(bench.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A server whose pages are hostile: broken metrics, no JSON, a redirect with a key in it.
#[test]
fn a_hostile_server_is_listed_and_harms_nothing() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut first = String::new();
            let _ = BufReader::new(stream.try_clone().unwrap()).read_line(&mut first);
            let answer = match first.split(' ').nth(1).unwrap_or_default() {
                "/metrics" => {
                    "HTTP/1.1 200 OK\r\n\r\n# TYPE a gauge\na{api_key=\"planted-label\",x=\"hf_plantedlabel\"} 1\n\u{0}{{{"
                }
                "/v1/models" => "HTTP/1.1 302 Found\r\nlocation: http://me:planted-pass@host/\r\n\r\n",
                "/version" => "HTTP/1.1 200 OK\r\n\r\n{\"version\": ",
                _ => "no HTTP at all",
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let said = bench.expect(0, &["capture", "--url", &url, "--gap", "0s", "--out", "x.tar.zst"]);
    assert!(!said.out.contains("planted"), "{}", said.out);
    assert!(said.out.contains("/version did not answer in JSON"), "{}", said.out);
    for (name, bytes) in unpacked(&bench, "x.tar.zst") {
        assert!(!holds(&bytes, "planted"), "{name}: {}", String::from_utf8_lossy(&bytes));
    }
}
