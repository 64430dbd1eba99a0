//! Spans of several hosts, each with a clock of its own, joined to one run.

use firstcheck_ingest::otlp::{Joined, Offset, join_spans};
use firstcheck_model::{
    moment::Moment,
    request::{Fate, Request, Requests},
    run::{Clock, ClockKind},
    span::Stage,
    trace_span::{AttributeValue, Attributes, TraceSpan},
};
use proptest::prelude::*;

const START: i64 = 1_700_000_000_000_000_000;
const MS: i64 = 1_000_000;

fn clock() -> Clock {
    Clock { started_unix_ns: Some(START), kind: ClockKind::Real }
}

fn trace(n: u32) -> String {
    format!("{:032x}", u128::from(n) << 64 | 0xfeed)
}

/// Requests that were each sent at a moment and answered at another, in milliseconds.
fn requests(times: &[(i64, i64)]) -> Requests {
    let request = |(n, (sent, done)): (u32, &(i64, i64))| {
        let mut request = Request::offered(Moment::at(sent * MS));
        (request.sent, request.done) = (Moment::at(sent * MS), Moment::at(done * MS));
        request.trace_id = Some(trace(n));
        request.fate = Fate::Completed;
        request
    };
    Requests((0..).zip(times).map(request).collect())
}

/// A span of request `n` on a host whose clock is `ahead` ms ahead; its times are true ones, in milliseconds.
fn span(instance: &str, ahead: i64, n: u32, (start, end): (i64, i64)) -> TraceSpan {
    TraceSpan {
        trace_id: trace(n),
        span_id: format!("{instance}-{n}"),
        parent_id: None,
        name: "POST /v1/chat/completions".into(),
        start_unix_ns: START + (start + ahead) * MS,
        end_unix_ns: START + (end + ahead) * MS,
        service: None,
        instance: Some(instance.into()),
        failed: false,
        attributes: Attributes::default(),
    }
}

/// An engine's account of a whole request: a tenth of it queue, the rest prefill and decode in halves.
fn account(instance: &str, ahead: i64, n: u32, times: (i64, i64)) -> TraceSpan {
    let mut span = span(instance, ahead, n, times);
    let length = (times.1 - times.0) as f64 * 1e-3;
    let parts = [("queue", 0.1), ("model_prefill", 0.45), ("model_decode", 0.45)];
    let set =
        |(name, share): (&str, f64)| (format!("gen_ai.latency.time_in_{name}"), AttributeValue::Float(length * share));
    span.attributes.0.extend(parts.map(set));
    span
}

fn child_of(parent: &TraceSpan, mut span: TraceSpan) -> TraceSpan {
    span.parent_id = Some(parent.span_id.clone());
    span
}

fn offset<'j>(joined: &'j Joined, instance: &str) -> &'j Offset {
    joined.offsets.iter().find(|offset| offset.instance.as_deref() == Some(instance)).unwrap()
}

#[test]
fn a_gateway_is_placed_by_the_engine_behind_it() {
    let requests = requests(&[(100, 1100), (300, 1500)]);
    // The gateway takes 2 ms each way; its clock is 5 s ahead, that of the engine 3 s behind.
    let mut spans = Vec::new();
    for (n, times) in [(0, (102, 1098)), (1, (302, 1498))] {
        let gateway = span("gateway", 5000, n, times);
        spans.push(child_of(&gateway, account("decode-0", -3000, n, (times.0 + 2, times.1 - 2))));
        spans.push(gateway);
    }
    let alone: Vec<TraceSpan> = spans.iter().filter(|s| s.instance.as_deref() == Some("gateway")).cloned().collect();
    let alone = join_spans(&alone, &requests, clock());
    let joined = join_spans(&spans, &requests, clock());
    let (gateway, engine) = (offset(&joined, "gateway"), offset(&joined, "decode-0"));
    assert!((gateway.seconds.0 + 5.0).abs() <= gateway.uncertainty.0, "{gateway:?}");
    assert!((engine.seconds.0 - 3.0).abs() <= engine.uncertainty.0, "{engine:?}");
    assert!(gateway.uncertainty.0 < 0.01 && engine.uncertainty.0 < 0.01, "{joined:?}");
    assert!(offset(&alone, "gateway").uncertainty.0 > 0.4, "by itself it says little: {alone:?}");
    assert_eq!((gateway.requests, gateway.consistent, joined.unplaced.len()), (2, true, 0));
    let said = joined.clocks().join("\n");
    assert!(said.contains("spans of gateway were moved by -4998.000 ms") && said.contains("± "), "{said}");
}

#[test]
fn prefill_and_decode_pools_with_skewed_clocks_tell_one_story() {
    let requests = requests(&[(0, 1000)]);
    let prefill = account("prefill-0", 40, 0, (5, 400));
    let decode = account("decode-1", -700, 0, (410, 990));
    let joined = join_spans(&[decode, prefill], &requests, clock());
    assert_eq!((joined.joined, joined.others), (2, 0));
    for (instance, truth) in [("prefill-0", -0.04), ("decode-1", 0.7)] {
        let offset = offset(&joined, instance);
        assert!((offset.seconds.0 - truth).abs() <= offset.uncertainty.0 + 1e-9, "{offset:?}");
    }
    let replicas: Vec<_> = joined.stages.iter().filter_map(|stage| stage.replica.as_deref()).collect();
    assert!(replicas.contains(&"prefill-0") && replicas.contains(&"decode-1"), "{replicas:?}");
    assert_eq!(joined.stages.iter().filter(|stage| stage.stage == Stage::DecodePreempted).count(), 2);
}

#[test]
fn a_request_id_ties_a_trace_that_somebody_else_began() {
    let requests = requests(&[(0, 100), (200, 300)]);
    let id = |n: u32, around: &str| {
        let text = around.replace('#', &trace(n));
        ("gen_ai.request.id".to_owned(), AttributeValue::Text(text))
    };
    let foreign = |n: u32, mut span: TraceSpan| {
        span.trace_id = format!("{:032x}", 0xabcd_0000_u32 + n);
        span
    };
    let mut engine = foreign(0, account("engine", 0, 0, (10, 90)));
    engine.attributes.0.push(id(0, "chatcmpl-#-0"));
    let gateway = foreign(0, span("gateway", 0, 0, (5, 95)));
    let stranger = foreign(7, span("gateway", 0, 1, (5, 95)));
    // A batch of two requests in one trace names both: its spans without an id belong to neither.
    let mut both = [foreign(9, span("engine", 0, 0, (1, 2))), foreign(9, span("engine", 0, 0, (1, 2)))];
    both[0].attributes.0.push(id(0, "cmpl-#"));
    both[1].attributes.0.push(id(1, "cmpl-#"));
    let neither = foreign(9, span("engine", 0, 0, (1, 2)));
    let spans: Vec<TraceSpan> = [engine, gateway, stranger, neither].into_iter().chain(both).collect();
    let joined = join_spans(&spans, &requests, clock());
    assert_eq!((joined.joined, joined.others), (4, 2));
    assert!(joined.stages.iter().all(|stage| stage.request == 0), "{:?}", joined.stages);
}

#[test]
fn a_clock_that_moved_is_told() {
    // Of two requests one says 1 s ahead, the other 2 s.
    let requests = requests(&[(0, 100), (5000, 5100)]);
    let spans = [account("engine", 1000, 0, (10, 90)), account("engine", 2000, 1, (5010, 5090))];
    let joined = join_spans(&spans, &requests, clock());
    assert!(!joined.offsets[0].consistent);
    assert!(joined.clocks()[0].ends_with("no one offset fits all requests, the clock moved"), "{:?}", joined.clocks());
}

#[test]
fn two_clocks_that_agree_with_the_client_and_not_with_each_other_are_told() {
    let requests = requests(&[(0, 100), (200, 300), (400, 500)]);
    // What the client saw pins both: the gateway's clock to 0, the engine's to 60 ms behind. Then the engine began 50 ms
    // before the gateway that called it.
    let gateway = span("gateway", 0, 0, (50, 60));
    let engine = child_of(&gateway, account("engine", -60, 0, (0, 100)));
    let spans = [gateway, engine, span("gateway", 0, 1, (200, 210)), span("gateway", 0, 2, (500, 510))];
    let joined = join_spans(&spans, &requests, clock());
    assert!(joined.offsets.iter().all(|offset| !offset.consistent), "{joined:?}");
    assert!((offset(&joined, "engine").seconds.0 - 0.06).abs() < 1e-9);
}

#[test]
fn what_bounds_no_clock_is_said() {
    let mut requests = requests(&[(0, 100)]);
    requests.0[0].fate = Fate::TimedOut;
    let joined = join_spans(&[account("engine", 0, 0, (10, 4000))], &requests, clock());
    assert_eq!((joined.offsets.len(), &joined.unplaced[..]), (0, &[Some("engine".to_owned())][..]));
    assert_eq!(joined.clocks(), ["the clock of engine is not known: its spans were not moved"]);
}

proptest! {
    /// Whatever the clocks, each true offset lies within what is stated, and no clock is said to have moved.
    #[test]
    fn the_truth_lies_within_the_stated_uncertainty(
        skews in prop::collection::vec(-20_000_i64..20_000, 3),
        sent in prop::collection::vec((0_i64..60_000, 0_i64..50, 0_i64..50, 1_i64..2000, 0_i64..30), 1..12),
    ) {
        let times: Vec<(i64, i64)> =
            sent.iter().map(|(sent, to, hop, work, back)| (*sent, sent + to + hop + work + back)).collect();
        let requests = requests(&times);
        let mut spans = Vec::new();
        for (n, (sent, to, hop, work, back)) in (0..).zip(&sent) {
            let gateway = span("gateway", skews[0], n, (sent + to, sent + to + hop + work + back));
            let engine = ["prefill", "decode"][n as usize % 2];
            let start = sent + to + hop;
            let skew = skews[1 + n as usize % 2];
            spans.push(child_of(&gateway, account(engine, skew, n, (start, start + work))));
            spans.push(gateway);
        }
        let joined = join_spans(&spans, &requests, clock());
        for offset in &joined.offsets {
            let name = offset.instance.as_deref().unwrap();
            let at = ["gateway", "prefill", "decode"].iter().position(|known| *known == name).unwrap();
            let error = (offset.seconds.0 + skews[at] as f64 * 1e-3).abs();
            prop_assert!(offset.consistent && error <= offset.uncertainty.0 + 1e-6, "{offset:?} against {skews:?}");
        }
    }
}
