//! What must not be compared, and what may only in part.

use crate::synthetic::{Spec, pairs};
use firstcheck_analyze::compare::{Policy, compare};
use firstcheck_model::{
    comparability::{Level, Reach},
    evidence::RunEvidence,
    exit_code::exit_code,
    fingerprint::{Fingerprint, Group, Stated},
    metric::Metric,
    report::{Claim, Verdict},
    run::{Arrivals, CacheState, ClientHealth, Doubt, RunState},
    unit::Seconds,
};

fn against_itself(change: impl Fn(&mut RunEvidence)) -> firstcheck_model::report::Report {
    let mut candidate = Spec { noise: 2, ..Spec::default() }.run();
    change(&mut candidate);
    compare(&[Spec::default().run()], &[candidate], &Policy::default())
}

#[test]
fn refusals_name_their_numbers() {
    type Change = fn(&mut RunEvidence);
    let cases: [(Change, &str); 6] = [
        (|run| run.info.workload.streaming = Some(false), "streamed for base, not streamed for the candidate"),
        (
            |run| run.info.workload.arrivals = Arrivals::Open { rate: 12.0, cv: Some(1.0) },
            "different arrivals: 10 and 12 requests/s",
        ),
        (|run| run.info.workload.arrivals = Arrivals::Closed { concurrency: 8 }, "candidate closed loop of 8 streams"),
        (|run| run.info.workload.cache = CacheState::Warm, "warm against cold: base's prefix cache was cold"),
        (
            |run| {
                run.info.workload.trace_hash = None;
                run.requests.0.iter_mut().for_each(|r| r.prompt_tokens = Some(110));
            },
            "100.0 and 110.0 prompt tokens a request (+10.0 %, allowed 2 %)",
        ),
        (
            |run| {
                let window = run.info.window.as_mut().unwrap();
                window.end = window.end.plus_ns(60_000_000_000);
            },
            "different windows",
        ),
    ];
    for (change, reason) in cases {
        let report = against_itself(change);
        assert_eq!(report.verdict, Verdict::NotComparable, "{reason}");
        assert_eq!(exit_code(&report, None), 3);
        assert!(report.why.iter().any(|why| why.contains(reason)), "{reason} is not in {:?}", report.why);
        assert!(report.metrics.iter().all(|r| r.claim == Claim::NotComparable && r.interval.is_none()));
    }
}

/// Eight pairs of files with themselves agree in everything: that is no pass.
#[test]
fn a_run_on_both_sides_is_refused_and_one_named_twice_counts_once() {
    let (base, candidate) = pairs(8, &Spec::default(), 1, |spec| spec);
    let report = compare(&base, &base, &Policy::default());
    assert_eq!(report.verdict, Verdict::NotComparable);
    assert!(report.why[0].contains("one run stands on both sides"), "{:?}", report.why);
    assert!(report.metrics.iter().all(|row| row.claim == Claim::NotComparable && row.interval.is_none()));

    let twice = [&base[..], &base[..1]].concat();
    let (once, more) =
        (compare(&base, &candidate, &Policy::default()), compare(&twice, &candidate, &Policy::default()));
    assert_eq!((more.verdict, &more.metrics), (once.verdict, &once.metrics));
    assert!(more.notes.iter().any(|note| note.contains("counts once")), "{:?}", more.notes);
}

#[test]
fn a_side_of_two_deployments_is_said() {
    let run = |noise, blocks: &str| {
        let mut run = Spec { noise, ..Spec::default() }.run();
        run.info.fingerprint.set("kv_blocks", blocks, "/metrics");
        run
    };
    let report = compare(&[run(1, "2000"), run(2, "1400")], &[run(3, "2000"), run(4, "2000")], &Policy::default());
    let said = "the runs of base are not of one deployment: kv_blocks 2000 and 1400";
    assert!(report.notes.iter().any(|note| note == said), "{:?}", report.notes);
    assert!(!report.notes.iter().any(|note| note.contains("of the candidate are not")), "{:?}", report.notes);
}

#[test]
fn a_difference_between_the_deployments_is_listed_and_no_reason_to_refuse() {
    let mut base = Spec::default().run();
    base.info.fingerprint.set("kv_blocks", "2000", "/metrics");
    let mut candidate = Spec { noise: 2, ..Spec::default() }.run();
    candidate.info.fingerprint.set("kv_blocks", "1400", "/metrics");
    for run in [&mut base, &mut candidate] {
        run.info.fingerprint.set("kv_block_size", "16", "/metrics");
    }
    let report = compare(&[base], &[candidate], &Policy::default());
    assert_ne!(report.verdict, Verdict::NotComparable);
    assert_eq!(report.differences.len(), 1);
    assert_eq!(report.differences[0].field, "kv_blocks");
    let row = report.metric(Metric::KvCapacity, "total").unwrap();
    assert_eq!(row.base.unwrap().finite(), Some(32_000.0));
    assert_eq!(row.candidate.unwrap().finite(), Some(22_400.0));
}

#[test]
fn a_burstier_trace_bars_what_holds_the_queue_and_nothing_else() {
    let report = against_itself(|run| run.info.workload.arrivals = Arrivals::Open { rate: 10.0, cv: Some(2.0) });
    assert_eq!(report.verdict, Verdict::Inconclusive);
    for metric in [Metric::Ttft, Metric::E2e] {
        assert_eq!(report.metric(metric, "p50").unwrap().claim, Claim::NotComparable);
    }
    assert_eq!(report.metric(Metric::Tpot, "p50").unwrap().claim, Claim::Shown);
}

#[test]
fn an_invalid_client_supports_nothing_and_a_doubt_only_its_metric() {
    let doubt = |metric| ClientHealth {
        doubts: vec![Doubt { metric, reason: "the client was saturated: 1.0 of one core".into() }],
        ..ClientHealth::default()
    };
    let report = against_itself(|run| run.info.client = Some(doubt(None)));
    assert_eq!(report.verdict, Verdict::NotComparable);
    assert!(report.invalid[0].contains("invalid client: the client was saturated"));
    assert!(report.metrics.iter().all(|r| r.claim == Claim::NotClaimable));
    assert_eq!(exit_code(&report, None), 3);

    let report = against_itself(|run| run.info.client = Some(doubt(Some(Metric::LongestGap))));
    assert!(report.invalid.is_empty());
    assert_eq!(report.metric(Metric::LongestGap, "p50").unwrap().claim, Claim::NotClaimable);
    assert_eq!(report.metric(Metric::Ttft, "p50").unwrap().claim, Claim::Shown);
}

#[test]
fn an_interrupted_run_cannot_tell() {
    let report = against_itself(|run| run.info.state = RunState::Interrupted { reason: "disk full".into() });
    assert_eq!((report.verdict, exit_code(&report, None)), (Verdict::Inconclusive, 3));
    assert!(report.why[0].contains("interrupted: disk full"));
}

#[test]
fn a_late_client_voids_ttft_alone() {
    let report = against_itself(|run| {
        for request in &mut run.requests.0 {
            request.sent = request.sent.plus_ns(20_000_000);
        }
    });
    let row = report.metric(Metric::Ttft, "p50").unwrap();
    assert_eq!(row.claim, Claim::NotClaimable);
    assert!(row.note.as_ref().unwrap().contains("send-lag p99 20.0 ms, allowed 5.0 ms"), "{:?}", row.note);
    assert_eq!(report.metric(Metric::TtftFromSent, "p50").unwrap().claim, Claim::Shown);
    assert_eq!(report.metric(Metric::Tpot, "p50").unwrap().claim, Claim::Shown);
}

#[test]
fn a_coalescing_client_cannot_speak_of_gap_quantiles() {
    let report = against_itself(|run| {
        let streams = run.streams.as_mut().unwrap();
        streams.event_gaps.add_ns(1_000, 1_000);
        streams.coalesced += 1_000;
    });
    let row = report.metric(Metric::Itl, "p50").unwrap();
    assert_eq!(row.claim, Claim::NotClaimable);
    assert!(row.note.as_ref().unwrap().contains("shorter than 50 µs"), "{:?}", row.note);
    for (metric, stat) in [(Metric::Itl, "mean"), (Metric::Ttft, "p50")] {
        assert_eq!(report.metric(metric, stat).unwrap().claim, Claim::Shown, "{metric} {stat}");
    }
}

#[test]
fn no_run_on_a_side_is_said() {
    let report = compare(&[], &[Spec::default().run()], &Policy::default());
    assert_eq!((report.verdict, exit_code(&report, None)), (Verdict::NotComparable, 3));
    assert!(report.why[0].contains("a side holds no run"));
}

#[test]
fn times_without_a_window_still_have_throughput() {
    let report = against_itself(|run| run.info.window = None);
    let row = report.metric(Metric::RequestThroughput, "total").unwrap();
    let ratio = row.ratio.unwrap().finite().unwrap();
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    let Seconds(length) = Spec::default().run().info.window.unwrap().length().unwrap();
    assert!((row.base.unwrap().finite().unwrap() - 250.0 / length).abs() < 0.5);
}

/// Each rule with what sets it off: level, what it reaches, and a mend.
#[test]
fn every_ruling_has_a_level_a_reason_and_a_mend() {
    type Change = fn(&mut RunEvidence);
    let cases: [(&str, Level, Reach, Change); 10] = [
        ("streaming", Level::Blocks, Reach::Everything, |run| run.info.workload.streaming = Some(false)),
        ("trace", Level::Blocks, Reach::Queue, |run| run.info.workload.trace_hash = Some("other".into())),
        ("warm-up", Level::Warns, Reach::Everything, |run| run.info.workload.warm_up = Some(Seconds(1.0))),
        ("warm-or-cold", Level::Blocks, Reach::Everything, |run| run.info.workload.cache = CacheState::Warm),
        ("warm-or-cold", Level::Notes, Reach::Everything, |run| run.info.workload.cache = CacheState::Unknown),
        ("hardware", Level::Notes, Reach::Everything, |run| set(run, Group::Hardware, "gpu_model", "H200")),
        ("hardware", Level::Warns, Reach::Everything, |run| {
            set(run, Group::Hardware, "gpu_model", "H200");
            set(run, Group::Engine, "engine_version", "2");
        }),
        ("tokenizer", Level::Blocks, Reach::Everything, |run| set(run, Group::Model, "tokenizer_hash", "2")),
        ("profiler", Level::Blocks, Reach::Everything, |run| set(run, Group::Resolved, "profiler", "started")),
        ("host-load", Level::Warns, Reach::Everything, |run| {
            run.info.client = Some(ClientHealth { host_load: Some(17.0), ..ClientHealth::default() });
        }),
    ];
    for (rule, level, reach, change) in cases {
        let (mut base, mut candidate) = (Spec::default().run(), Spec { noise: 2, ..Spec::default() }.run());
        for run in [&mut base, &mut candidate] {
            run.info.workload.warm_up = Some(Seconds(30.0));
            set(run, Group::Hardware, "gpu_model", "H100");
            set(run, Group::Engine, "engine_version", "1");
            set(run, Group::Model, "tokenizer_hash", "1");
        }
        let quiet = compare(std::slice::from_ref(&base), &[candidate.clone()], &Policy::default());
        assert_eq!(quiet.comparability, [], "nothing stands in the way before {rule}");
        change(&mut candidate);
        let report = compare(&[base], &[candidate], &Policy::default());
        let ruling = report.comparability.iter().find(|ruling| ruling.rule == rule);
        let ruling = ruling.unwrap_or_else(|| panic!("{rule} is not in {:?}", report.comparability));
        assert_eq!((ruling.level, ruling.reach), (level, reach), "{ruling:?}");
        assert!(!ruling.reason.is_empty() && !ruling.mend.is_empty());
        let refused = level == Level::Blocks && reach == Reach::Everything;
        assert_eq!(report.verdict == Verdict::NotComparable, refused, "{rule}");
    }
}

fn set(run: &mut RunEvidence, group: Group, name: &str, value: &str) {
    let mut print = Fingerprint::default();
    print.state(group, name, Stated::new(value, "test"));
    for (known, field) in run.info.fingerprint.iter().filter(|(known, _)| *known != name) {
        print.state(field.group, known, field.stated.clone());
    }
    run.info.fingerprint = print;
}
