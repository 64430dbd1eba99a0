//! A run of known content: append `n` sends request `n` and ends request `n − 1`.

use firstcheck_bundle::{Result, Rows, Writer};
use firstcheck_model::{
    event::Event,
    moment::Moment,
    request::{Fate, Finish, Request, Requests},
    run::{Arrivals, CacheState, Clock, ClockKind, Origin, RunId, RunInfo, WorkloadInfo},
    signal::{Labels, Part, Series, SeriesKind},
    span::{Stage, StageSpan},
    trace_span::{AttributeValue, Attributes, TraceSpan},
};
use std::path::Path;

const SECOND: i64 = 1_000_000_000;
const EVENTS: u32 = 4;

pub fn info() -> RunInfo {
    let workload = WorkloadInfo {
        description: "one request a second".into(),
        arrivals: Arrivals::Open { rate: 1.0, cv: None },
        trace_hash: Some("c0ffee".into()),
        salt: None,
        streaming: Some(true),
        warm_up: None,
        cache: CacheState::Cold,
    };
    let clock = Clock { started_unix_ns: Some(1_760_000_000_000_000_000), kind: ClockKind::Real };
    RunInfo::new(RunId("run-1".into()), "firstcheck 0.1.0", Origin::Measured, clock, workload)
}

/// Request `n` as it is when sent.
pub fn in_flight(n: u32) -> Request {
    let sent = Moment::at(i64::from(n) * SECOND);
    Request { sent, requested_tokens: Some(EVENTS), ..Request::offered(sent) }
}

/// Request `n` as it is when done.
pub fn done(n: u32) -> Request {
    let request = in_flight(n);
    let after = |ms: i64| request.sent.plus_ns(ms * 1_000_000);
    Request {
        first_byte: after(9),
        first_token: after(10),
        last_token: after(10 * i64::from(EVENTS)),
        done: after(50),
        fate: Fate::Completed,
        finish: Some(Finish::Length),
        prompt_tokens: Some(100 + n),
        output_tokens: Some(EVENTS),
        prompt_hash: Some(u64::MAX - u64::from(n)),
        trace_id: Some(format!("{n:032x}")),
        ..request
    }
}

pub fn events(n: u32) -> Vec<Event> {
    let event = |i: u32| Event {
        request: n,
        since_sent_ns: i64::from(i + 1) * 10_000_000,
        tokens: if n % 3 == 2 { None } else { Some(1) },
        kernel_ns: (i % 2 == 1).then_some(i64::from(i + 1) * 10_000_000 - 20_000),
    };
    (0..EVENTS).map(event).collect()
}

/// One scrape: a gauge, and a bucket of a histogram.
pub fn scrape(n: u32) -> Vec<Series> {
    let series = |name: &str, kind, part, value| Series {
        name: name.into(),
        labels: Labels::new(vec![("model_name".into(), "m\"\\\n".into())]),
        page: "main".into(),
        kind,
        part,
        signal: None,
        at: vec![Moment::at(i64::from(n) * SECOND)],
        value: vec![value],
    };
    vec![
        series("vllm:num_requests_running", SeriesKind::Gauge, Part::Value, 1.0 / f64::from(n + 1)),
        series("vllm:ttft_seconds_bucket", SeriesKind::Counter, Part::Bucket(f64::INFINITY), f64::from(n)),
    ]
}

pub fn span(n: u32) -> StageSpan {
    let start = Moment::at(i64::from(n) * SECOND);
    StageSpan { request: n, stage: Stage::Prefill, start, end: start.plus_ns(5), replica: Some("r0".into()) }
}

/// The span that a service exports of request `n`.
pub fn trace_span(n: u32) -> TraceSpan {
    let start_unix_ns = 1_760_000_000_000_000_000 + i64::from(n) * SECOND;
    let attributes = vec![
        ("a.text".to_owned(), AttributeValue::Text("größe \"x\"".into())),
        ("b.truth".to_owned(), AttributeValue::Bool(n.is_multiple_of(2))),
        ("c.whole".to_owned(), AttributeValue::Int(i64::MIN + i64::from(n))),
        ("d.float".to_owned(), AttributeValue::Float(f64::from(n) + 0.1)),
    ];
    TraceSpan {
        trace_id: format!("{n:032x}"),
        span_id: format!("{n:016x}"),
        parent_id: (n > 0).then(|| format!("{:016x}", n - 1)),
        name: "llm_request".into(),
        start_unix_ns,
        end_unix_ns: start_unix_ns + 7,
        service: Some("vllm".into()),
        instance: n.is_multiple_of(3).then(|| "decode-0".into()),
        failed: n % 2 == 1,
        attributes: Attributes(attributes),
    }
}

pub fn append(writer: &mut Writer, n: u32) -> Result<()> {
    let mut requests = vec![(n, in_flight(n))];
    let (mut ended, mut spans) = (Vec::new(), Vec::new());
    if let Some(last) = n.checked_sub(1) {
        requests.push((last, done(last)));
        ended = events(last);
        spans.push(span(last));
    }
    let traces: Vec<TraceSpan> = n.checked_sub(1).map(trace_span).into_iter().collect();
    writer.append(Rows { requests: &requests, events: &ended, signals: &scrape(n), spans: &spans, traces: &traces })
}

/// A run of `appends` appends without its end.
pub fn unfinished(dir: &Path, appends: u32) -> Writer {
    let mut writer = Writer::create(dir, &info()).unwrap();
    for n in 0..appends {
        append(&mut writer, n).unwrap();
    }
    writer
}

/// The requests that a run without its end holds after `appends` appends.
pub fn requests_after(appends: u32) -> Requests {
    let last = appends.checked_sub(1).map(|n| Request {
        fate: Fate::Cancelled,
        error: Some("run interrupted".into()),
        ..in_flight(n)
    });
    Requests((0..appends.saturating_sub(1)).map(done).chain(last).collect())
}

pub fn events_after(appends: u32) -> Vec<Event> {
    (0..appends.saturating_sub(1)).flat_map(events).collect()
}
