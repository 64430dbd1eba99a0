//! Where time went: splits of means and quantiles that add up.

use crate::synthetic::{Rng, counter, info};
use firstcheck_analyze::compare::{Gate, Policy, compare};
use firstcheck_model::{
    event::Event,
    evidence::RunEvidence,
    metric::Metric,
    moment::Moment,
    recording::Recording,
    report::{Report, StageRow},
    request::{Fate, Request, Requests},
    signal::{Part, Signal},
    span::{Stage, StageSpan},
};

/// One request by the milliseconds of its course.
struct Course {
    queue: f64,
    prefill: f64,
}

fn ms(at: f64) -> Moment {
    Moment::from_seconds(at * 1e-3)
}

/// A run of requests a second apart, each 2 ms in the client, 6 ms on its way, 2 ms in the front end, then queue and
/// prefill, 100 ms of decode, and 4 ms on its way back.
fn run(courses: &[Course]) -> RunEvidence {
    let mut info = info(&format!("{:?}", courses.iter().map(|course| course.queue).sum::<f64>()));
    info.workload.trace_hash = Some("one".into());
    info.load = Some(0.5);
    let (mut requests, mut spans, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for (row, course) in courses.iter().enumerate() {
        let start = 1e3 * row as f64;
        let mut at = start + 8.0;
        let mut span = |stage, length: f64| {
            spans.push(StageSpan { request: row as u32, stage, start: ms(at), end: ms(at + length), replica: None });
            at += length;
        };
        span(Stage::FrontEnd, 2.0);
        span(Stage::Queue, course.queue);
        span(Stage::Prefill, course.prefill);
        span(Stage::DecodePreempted, 100.0);
        let mut request = Request::offered(ms(start));
        request.sent = ms(start + 2.0);
        request.first_token = ms(at - 96.0);
        request.last_token = ms(at + 4.0);
        (request.first_byte, request.done) = (request.first_token, request.last_token);
        (request.fate, request.output_tokens, request.requested_tokens) = (Fate::Completed, Some(2), Some(2));
        request.prompt_tokens = Some(100);
        for seen in [request.first_token, request.last_token] {
            let since_sent_ns = seen.ns_since(request.sent).unwrap();
            events.push(Event { request: row as u32, since_sent_ns, tokens: Some(1), kernel_ns: None });
        }
        requests.push(request);
    }
    Recording { info, requests: Requests(requests), events, signals: Vec::new(), spans }.into_evidence("r")
}

fn rows<'r>(report: &'r Report, of: &str, basis: &str) -> Vec<&'r StageRow> {
    report.stages.iter().filter(|row| row.of == of && row.basis == basis).collect()
}

fn row<'r>(rows: &[&'r StageRow], stage: Stage) -> &'r StageRow {
    rows.iter().find(|row| row.stage == stage.label()).unwrap_or_else(|| panic!("no {stage:?} in {rows:?}"))
}

#[test]
fn each_part_of_a_request_is_told_by_its_name_and_the_client_sees_more_than_the_server() {
    let courses = |queue| (0..60).map(|_| Course { queue, prefill: 20.0 }).collect::<Vec<_>>();
    let report = compare(&[run(&courses(10.0))], &[run(&courses(40.0))], &Policy::default());
    let ttft = rows(&report, "ttft mean", "spans");
    let told: Vec<(&str, f64)> =
        ttft.iter().map(|row| (row.stage.as_str(), (row.base.unwrap() * 1e3).round())).collect();
    let expected = [
        ("client wait", 2.0),
        ("gateway/network", 6.0),
        ("front end and engine input", 2.0),
        ("queue", 10.0),
        ("prefill", 20.0),
        ("flush", 4.0),
    ];
    assert_eq!(told, expected, "everything is explained");
    assert_eq!(row(&ttft, Stage::FrontEnd).contains, ["tokenize", "engine_input", "detokenize"]);
    assert!((row(&ttft, Stage::Queue).share.unwrap() - 1.0).abs() < 1e-9);
    let e2e = rows(&report, "e2e mean", "spans");
    assert!((row(&e2e, Stage::DecodePreempted).base.unwrap() - 0.1).abs() < 1e-9);
    let sum: f64 = e2e.iter().map(|row| row.candidate.unwrap()).sum();
    let e2e = report.metric(Metric::E2e, "mean").unwrap().candidate.unwrap().finite().unwrap();
    assert!((sum - e2e).abs() < 1e-9, "{sum} {e2e}");
    // The first token's way out of the server takes 4 ms of the 100 ms between two tokens at the client.
    let tpot = rows(&report, "tpot mean", "spans");
    assert!((row(&tpot, Stage::DecodePreempted).base.unwrap() - 0.096).abs() < 1e-9, "{tpot:?}");
}

/// Queue and prefill that do not peak in the same requests: the differences of their own p95 add up to more than the
/// difference of the whole.
#[test]
fn a_quantile_is_split_over_its_requests_and_never_by_quantiles_of_its_parts() {
    let courses = |seed, queue: f64, prefill: f64| {
        let mut random = Rng(seed);
        let mut exponential = |mean: f64| -mean * random.next().max(1e-12).ln();
        (0..4_000).map(|_| Course { queue: exponential(queue), prefill: exponential(prefill) }).collect::<Vec<_>>()
    };
    let (base, candidate) = (courses(1, 100.0, 100.0), courses(1, 1_000.0, 400.0));
    let p95 = |all: &[Course], part: fn(&Course) -> f64| {
        let mut sorted: Vec<f64> = all.iter().map(part).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[(0.95 * sorted.len() as f64).ceil() as usize - 1] * 1e-3
    };
    let delta = |part: fn(&Course) -> f64| p95(&candidate, part) - p95(&base, part);
    let whole = delta(|course| course.queue + course.prefill);
    let parts = delta(|course| course.queue) + delta(|course| course.prefill);
    assert!((parts / whole - 1.0).abs() > 0.05, "quantiles of the parts: {parts}, of the whole: {whole}");

    let report = compare(&[run(&base)], &[run(&candidate)], &Policy::default());
    let split = rows(&report, "ttft p95", "spans");
    let explained: f64 = split.iter().filter(|row| row.stage != "unexplained").map(|row| row.delta).sum();
    assert!((explained / whole - 1.0).abs() < 0.01, "split: {explained}, whole: {whole}");
    let sum: f64 = split.iter().map(|row| row.delta).sum();
    assert!((sum - whole).abs() < 1e-6, "with what is not explained it is exact: {sum} {whole}");
    // The same mean by hand, over the requests within half a percent of the quantile's rank.
    let around = |all: &[Course]| {
        let mut sorted: Vec<&Course> = all.iter().collect();
        sorted.sort_by(|a, b| (a.queue + a.prefill).total_cmp(&(b.queue + b.prefill)));
        let near = &sorted[3_790..3_810];
        near.iter().map(|course| course.queue).sum::<f64>() * 1e-3 / near.len() as f64
    };
    let queue = row(&split, Stage::Queue).delta;
    assert!((queue / (around(&candidate) - around(&base)) - 1.0).abs() < 0.1, "{queue}");
}

/// Spans of an engine that tells its slices: a request that was thrown out waits in the queue once more.
#[test]
fn what_follows_the_first_token_in_a_queue_was_preempted() {
    let spans = |wait: f64| {
        let mut run = run(&(0..60).map(|_| Course { queue: 10.0, prefill: 20.0 }).collect::<Vec<_>>());
        run.info.id.0 = format!("{wait}");
        run.spans.clear();
        for row in 0..60_u32 {
            let start = 1e3 * f64::from(row);
            let mut span = |stage, from: f64, to: f64| {
                let (start, end) = (ms(start + from), ms(start + to));
                run.spans.push(StageSpan { request: row, stage, start, end, replica: None });
            };
            span(Stage::Tokenize, 8.0, 9.0);
            span(Stage::Queue, 10.0, 20.0);
            // A slice within a slice counts once.
            span(Stage::Prefill, 20.0, 40.0);
            span(Stage::Prefill, 20.0, 30.0);
            span(Stage::Decode, 40.0, 140.0);
            span(Stage::Queue, 60.0, 60.0 + wait);
            span(Stage::Prefill, 60.0 + wait, 62.0 + wait);
        }
        run
    };
    let report = compare(&[spans(0.0)], &[spans(50.0)], &Policy::default());
    let e2e = rows(&report, "e2e mean", "spans");
    let preempted = row(&e2e, Stage::Preempted);
    assert!((preempted.base.unwrap() - 0.002).abs() < 1e-9 && (preempted.delta - 0.05).abs() < 1e-9, "{preempted:?}");
    assert!((row(&e2e, Stage::Decode).delta + 0.05).abs() < 1e-9, "within the same time at the client");
    assert!((row(&e2e, Stage::EngineInput).base.unwrap() - 0.001).abs() < 1e-9, "between tokenising and the queue");
    assert!((row(&e2e, Stage::Prefill).base.unwrap() - 0.020).abs() < 1e-9);
    let ttft = rows(&report, "ttft mean", "spans");
    assert!(
        (row(&ttft, Stage::Delivery).base.unwrap() - 0.004).abs() < 1e-9,
        "the core's slices end before the answer"
    );
}

/// 0.07 · 100 is above 7 in binary.
#[test]
fn a_split_quantile_is_of_the_request_that_the_comparison_names() {
    let courses = |least: usize| {
        (0..100).map(|row| Course { queue: (least + row * 37 % 100) as f64, prefill: 20.0 }).collect::<Vec<_>>()
    };
    let gate = Gate { metric: Metric::Ttft, quantile: Some(0.07), margin: 0.1, required: true };
    let policy = Policy { gates: vec![gate], ..Policy::default() };
    let report = compare(&[run(&courses(0))], &[run(&courses(1_000))], &policy);
    let whole = report.metric(Metric::Ttft, "p7").unwrap().base.unwrap().finite().unwrap();
    let split = rows(&report, "ttft p7", "spans");
    let sum: f64 = split.iter().map(|row| row.base.unwrap()).sum();
    assert!((sum - whole).abs() < 1e-9, "{sum} {whole}: {split:?}");
}

#[test]
fn without_spans_and_histograms_a_regression_is_said_to_be_not_observable() {
    let bare = |queue: f64| {
        let mut run = run(&(0..250).map(|_| Course { queue, prefill: 20.0 }).collect::<Vec<_>>());
        run.spans.clear();
        run
    };
    let report = compare(&[bare(10.0)], &[bare(1_000.0)], &Policy::default());
    let row = report.stages.iter().find(|row| row.of == "ttft p95").unwrap();
    assert_eq!((row.basis.as_str(), row.stage.as_str(), row.share), ("not observable", "unexplained", None));
    assert!((row.delta - 0.99).abs() < 1e-6, "the row is the whole");
    let note = row.note.as_deref().unwrap();
    assert!(note.contains("base has no spans") && note.contains("OpenTelemetry"), "{note}");
    let mut again = bare(10.0);
    again.info.id.0 = "again".into();
    let same = compare(&[bare(10.0)], &[again], &Policy::default());
    assert!(same.stages.is_empty(), "what did not move needs no split: {:?}", same.stages);
}

#[test]
fn a_change_that_is_not_certain_has_no_shares() {
    let courses = |queue| (0..250).map(|_| Course { queue, prefill: 20.0 }).collect::<Vec<_>>();
    let mut again = run(&courses(10.0));
    again.info.id.0 = "again".into();
    let report = compare(&[run(&courses(10.0))], &[again], &Policy::default());
    let ttft = rows(&report, "ttft mean", "spans");
    assert!(!ttft.is_empty() && ttft.iter().all(|row| row.share.is_none()), "{ttft:?}");
}

/// Queue and prefill are counted when a request ends: those that wait at the end of the window are in neither.
#[test]
fn means_over_other_requests_divide_nothing() {
    let scraped = |count: f64| {
        let mut run = run(&(0..250).map(|_| Course { queue: 10.0, prefill: 20.0 }).collect::<Vec<_>>());
        run.info.id.0 = format!("{count}");
        run.spans.clear();
        for (signal, mean) in [(Signal::Ttft, 0.032), (Signal::QueueTime, 0.010), (Signal::PrefillTime, 0.020)] {
            run.signals.push(counter(signal, Part::Sum, mean * count));
            run.signals.push(counter(signal, Part::Count, count));
        }
        run
    };
    let report = compare(&[scraped(250.0)], &[scraped(245.0)], &Policy::default());
    let ttft = rows(&report, "ttft mean", "histogram means");
    let told: Vec<(&str, f64)> =
        ttft.iter().map(|row| (row.stage.as_str(), (row.base.unwrap() * 1e3).round())).collect();
    let expected = [
        ("client wait", 2.0),
        ("gateway/network and flush", 10.0),
        ("front end and engine input", 2.0),
        ("queue", 10.0),
        ("prefill", 20.0),
    ];
    assert_eq!(told, expected);
    let report = compare(&[scraped(250.0)], &[scraped(200.0)], &Policy::default());
    assert!(rows(&report, "ttft mean", "histogram means").is_empty(), "{:?}", report.stages);
}
