//! Whatever is written comes back.

use crate::run;
use firstcheck_bundle::{Bundle, write_recording};
use firstcheck_model::{
    event::Event,
    moment::Moment,
    recording::Recording,
    request::{Fate, Finish, Request, Requests},
    run::{Detail, RunInfo},
    signal::{Labels, Part, Series, SeriesKind},
    span::{Stage, StageSpan},
    unit::Seconds,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use std::collections::BTreeMap;

fn moment() -> impl Strategy<Value = Moment> {
    prop_oneof![Just(Moment::NEVER), any::<i64>().prop_map(Moment::at), (0..10_000_000_000i64).prop_map(Moment::at)]
}

fn request() -> impl Strategy<Value = Request> {
    let times = (moment(), moment(), moment(), moment(), moment(), moment());
    let counts = (any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u32>>());
    let finishes = vec![Finish::Stop, Finish::Length, Finish::ToolCalls, Finish::ContentFilter, Finish::Abort];
    let ends = (select(Fate::ALL.to_vec()), option::of(".{0,20}"), option::of(select(finishes)));
    let ids = (any::<Option<u64>>(), any::<Option<u32>>(), option::of("[0-9a-f]{32}"));
    let ids = (ids, any::<Option<u64>>(), option::of(0.0f32..1.0));
    (times, counts, ends, ids).prop_map(|(times, counts, ends, ids)| Request {
        intended: times.0,
        sent: times.1,
        first_byte: times.2,
        first_token: times.3,
        last_token: times.4,
        done: times.5,
        fate: ends.0,
        error: ends.1,
        finish: ends.2,
        prompt_tokens: counts.0,
        cached_tokens: counts.1,
        output_tokens: counts.2,
        requested_tokens: counts.3,
        prompt_hash: ids.0.0,
        session: ids.0.1,
        trace_id: ids.0.2,
        schema: ids.1,
        blank_share: ids.2,
    })
}

fn event() -> impl Strategy<Value = Event> {
    (any::<u32>(), any::<i64>(), any::<Option<u16>>(), any::<Option<i64>>())
        .prop_map(|(request, since_sent_ns, tokens, kernel_ns)| Event { request, since_sent_ns, tokens, kernel_ns })
}

fn span() -> impl Strategy<Value = StageSpan> {
    (any::<u32>(), select(Stage::ALL.to_vec()), moment(), moment(), option::of(".{0,8}"))
        .prop_map(|(request, stage, start, end, replica)| StageSpan { request, stage, start, end, replica })
}

fn part() -> impl Strategy<Value = Part> {
    let bound = prop_oneof![Just(f64::INFINITY), -1e9..1e9f64];
    prop_oneof![
        Just(Part::Value),
        Just(Part::Sum),
        Just(Part::Count),
        bound.prop_map(Part::Bucket),
        (0.0..1.0f64).prop_map(Part::Quantile),
    ]
}

/// Series that differ in their names, each with samples.
fn signals() -> impl Strategy<Value = Vec<Series>> {
    let value = prop_oneof![-1e12..1e12f64, Just(f64::INFINITY), Just(0.0)];
    let kind = select(vec![SeriesKind::Counter, SeriesKind::Gauge, SeriesKind::Untyped]);
    let labels = vec((".{0,6}", ".{0,6}"), 0..3).prop_map(Labels);
    let series = (labels, "[a-z]{1,4}", kind, part(), vec((moment(), value), 1..6));
    vec(series, 0..6).prop_map(|all| {
        let named = all.into_iter().enumerate().map(|(n, (labels, page, kind, part, samples))| {
            let (at, value) = samples.into_iter().unzip();
            Series { name: format!("s{n}"), labels, page, kind, part, signal: None, at, value }
        });
        named.collect()
    })
}

fn info() -> impl Strategy<Value = RunInfo> {
    let floats = (option::of(any::<f64>().prop_filter("finite", |x| x.is_finite())), any::<Option<u64>>());
    let texts = (vec(".{0,12}", 0..3), "\\PC{0,12}", ".{0,12}");
    (floats, texts).prop_map(|((load, seed), (warnings, field, value))| {
        let mut info = RunInfo { load, seed, warnings, ..run::info() };
        info.workload.warm_up = load.map(Seconds);
        info.fingerprint.set(&field, value, "/version");
        info
    })
}

fn recording() -> impl Strategy<Value = Recording> {
    (info(), vec(request(), 0..20), vec(event(), 0..60), signals(), vec(span(), 0..10)).prop_map(
        |(info, requests, events, signals, spans)| Recording {
            info,
            requests: Requests(requests),
            events,
            signals,
            spans,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_recording_comes_back(recording in recording()) {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("run");
        write_recording(&dir, &recording).unwrap();
        let bundle = Bundle::open(&dir).unwrap();
        prop_assert!(bundle.salvage().is_none());
        prop_assert!(!dir.join("journal").exists());
        prop_assert_eq!(bundle.recording().unwrap(), recording);
    }
}

/// More rows than a frame and a batch hold, in one append.
#[test]
fn a_large_append_comes_back_in_order() {
    let rows = 70_000u32;
    let events = 1_050_000u32;
    let sample = |n: u32| (Moment::at(i64::from(n)), f64::from(n));
    let (at, value) = (0..rows).map(sample).unzip();
    let series = Series { at, value, ..run::scrape(0).remove(0) };
    let recording = Recording {
        info: RunInfo { detail: Detail::Events, ..run::info() },
        requests: Requests((0..rows).map(run::done).collect()),
        events: (0..events).flat_map(|n| run::events(n % rows).into_iter().take(1)).collect(),
        signals: vec![series],
        spans: (0..rows).map(run::span).collect(),
    };
    let parent = tempfile::tempdir().unwrap();
    write_recording(&parent.path().join("run"), &recording).unwrap();
    let bundle = Bundle::open(&parent.path().join("run")).unwrap();
    let mut batches = BTreeMap::new();
    bundle.for_each_event_batch(|batch| *batches.entry(batch.len()).or_insert(0) += 1).unwrap();
    let largest = batches.keys().last().copied().unwrap();
    assert!(largest < events as usize / 4, "events come in batches, the largest of {largest}");
    assert!(bundle.recording().unwrap() == recording, "a large run did not come back as it was");
}
