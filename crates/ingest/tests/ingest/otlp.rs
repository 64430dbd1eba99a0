//! OpenTelemetry's traces.

use firstcheck_ingest::{
    Input, Limits, collect,
    otlp::{is_otlp_json, is_otlp_protobuf, join_spans, read_otlp_json, read_otlp_protobuf},
};
use firstcheck_model::{
    moment::Moment,
    request::{Fate, Request, Requests},
    run::{Clock, ClockKind},
    span::Stage,
    trace_span::{AttributeValue, Attributes, TraceSpan},
};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("FIRSTCHECK_ARTEFACTS");
    if folder.is_none() {
        eprintln!("SKIPPED: FIRSTCHECK_ARTEFACTS is not set, real spans are not read");
    }
    Some(Path::new(&folder?).join("engine/k_otlp"))
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn document(start: i64, end: i64) -> String {
    format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"engine"}}}},
        {{"key":"host.name","value":{{"stringValue":"node7"}}}}]}},"scopeSpans":[{{"spans":[{{"traceId":"{TRACE}",
        "spanId":"b7ad6b7169203331","name":"llm_request","startTimeUnixNano":"{start}","endTimeUnixNano":"{end}","attributes":[
        {{"key":"gen_ai.latency.time_in_queue","value":{{"doubleValue":0.2}}}},
        {{"key":"gen_ai.latency.time_to_first_token","value":{{"doubleValue":0.5}}}},
        {{"key":"gen_ai.latency.time_in_model_prefill","value":{{"doubleValue":0.25}}}},
        {{"key":"gen_ai.latency.time_in_model_decode","value":{{"doubleValue":1.5}}}},
        {{"key":"gen_ai.usage.prompt_tokens","value":{{"intValue":"128"}}}},
        {{"key":"gen_ai.prompt.0.content","value":{{"stringValue":"planted prompt"}}}},
        {{"key":"api_key","value":{{"stringValue":"planted"}}}}]}}]}}]}}]}}"#
    )
}

fn run(sent: i64, done: i64) -> Requests {
    let mut request = Request::offered(Moment::at(sent));
    request.sent = Moment::at(sent);
    request.done = Moment::at(done);
    request.trace_id = Some(TRACE.into());
    request.fate = Fate::Completed;
    Requests(vec![request])
}

const START: i64 = 1_700_000_000_000_000_000;

fn clock() -> Clock {
    Clock { started_unix_ns: Some(START), kind: ClockKind::Real }
}

#[test]
fn json_is_read_without_prompts_and_keys() {
    let text = document(START, START + 2_000_000_000);
    assert!(is_otlp_json(text.as_bytes()));
    let spans = read_otlp_json(Path::new("t.json"), None, text.as_bytes()).unwrap();
    let span = &spans[0];
    assert_eq!((span.service.as_deref(), span.instance.as_deref()), (Some("engine"), Some("node7")));
    assert_eq!(span.attributes.get("gen_ai.usage.prompt_tokens"), Some(&AttributeValue::Int(128)));
    assert_eq!(span.length().0, 2.0);
    assert!(!format!("{spans:?}").contains("planted"), "{spans:?}");
    let based = text.replace(TRACE, "Cvd1GRbNQ92ESOshHIAxnA==");
    assert_eq!(read_otlp_json(Path::new("t.json"), None, based.as_bytes()).unwrap()[0].trace_id.len(), 32);
    let error = read_otlp_json(Path::new("t.jsonl"), Some(7), b"{\"resourceSpans\": 3}").unwrap_err();
    assert_eq!(error.line(), Some(7));
    let undated = text.replace("\"startTimeUnixNano\":\"1700000000000000000\"", "\"startTimeUnixNano\":null");
    let error = read_otlp_json(Path::new("t.json"), None, undated.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("span `llm_request` has no start"), "{error}");
}

#[test]
fn stages_are_laid_on_the_clients_clock() {
    // The server's clock is 10 s ahead; the request took 2.1 s at the client and 2.0 s at the server.
    let ahead = 10_000_000_000;
    let text = document(START + ahead + 1_000_000_000, START + ahead + 3_000_000_000);
    let spans = read_otlp_json(Path::new("t.json"), None, text.as_bytes()).unwrap();
    let joined = join_spans(&spans, &run(950_000_000, 3_050_000_000), clock());
    assert_eq!((joined.joined, joined.others), (1, 0));
    let offset = &joined.offsets[0];
    assert!((offset.seconds.0 + 10.0).abs() < 1e-6 && (offset.uncertainty.0 - 0.05).abs() < 1e-6, "{offset:?}");
    assert!(offset.consistent);
    let at = |stage| joined.stages.iter().find(|one| one.stage == stage).map(|one| (one.start, one.end)).unwrap();
    let ms = |ms: i64| Moment::at(ms * 1_000_000);
    assert_eq!(at(Stage::FrontEnd), (ms(1000), ms(1050)));
    assert_eq!(at(Stage::Queue), (ms(1050), ms(1250)));
    assert_eq!(at(Stage::Prefill), (ms(1250), ms(1500)));
    assert_eq!(at(Stage::DecodePreempted), (ms(1500), ms(3000)));
}

/// A span of the trace, in milliseconds from the run's start.
fn span(name: &str, instance: &str, ms: std::ops::Range<i64>, attributes: &[(&str, f64)]) -> TraceSpan {
    let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), AttributeValue::Float(*value)));
    TraceSpan {
        trace_id: TRACE.into(),
        span_id: "b7ad6b7169203331".into(),
        parent_id: None,
        name: name.into(),
        start_unix_ns: START + ms.start * 1_000_000,
        end_unix_ns: START + ms.end * 1_000_000,
        service: None,
        instance: Some(instance.into()),
        failed: false,
        attributes: Attributes(attributes.collect()),
    }
}

/// An engine's account: queue, prefill, decode, time to first token and the whole, in seconds, and its tokens.
fn account(instance: &str, start: i64, [queue, prefill, decode, ttft, e2e, tokens]: [f64; 6]) -> TraceSpan {
    let attributes = [
        ("gen_ai.latency.time_in_queue", queue),
        ("gen_ai.latency.time_in_model_prefill", prefill),
        ("gen_ai.latency.time_in_model_decode", decode),
        ("gen_ai.latency.time_to_first_token", ttft),
        ("gen_ai.latency.e2e", e2e),
        ("gen_ai.usage.completion_tokens", tokens),
    ];
    span("llm_request", instance, start..start + (e2e * 1e3) as i64, &attributes)
}

/// The stages in order, with their times in milliseconds.
fn stages(spans: &[TraceSpan]) -> Vec<(Stage, i64, i64)> {
    let joined = join_spans(spans, &run(0, 10_000_000_000), clock());
    let ms = |at: Moment| at.get().unwrap() / 1_000_000;
    joined.stages.iter().map(|one| (one.stage, ms(one.start), ms(one.end))).collect()
}

#[test]
fn the_finest_account_of_a_request_counts_and_nothing_counts_twice() {
    let hop = |name: &str, ms| span(name, "gateway", ms, &[]);
    let whole = account("engine", 100, [0.1, 0.2, 1.0, 0.35, 1.4, 50.0]);
    let slice = |name: &str, ms| span(name, "engine", ms, &[]);
    let told = [
        (Stage::FrontEnd, 100, 150),
        (Stage::Queue, 150, 250),
        (Stage::Prefill, 250, 450),
        (Stage::DecodePreempted, 450, 1450),
        (Stage::Detokenize, 1450, 1500),
    ];
    let hops = [hop("gateway.request_orchestration", 10..40), hop("llm_d.pd_proxy.prefill", 60..450)];
    let accounted = [&hops[..], std::slice::from_ref(&whole)].concat();
    assert_eq!(stages(&accounted), told, "an account says more than hops to it");
    assert_eq!(stages(&hops), [(Stage::Network, 10, 40), (Stage::PrefillPool, 60, 450)]);
    let sliced = [slice("tokenize", 100..120), slice("prefill_waiting", 140..250), slice("decode_forward", 450..1450)];
    let expected = [(Stage::Tokenize, 100, 120), (Stage::Queue, 140, 250), (Stage::Decode, 450, 1450)];
    assert_eq!(stages(&[&sliced[..], &[whole]].concat()), expected, "and slices more than an account");
}

#[test]
fn two_pools_of_one_request_meet_in_its_hand_over() {
    let prefill = account("prefill-0", 100, [0.1, 0.2, 0.0, 0.35, 0.35, 1.0]);
    let decode = account("decode-0", 500, [0.3, 0.02, 1.0, 0.34, 1.36, 50.0]);
    let told = [
        (Stage::FrontEnd, 100, 150),
        (Stage::Queue, 150, 250),
        (Stage::Prefill, 250, 450),
        (Stage::HandOver, 450, 820),
        (Stage::FirstDecode, 820, 840),
        (Stage::DecodePreempted, 840, 1840),
        (Stage::Detokenize, 1840, 1860),
    ];
    assert_eq!(stages(&[decode.clone(), prefill]), told, "in whichever order they come");
    // Two attempts are two accounts.
    let again = account("decode-0", 2_000, [0.3, 0.02, 1.0, 0.34, 1.36, 50.0]);
    assert_eq!(stages(&[decode, again]).len(), 10);
}

#[test]
fn clocks_that_agree_are_left_alone_and_strangers_are_counted() {
    let text = document(START + 1_000_000_000, START + 3_000_000_000);
    let spans = read_otlp_json(Path::new("t.json"), None, text.as_bytes()).unwrap();
    let joined = join_spans(&spans, &run(990_000_000, 3_001_000_000), clock());
    assert_eq!(joined.offsets[0].seconds.0, 0.0);
    let nobody = join_spans(&spans, &Requests(vec![]), clock());
    assert_eq!((nobody.joined, nobody.others), (0, 1));
    let undated = Clock { started_unix_ns: None, ..clock() };
    assert_eq!(join_spans(&spans, &run(0, 1), undated).others, 1);
}

#[test]
fn both_forms_of_real_spans_agree() {
    let Some(folder) = folder() else { return };
    let jsonl = std::fs::read(folder.join("otlp/traces.jsonl")).unwrap();
    let mut from_json: Vec<TraceSpan> = Vec::new();
    for (line, text) in (1..).zip(jsonl.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())) {
        from_json.extend(read_otlp_json(&folder, Some(line), text).unwrap());
    }
    let mut from_protobuf: Vec<TraceSpan> = Vec::new();
    for number in 1..=7 {
        let bytes = std::fs::read(folder.join(format!("otlp/req-{number:04}.http.bin"))).unwrap();
        assert!(is_otlp_protobuf(&bytes), "{number}");
        from_protobuf.extend(read_otlp_protobuf(&folder, &bytes).unwrap());
    }
    assert_eq!(from_protobuf.len(), from_json.len());
    for (one, other) in from_protobuf.iter().zip(&from_json) {
        assert_eq!((&one.trace_id, &one.span_id, &one.parent_id), (&other.trace_id, &other.span_id, &other.parent_id));
        assert_eq!(
            (one.start_unix_ns, one.end_unix_ns, &one.name),
            (other.start_unix_ns, other.end_unix_ns, &other.name)
        );
    }
    let accounts = from_protobuf.iter().filter(|span| span.name == "llm_request");
    assert!(accounts.clone().count() >= 20, "the benchmark's requests");
    for account in accounts {
        let seconds = |name: &str| account.attributes.seconds(name).unwrap().0;
        let stages = seconds("gen_ai.latency.time_in_model_prefill") + seconds("gen_ai.latency.time_in_model_decode");
        assert!((seconds("gen_ai.latency.time_in_model_inference") - stages).abs() < 1e-6, "{account:?}");
    }
}

#[test]
fn a_span_in_protobuf_without_a_time_is_said() {
    // resource_spans { scope_spans { spans { name: "s", start_time_unix_nano: 1 } } }
    let start = [&[0x39][..], &1_u64.to_le_bytes()].concat();
    let message = |times: &[u8]| {
        let span = [&b"*\x01s"[..], times].concat();
        let wrap = |tag: u8, inner: &[u8]| [&[tag, inner.len() as u8][..], inner].concat();
        wrap(0x0a, &wrap(0x12, &wrap(0x12, &span)))
    };
    for (times, what) in [(&start[..], "end"), (&[], "start")] {
        let error = read_otlp_protobuf(Path::new("x.bin"), &message(times)).unwrap_err();
        assert!(error.to_string().contains(&format!("span `s` has no {what}")), "{error}");
    }
}

#[test]
fn a_line_that_is_no_document_is_listed_once_with_its_place() {
    let document = document(START, START + 1).replace('\n', "");
    let text = format!("{document}\n{{\"resourceSpans\": 3}}\n{document}\n");
    let mut source = text.as_bytes();
    let collected = collect(vec![Input::Stream("-", &mut source)], &Limits::default());
    assert_eq!(collected.evidence.traces.len(), 2);
    let listed = &collected.unread[..];
    assert_eq!((listed.len(), listed[0].line), (1, Some(2)));
    assert!(listed[0].reason.starts_with("malformed OTLP traces as JSON: "), "{listed:?}");
}

#[test]
fn other_bytes_are_no_spans() {
    assert!(!is_otlp_protobuf(b"\n\x03abc"));
    assert!(!is_otlp_protobuf(b""));
    assert!(!is_otlp_json(b"{\"a\": 1}"));
    assert!(read_otlp_protobuf(Path::new("x.bin"), b"\xff\xff").is_err());
}

proptest! {
    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..900, start: i64, end: i64) {
        is_otlp_protobuf(&bytes);
        let _: Result<_, _> = read_otlp_protobuf(Path::new("x"), &bytes);
        let text = document(start, end);
        let text = &text.as_bytes()[..cut.min(text.len())];
        let _: Result<_, _> = read_otlp_json(Path::new("x"), None, text);
        if let Ok(spans) = read_otlp_json(Path::new("x"), None, document(start, end).as_bytes()) {
            join_spans(&spans, &run(start / 2, end), clock());
        }
    }
}
