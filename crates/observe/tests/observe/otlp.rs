//! Spans as exporters post them.

use firstcheck_model::trace_span::TraceSpan;
use firstcheck_observe::otlp::{Limits, Receiver};
use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::mpsc::{Receiver as Inbox, channel},
    time::Duration,
};

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/x-protobuf";

fn start(limits: Limits) -> (Receiver, Inbox<Vec<TraceSpan>>) {
    let receiver = Receiver::start("127.0.0.1:0".parse().unwrap(), limits).unwrap();
    let (sender, inbox) = channel();
    receiver.listen(move |spans| sender.send(spans).is_ok());
    (receiver, inbox)
}

/// Status and body of an answer to raw bytes.
fn exchange(receiver: &Receiver, head: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let mut socket = TcpStream::connect(receiver.addr()).unwrap();
    socket.write_all(head.as_bytes()).unwrap();
    // One that refuses may close before it has read all.
    let _ = socket.write_all(body);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let status = std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap();
    (status, answer[end + 4..].to_vec())
}

fn post(receiver: &Receiver, content_type: &str, more: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let length = body.len();
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {content_type}\r\n{more}\
         content-length: {length}\r\n\r\n"
    );
    exchange(receiver, &head, body)
}

fn document(spans: usize) -> String {
    let span = |n: usize| {
        format!(
            r#"{{"traceId":"{:032x}","spanId":"{:016x}","name":"llm_request","startTimeUnixNano":"1700000000000000000",
            "endTimeUnixNano":"1700000001000000000","attributes":[
            {{"key":"gen_ai.prompt.0.content","value":{{"stringValue":"planted prompt"}}}},
            {{"key":"http.url","value":{{"stringValue":"http://user:planted@host/"}}}}]}}"#,
            n + 1,
            n + 1
        )
    };
    let spans: Vec<String> = (0..spans).map(span).collect();
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","))
}

/// A message of one span in protobuf.
fn message() -> Vec<u8> {
    let field = |tag: u8, inner: &[u8]| [&[tag << 3 | 2, inner.len() as u8][..], inner].concat();
    let time = |tag: u8, ns: u64| [&[tag << 3 | 1][..], &ns.to_le_bytes()].concat();
    let start = 1_700_000_000_000_000_000_u64;
    let span = [field(1, &[7; 16]), field(2, &[8; 8]), field(5, b"s"), time(7, start), time(8, start + 5)].concat();
    field(1, &field(2, &field(2, &span)))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn json_and_protobuf_are_taken_packed_or_not() {
    let (receiver, inbox) = start(Limits::default());
    let json = document(3);
    assert_eq!(post(&receiver, JSON, "", json.as_bytes()), (200, b"{}".to_vec()));
    let packed = gzip(json.as_bytes());
    let gzipped = "content-encoding: gzip\r\n";
    assert_eq!(post(&receiver, "application/json; charset=utf-8", gzipped, &packed).0, 200);
    assert_eq!(post(&receiver, PROTOBUF, "", &message()), (200, Vec::new()));
    assert_eq!(post(&receiver, PROTOBUF, gzipped, &gzip(&message())).0, 200);
    let tally = receiver.pause();
    assert_eq!((tally.exports, tally.spans, tally.refused), (4, 8, 0));
    let spans: Vec<TraceSpan> = inbox.into_iter().flatten().collect();
    assert_eq!(spans.len(), 8);
    assert_eq!(spans[6].trace_id, "07".repeat(16));
    assert!(!format!("{spans:?}").contains("planted"), "{spans:?}");
}

#[test]
fn what_cannot_be_read_is_refused_with_its_reason_and_counted() {
    let small = Limits { body_bytes: 20_000, unpacked_bytes: 1 << 20, ..Limits::default() };
    let (receiver, inbox) = start(small);
    let gzipped = "content-encoding: gzip\r\n";
    let bomb = gzip(&vec![b' '; 2 << 20]);
    let undated = document(1).replace("1700000000000000000", "");
    let cases: [(&str, &str, &[u8], u16, &str); 9] = [
        (JSON, "", b"{\"resourceSpans\": 3}", 400, "malformed"),
        (JSON, "", b"", 400, "malformed"),
        (JSON, "", undated.as_bytes(), 400, "has no start"),
        (PROTOBUF, "", b"\xff\xff\xff", 400, "malformed"),
        (PROTOBUF, gzipped, b"no gzip at all", 400, "no gzip"),
        (JSON, gzipped, &bomb, 413, "more than 1048576 bytes"),
        (JSON, "", &[b' '; 25_000], 413, "more than 20000 bytes"),
        ("text/plain", "", b"hello", 415, "content type"),
        (JSON, "content-encoding: br\r\n", b"x", 415, "content encoding"),
    ];
    for (content_type, more, body, status, reason) in cases {
        let (said, why) = post(&receiver, content_type, more, body);
        let why = String::from_utf8_lossy(&why);
        assert_eq!(said, status, "{content_type} {more} {why}");
        assert!(why.contains(reason), "{why} does not say {reason}");
    }
    let others = [("GET /v1/traces", 405), ("POST /v1/metrics", 404), ("POST /", 404)];
    for (line, status) in others {
        let head = format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(exchange(&receiver, &head, b"").0, status, "{line}");
    }
    let tally = receiver.pause();
    assert_eq!((tally.exports, tally.refused), (0, 12));
    assert!(tally.last_refusal.unwrap().contains("only traces are taken"));
    assert_eq!(inbox.into_iter().count(), 0);
}

#[test]
fn spans_beyond_the_limit_are_refused_one_by_one() {
    let (receiver, inbox) = start(Limits { spans: 5, ..Limits::default() });
    assert_eq!(post(&receiver, JSON, "", document(3).as_bytes()).1, b"{}");
    let (status, partial) = post(&receiver, JSON, "", document(3).as_bytes());
    let partial: serde_json::Value = serde_json::from_slice(&partial).unwrap();
    assert_eq!((status, partial["partialSuccess"]["rejectedSpans"].as_str()), (200, Some("1")));
    // partial_success { rejected_spans: 1, error_message: … }
    let (status, partial) = post(&receiver, PROTOBUF, "", &message());
    assert_eq!((status, &partial[..1], &partial[2..4]), (200, &[0x0a][..], &[0x08, 1][..]));
    let tally = receiver.pause();
    assert_eq!((tally.spans, tally.beyond_limit), (5, 2));
    assert_eq!(inbox.into_iter().flatten().count(), 5);
}

#[test]
fn an_exporter_is_put_off_while_the_listener_cannot_keep_up() {
    let (receiver, _) = start(Limits::default());
    let mut busy = true;
    receiver.listen(move |_| !std::mem::take(&mut busy));
    assert_eq!(post(&receiver, JSON, "", document(1).as_bytes()).0, 503);
    assert_eq!(post(&receiver, JSON, "", document(1).as_bytes()).0, 200);
    let tally = receiver.pause();
    assert_eq!((tally.put_off, tally.exports, tally.spans), (1, 1, 1));
    // While nobody listens nothing is kept, and no exporter has to complain.
    assert_eq!(post(&receiver, JSON, "", document(1).as_bytes()).0, 200);
    assert_eq!(receiver.pause(), firstcheck_observe::otlp::Tally::default());
}

#[test]
fn a_body_that_does_not_come_holds_nobody_up() {
    let limits = Limits { bodies: 1, patience: Duration::from_millis(50), ..Limits::default() };
    let (receiver, _inbox) = start(limits);
    let mut slow = TcpStream::connect(receiver.addr()).unwrap();
    let head = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    slow.write_all(head.as_bytes()).unwrap();
    assert_eq!(post(&receiver, JSON, "", document(1).as_bytes()).0, 200);
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).unwrap();
    assert_eq!(&answer[9..], b"408");
}

#[test]
fn an_address_that_is_taken_is_an_error_and_dropping_frees_it() {
    let (receiver, _inbox) = start(Limits::default());
    let addr = receiver.addr();
    let error = Receiver::start(addr, Limits::default()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot listen on {addr}: ")), "{error}");
    assert_eq!(receiver.url(), format!("http://{addr}/v1/traces"));
    let unused = TcpStream::connect(addr).unwrap();
    drop(receiver);
    drop(unused);
    assert!(Receiver::start(addr, Limits::default()).is_ok());
}

#[test]
fn real_exports_are_taken_as_they_were_posted() {
    let Some(folder) = std::env::var_os("FIRSTCHECK_ARTEFACTS") else {
        eprintln!("SKIPPED: FIRSTCHECK_ARTEFACTS is not set, real exports are not replayed");
        return;
    };
    let folder = std::path::Path::new(&folder).join("engine/k_otlp/otlp");
    let (receiver, inbox) = start(Limits::default());
    for number in 1..=7 {
        let body = std::fs::read(folder.join(format!("req-{number:04}.http.bin"))).unwrap();
        assert_eq!(post(&receiver, PROTOBUF, "", &body), (200, Vec::new()), "{number}");
    }
    assert_eq!(receiver.pause().exports, 7);
    let requests = inbox.into_iter().flatten().filter(|span| span.name == "llm_request").count();
    assert!(requests >= 20, "{requests}");
}
