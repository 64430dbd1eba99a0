//! `firstcheck run --otlp`: an engine exports its spans into the run, and they tell where each request's time went.

use crate::harness::Bench;
use firstcheck_bundle::Bundle;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How far ahead of the client's the engine's clock is.
const AHEAD: Duration = Duration::from_secs(30);

/// An engine that exports the span of each request before it ends its answer.
fn engine(spans_to: Receiver<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut spans_at = None;
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let head: Vec<String> =
                reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            // All of it: a connection that is closed with bytes unread is reset.
            let _ = reader.read_exact(&mut vec![0; length.unwrap_or(0)]);
            if head.first().is_some_and(|line| line.starts_with("POST")) {
                let to = spans_at.get_or_insert_with(|| spans_to.recv().unwrap());
                answer(stream, &head, to);
            }
        }
    });
    url
}

fn answer(mut stream: TcpStream, head: &[String], spans_to: &str) {
    let header = |name: &str| head.iter().find_map(|line| line.strip_prefix(name)).unwrap();
    assert_eq!(header("traceparent: 00-").split('-').next(), Some(header("x-request-id: ")));
    let now = || (SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + AHEAD).as_nanos();
    let start = now();
    // The request's trace is another than the client's, as behind a gateway that begins its own: its id tells whose it is.
    let latency = |name: &str| format!(r#"{{"key":"gen_ai.latency.{name}","value":{{"doubleValue":0.0001}}}}"#);
    let names = ["time_in_queue", "time_to_first_token", "time_in_model_prefill", "time_in_model_decode"];
    let latencies: Vec<String> = names.into_iter().map(latency).collect();
    let body = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{start:032x}","spanId":"00000000000000aa",
        "name":"llm_request","startTimeUnixNano":"{start}","endTimeUnixNano":"{}","attributes":[{},
        {{"key":"gen_ai.request.id","value":{{"stringValue":"chatcmpl-{}"}}}}]}}]}}]}}]}}"#,
        now(),
        latencies.join(","),
        header("x-request-id: "),
    );
    let mut export = TcpStream::connect(spans_to).unwrap();
    let head = "POST /v1/traces HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n";
    export.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    let mut said = String::new();
    export.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    let events = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n\
        data: [DONE]\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    // A client that goes away is the test's business.
    let _ = stream.write_all(format!("{head}content-length: {}\r\n\r\n{events}", events.len()).as_bytes());
}

#[test]
fn spans_of_a_skewed_host_behind_a_gateway_become_stages_of_the_run() {
    let bench = Bench::new();
    let (tell, spans_to) = channel();
    let url = engine(spans_to);
    let args = ["run", "--url", &url, "--model", "m", "--concurrency", "1", "--requests", "5", "--no-metrics"];
    let more = ["--otlp", "0", "--otlp-wait", "0s", "--out", "measured"];
    let mut command = bench.command(&[&args[..], &more[..]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    err.read_line(&mut said).unwrap();
    let at = said.trim().strip_prefix("taking spans at http://").and_then(|url| url.strip_suffix("/v1/traces"));
    tell.send(at.unwrap_or_else(|| panic!("{said}")).to_owned()).unwrap();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{out}");
    assert!(out.contains("5 spans in 5 exports; they tell the stages of 5 requests"), "{out}");
    assert!(out.contains("spans of the server were moved by -"), "{out}");
    assert_eq!(Bundle::open(&bench.path("measured")).unwrap().traces().unwrap().len(), 5);
}

#[test]
fn an_address_that_is_taken_is_known_before_anything_is_offered() {
    let bench = Bench::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let args = ["run", "--url", "http://127.0.0.1:9", "--rate", "4", "--otlp", &address];
    let said = bench.expect(2, &args);
    assert!(said.err.contains(&format!("cannot listen on {address}")), "{}", said.err);
    let said = bench.expect(2, &["run", "--url", "http://127.0.0.1:9", "--rate", "4", "--otlp", "here"]);
    assert!(said.err.contains("expected a port, or an address"), "{}", said.err);
}
