//! What lies in the windows of two runs: rows, replicas, and requests that were never answered.

use crate::synthetic::{Spec, placed};
use firstcheck_analyze::compare::{Policy, compare};
use firstcheck_model::{
    evidence::RunEvidence,
    fingerprint::field,
    metric::Metric,
    moment::{Moment, Window},
    report::{Claim, Quantity, Verdict},
    run::{Arrivals, Role},
    signal::{Labels, Part, Series, SeriesKind, Signal},
};

/// The run with its window around those rows.
fn around(mut run: RunEvidence, rows: std::ops::Range<usize>) -> RunEvidence {
    let at = |row: usize| run.requests[row].origin();
    run.info.window = Some(Window { start: at(rows.start), end: at(rows.end) });
    run
}

#[test]
fn requests_are_compared_with_themselves_where_two_windows_hold_different_rows() {
    let run = Spec { requests: 400, ..Spec::default() }.run();
    let closed = |mut run: RunEvidence, label: &str| {
        run.info.workload.arrivals = Arrivals::Closed { concurrency: 8 };
        run.info.id.0 = label.into();
        run
    };
    let (base, candidate) = (closed(around(run.clone(), 0..300), "b"), closed(around(run, 60..360), "c"));
    let report = compare(&[base], &[candidate], &Policy::default());
    for (metric, n) in [(Metric::E2e, 240), (Metric::Ttft, 240), (Metric::LongestGap, 240)] {
        let row = report.metric(metric, "mean").unwrap();
        assert_eq!((row.ratio, row.n), (Some(Quantity::Finite(1.0)), [Some(n), Some(n)]), "{metric}: one run, twice");
    }
}

#[test]
fn a_gap_quantile_among_the_unanswered_fails_as_any_latency() {
    // 1.25 % rejected: p99 lies among them, p98 does not.
    let spec = Spec { requests: 1200, tokens: 4, load: 0.3, ..Spec::default() };
    let side = |role: Role, reject_every: usize| -> Vec<RunEvidence> {
        let of_pair = |pair: u32| {
            let noise = u64::from(pair) * 2 + u64::from(role == Role::Candidate);
            placed(Spec { noise, reject_every, ..spec.clone() }.run(), role, pair)
        };
        (0..8).map(of_pair).collect()
    };
    let report = compare(&side(Role::Base, 0), &side(Role::Candidate, 80), &Policy::default());
    let row = report.metric(Metric::Itl, "p99").unwrap();
    assert_eq!((row.candidate, row.claim), (Some(Quantity::Unbounded), Claim::Regressed), "{:?}", row.note);
}

#[test]
fn a_counter_of_some_replicas_is_not_the_whole() {
    let replica = |engine: &str, samples: &[(i64, f64)]| Series {
        name: "preemptions".into(),
        labels: Labels::new(vec![("engine".into(), engine.into())]),
        page: "main".into(),
        kind: SeriesKind::Counter,
        part: Part::Value,
        signal: Some(Signal::Preemptions),
        at: samples.iter().map(|(s, _)| Moment::at(s * 1_000_000_000)).collect(),
        value: samples.iter().map(|(_, v)| *v).collect(),
    };
    let preemptions = |second: &[(i64, f64)]| {
        let mut run = Spec::default().run();
        run.signals = vec![replica("0", &[(-1, 100.0), (3600, 107.0)]), replica("1", second)];
        let report = compare(&[run.clone()], &[RunEvidence { label: "c".into(), ..run }], &Policy::default());
        report.metric(Metric::Preemptions, "total").and_then(|row| row.base)
    };
    assert_eq!(preemptions(&[(-1, 5.0), (3600, 9.0)]), Some(Quantity::Finite(11.0)));
    assert_eq!(preemptions(&[(-1, 5.0)]), None, "7 would be taken for the sum of both");
}

#[test]
fn one_pause_of_a_replicate_is_shown_and_not_claimed() {
    let run = |noise: u64, slow: f64| Spec { noise, slow, load: 0.05, ..Spec::default() }.run();
    let report = compare(&[run(1, 1.0), run(2, 1.0)], &[run(3, 20.0), run(4, 20.0)], &Policy::default());
    let claim = |stat: &str| report.metric(Metric::LongestGap, stat).unwrap().claim;
    assert_eq!((claim("p50"), claim("p95")), (Claim::Regressed, Claim::Shown));
}

#[test]
fn files_that_differ_in_their_lengths_say_where() {
    let file = |requests: usize, hash: &str| {
        let mut run = Spec { requests, ..Spec::default() }.run();
        run.info.id.0 = hash.into();
        run.info.workload.trace_hash = Some(format!("lengths:{hash}"));
        run
    };
    let report = compare(&[file(250, "a")], &[file(240, "b")], &Policy::default());
    assert!(report.why.iter().any(|why| why.contains("250 requests were offered to base and 240")), "{:?}", report.why);
}

#[test]
fn who_sheds_requests_does_not_get_better() {
    // 4 % rejected: no quantile up to p95 is unbounded, and those that were served had less company.
    let spec = Spec { requests: 1200, load: 0.9, load_known: false, ..Spec::default() };
    let shed = |role: Role, noise: u64| Spec {
        noise,
        reject_every: if role == Role::Candidate { 25 } else { 0 },
        slow: if role == Role::Candidate { 0.9 } else { 1.0 },
        ..spec.clone()
    };
    let side = |role: Role| -> Vec<RunEvidence> {
        (0..8).map(|pair| placed(shed(role, u64::from(pair) + 50).run(), role, pair)).collect()
    };
    let report = compare(&side(Role::Base), &side(Role::Candidate), &Policy::default());
    let row = report.metric(Metric::Tpot, "p50").unwrap();
    assert!(row.ratio.and_then(Quantity::finite).unwrap() < 0.95, "served requests are faster: {:?}", row.ratio);
    assert_eq!(row.claim, Claim::Inconclusive);
    assert!(row.note.as_ref().unwrap().contains("the candidate served 96.0 % of its requests, base 100.0 %"));
    assert_ne!(report.verdict, Verdict::Pass);
    assert!(report.metrics.iter().all(|row| row.claim != Claim::Improved), "{:?}", report.metrics);
}

#[test]
fn few_pairs_claim_no_improvement() {
    let side = |role: Role, slow: f64| -> Vec<RunEvidence> {
        (0..4)
            .map(|pair| placed(Spec { noise: u64::from(pair) + 9, slow, ..Spec::default() }.run(), role, pair))
            .collect()
    };
    let report = compare(&side(Role::Base, 1.0), &side(Role::Candidate, 0.7), &Policy::default());
    let row = report.metric(Metric::Tpot, "p50").unwrap();
    assert_eq!((row.claim, row.pairs), (Claim::Inconclusive, 4));
    assert!(row.note.as_ref().unwrap().contains("4 pairs, it takes 8"), "{:?}", row.note);
}

#[test]
fn what_all_runs_agree_on_is_not_rounded() {
    let side = |role: Role| -> Vec<RunEvidence> {
        let run = |pair: u32| {
            let mut run =
                Spec { noise: u64::from(pair) * 2 + u64::from(role == Role::Candidate), ..Spec::default() }.run();
            run.info.fingerprint.set(field::KV_BLOCKS, "6000", "test");
            run.info.fingerprint.set(field::KV_BLOCK_SIZE, "16", "test");
            placed(run, role, pair)
        };
        (0..8).map(run).collect()
    };
    let report = compare(&side(Role::Base), &side(Role::Candidate), &Policy::default());
    let row = report.metric(Metric::KvCapacity, "total").unwrap();
    assert_eq!((row.base, row.candidate), (Some(Quantity::Finite(96_000.0)), Some(Quantity::Finite(96_000.0))));
}

#[test]
fn a_base_that_left_more_unanswered_is_improved_upon_only_over_enough_pairs() {
    let claim = |pairs: u32, base: usize, candidate: usize| {
        let side = |role: Role, reject_every: usize| -> Vec<RunEvidence> {
            let noise = |pair: u32| u64::from(pair) * 2 + u64::from(role == Role::Candidate);
            let run = |pair: u32| Spec { noise: noise(pair), reject_every, ..Spec::default() }.run();
            (0..pairs).map(|pair| placed(run(pair), role, pair)).collect()
        };
        let report = compare(&side(Role::Base, base), &side(Role::Candidate, candidate), &Policy::default());
        report.metric(Metric::Ttft, "p95").unwrap().claim
    };
    assert_eq!(claim(8, 5, 0), Claim::Improved);
    assert_eq!(claim(3, 5, 0), Claim::Inconclusive);
    assert_eq!(claim(8, 5, 5), Claim::Inconclusive, "unbounded on both sides");
    assert_eq!(claim(3, 0, 5), Claim::Regressed, "a failure needs no more pairs");
}

#[test]
fn the_interval_of_single_runs_says_what_it_leaves_out() {
    let run = |noise: u64| Spec { noise, ..Spec::default() }.run();
    let report = compare(&[run(1)], &[run(2)], &Policy::default());
    let row = report.metric(Metric::Ttft, "p50").unwrap();
    assert!(row.interval.is_some() && row.note.as_ref().unwrap().contains("from run to run"), "{:?}", row.note);
}
