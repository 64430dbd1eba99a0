//! Single runs and replicates: shown, and failed only by the rules for them.

use crate::synthetic::{Spec, summary};
use firstcheck_analyze::compare::{Policy, compare, relative_change};
use firstcheck_model::{
    comparability::Level,
    evidence::RunEvidence,
    exit_code::exit_code,
    metric::{Metric, Stat},
    moment::Moment,
    report::{Claim, Quantity, Verdict},
    run::{Arrivals, Reported, WorkloadInfo},
};

fn one(base: &Spec, candidate: &Spec) -> firstcheck_model::report::Report {
    compare(&[base.run()], &[Spec { noise: base.noise + 1, ..candidate.clone() }.run()], &Policy::default())
}

#[test]
fn the_numbers_of_the_incident_print_as_fifty_twenty_and_minus_a_quarter() {
    let figures = |ttft: f64, itl: f64, goodput: f64| {
        vec![
            Reported { metric: Metric::Ttft, stat: Stat::Quantile(0.95), value: ttft, n: None },
            Reported { metric: Metric::Itl, stat: Stat::Quantile(0.95), value: itl, n: None },
            Reported { metric: Metric::Goodput, stat: Stat::Total, value: goodput, n: None },
        ]
    };
    let base = summary("base", figures(0.8, 0.035, 12.0));
    let candidate = summary("candidate", figures(1.2, 0.042, 9.0));
    let report = compare(&[base], &[candidate], &Policy::default());
    for (metric, stat, percent) in
        [(Metric::Ttft, "p95", 50.0), (Metric::Itl, "p95", 20.0), (Metric::Goodput, "total", -25.0)]
    {
        let row = report.metric(metric, stat).unwrap();
        let (b, c) = (row.base.unwrap().finite().unwrap(), row.candidate.unwrap().finite().unwrap());
        assert!((relative_change(b, c).unwrap() * 100.0 - percent).abs() < 1e-9, "{metric}");
        assert!((row.ratio.unwrap().finite().unwrap() - (1.0 + percent / 100.0)).abs() < 1e-9);
        assert_eq!((row.claim, row.interval), (Claim::Shown, None), "printed figures carry no interval");
    }
    assert_eq!(report.verdict, Verdict::Inconclusive);
}

#[test]
fn single_runs_never_pass() {
    let report = one(&Spec::default(), &Spec::default());
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert_eq!(exit_code(&report, None), 3);
    assert!(report.metrics.iter().all(|r| r.exploratory));
    assert!(report.metrics.iter().all(|r| matches!(r.claim, Claim::Shown | Claim::NotClaimable)));
    let row = report.metric(Metric::Ttft, "p50").unwrap();
    assert!(row.interval.is_some() && row.confidence == Some(0.95), "{row:?}");
}

#[test]
fn rules_for_single_runs_on_one_trace() {
    let cases = [
        // (load, load known, slower by, TPOT p50, TTFT p95)
        (0.5, true, 1.2, Claim::Shown, Claim::Shown),
        (0.3, true, 2.0, Claim::Shown, Claim::Regressed),
        (0.3, false, 2.0, Claim::Shown, Claim::Shown),
        (0.3, false, 9.0, Claim::Regressed, Claim::Regressed),
    ];
    for (load, load_known, slow, tpot, ttft) in cases {
        let spec = Spec { load, load_known, ..Spec::default() };
        let report = one(&spec, &Spec { slow, ..spec.clone() });
        let claim = |metric, stat| report.metric(metric, stat).unwrap().claim;
        assert_eq!(claim(Metric::Tpot, "p50"), tpot, "load {load} known {load_known} slower {slow}");
        assert_eq!(claim(Metric::Ttft, "p95"), ttft, "load {load} known {load_known} slower {slow}");
        let fails = tpot == Claim::Regressed || ttft == Claim::Regressed;
        assert_eq!(exit_code(&report, None), if fails { 1 } else { 3 });
    }
}

#[test]
fn on_different_traces_ttft_is_not_comparable_and_the_token_rules_differ() {
    let base = Spec::default();
    for (slow, tpot) in [(3.0, Claim::Shown), (5.0, Claim::Regressed)] {
        let report = one(&base, &Spec { trace: 2, slow, load: 0.5, ..base.clone() });
        assert_eq!(report.metric(Metric::Ttft, "p50").unwrap().claim, Claim::NotComparable);
        assert_eq!(report.metric(Metric::Tpot, "p50").unwrap().claim, tpot);
    }
}

/// The run as a foreign file would tell it: no hash, no plan, sends late by up to `late` seconds.
fn foreign(spec: &Spec, late: f64) -> RunEvidence {
    let mut run = spec.run();
    let mut rng = crate::synthetic::Rng(99);
    run.info.window = None;
    run.info.workload = WorkloadInfo { trace_hash: None, ..run.info.workload };
    for request in &mut run.requests.0 {
        request.sent = request.sent.plus_ns((rng.next() * late * 1e9) as i64);
        request.intended = Moment::NEVER;
    }
    run
}

#[test]
fn files_without_a_hash_hold_one_trace_when_lengths_and_offsets_agree() {
    let spec = Spec { slow: 9.0, noise: 5, ..Spec::default() };
    let gap = 0.05 * 1.13 / spec.load;
    let claim = |candidate: RunEvidence| {
        let report = compare(&[foreign(&Spec::default(), 0.0)], &[candidate], &Policy::default());
        report.metric(Metric::Ttft, "p50").unwrap().claim
    };
    assert_eq!(claim(foreign(&spec, 0.1 * gap)), Claim::Regressed, "a client late by little follows the plan");
    assert_eq!(claim(foreign(&Spec { trace: 3, ..spec.clone() }, 0.0)), Claim::NotComparable, "another plan");
    let mut longer = foreign(&spec, 0.0);
    longer.requests.0[17].prompt_tokens = Some(101);
    assert_eq!(claim(longer), Claim::NotComparable, "another prompt");
}

#[test]
fn replicates_without_pairs_are_exploratory() {
    let side = |slow: f64, from: u64| -> Vec<RunEvidence> {
        (from..from + 4).map(|noise| Spec { noise, slow, ..Spec::default() }.run()).collect()
    };
    let report = compare(&side(1.0, 0), &side(1.1, 10), &Policy::default());
    let row = report.metric(Metric::Tpot, "p50").unwrap();
    let [lo, hi] = row.interval.unwrap().map(|q| q.finite().unwrap());
    assert!(lo < 1.1 && 1.1 < hi && hi - lo < 0.1, "{lo} {hi}");
    assert!(row.exploratory && row.claim == Claim::Shown);
    assert_eq!(report.verdict, Verdict::Inconclusive);
    let report = compare(&side(1.0, 0), &side(9.0, 10), &Policy::default());
    assert_eq!(report.metric(Metric::Tpot, "p50").unwrap().claim, Claim::Regressed);
}

#[test]
fn an_unbounded_quantile_of_a_single_run_fails_on_one_trace() {
    let spec = Spec { load_known: false, ..Spec::default() };
    let report = one(&spec, &Spec { reject_every: 3, ..spec.clone() });
    let row = report.metric(Metric::Ttft, "p95").unwrap();
    assert_eq!((row.candidate, row.claim), (Some(Quantity::Unbounded), Claim::Regressed));
    assert_eq!(report.metric(Metric::FailedShare, "total").unwrap().candidate, Some(Quantity::Finite(84.0 / 250.0)));
}

/// A result that prints its failed share alone.
fn lost(id: &str, lost: u64, of: u64) -> RunEvidence {
    let share =
        Reported { metric: Metric::FailedShare, stat: Stat::Total, value: lost as f64 / of as f64, n: Some(of) };
    summary(id, vec![share])
}

#[test]
fn the_failed_share_of_single_runs_is_judged_with_or_without_rows() {
    for (base, candidate, claim) in [
        ((0, 8), (8, 8), Claim::Regressed),
        ((0, 30), (25, 30), Claim::Regressed),
        ((25, 30), (25, 30), Claim::Shown),
        ((0, 8), (1, 8), Claim::Shown),
        ((0, 10_000), (100, 10_000), Claim::Shown),
    ] {
        let report = compare(
            &[lost("base", base.0, base.1)],
            &[lost("candidate", candidate.0, candidate.1)],
            &Policy::default(),
        );
        let row = report.metric(Metric::FailedShare, "total").unwrap();
        assert_eq!(row.claim, claim, "{base:?} {candidate:?}");
        let fails = claim == Claim::Regressed;
        assert_eq!(report.verdict, if fails { Verdict::Fail } else { Verdict::Inconclusive }, "{base:?} {candidate:?}");
    }
    let spec = Spec { load_known: false, ..Spec::default() };
    let report = one(&spec, &Spec { reject_every: 3, trace: 2, ..spec.clone() });
    assert_eq!(report.metric(Metric::FailedShare, "total").unwrap().claim, Claim::Regressed, "on other traces as well");
}

#[test]
fn a_run_that_contradicts_itself_is_not_comparable() {
    let mut candidate = Spec { slow: 9.0, noise: 3, ..Spec::default() }.run();
    candidate.info.contradictions.push("the file contradicts itself: 60 requests ended before they were sent".into());
    let report = compare(&[Spec::default().run()], &[candidate], &Policy::default());
    assert_eq!(report.verdict, Verdict::NotComparable);
    assert!(report.why.iter().any(|why| why.contains("contradicts itself")), "{:?}", report.why);
    assert!(report.metrics.iter().all(|row| row.claim == Claim::NotComparable));
}

#[test]
fn arrivals_that_one_side_does_not_tell_are_remarked() {
    let (base, mut candidate) = (Spec::default().run(), Spec { noise: 3, ..Spec::default() }.run());
    candidate.info.workload.arrivals = Arrivals::Unknown;
    candidate.info.workload.description = "all at once".into();
    let report = compare(&[base], &[candidate], &Policy::default());
    let ruling = report.comparability.iter().find(|ruling| ruling.rule == "arrivals").unwrap();
    assert_eq!(ruling.level, Level::Warns);
    assert!(ruling.reason.contains("`all at once` for the candidate"), "{}", ruling.reason);
}
