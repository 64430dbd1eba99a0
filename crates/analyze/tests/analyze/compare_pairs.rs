//! Pairs: what passes, what fails, and what stays open.

use crate::synthetic::{Spec, pairs};
use firstcheck_analyze::compare::{Comparison, Gate, Policy, compare};
use firstcheck_model::{
    evidence::RunEvidence,
    exit_code::exit_code,
    metric::Metric,
    report::{Claim, Quantity, Verdict},
};

/// Other runs that came out the same, as simulated ones do.
fn measured_again(runs: &[RunEvidence]) -> Vec<RunEvidence> {
    let mut again = runs.to_vec();
    again.iter_mut().for_each(|run| run.info.id.0 += "-again");
    again
}

#[test]
fn identical_runs_are_identical_and_pass() {
    let (base, _) = pairs(8, &Spec::default(), 1, |s| s);
    let report = compare(&base, &measured_again(&base), &Policy::default());
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.why);
    let row = report.metric(Metric::Ttft, "p95").unwrap();
    assert_eq!(row.claim, Claim::NonInferior);
    assert!(row.note.as_ref().unwrap().contains("identical"), "{:?}", row.note);
    assert_eq!(row.interval, Some([Quantity::Finite(1.0), Quantity::Finite(1.0)]));
    assert_eq!((row.pairs, row.mde), (8, Some(0.0)));
    assert_eq!(exit_code(&report, None), 0);
}

#[test]
fn a_uniform_slowdown_of_ten_percent_fails_its_five_percent_margin() {
    let (base, candidate) = pairs(8, &Spec::default(), 7, |s| Spec { slow: 1.1, ..s });
    let report = compare(&base, &candidate, &Policy::default());
    assert_eq!(report.verdict, Verdict::Fail, "{:?}", report.why);
    let row = report.metric(Metric::Tpot, "p50").unwrap();
    assert_eq!(row.claim, Claim::Regressed);
    let ratio = row.ratio.unwrap().finite().unwrap();
    assert!((ratio - 1.1).abs() < 0.02, "{ratio}");
    let [lo, hi] = row.interval.unwrap().map(|q| q.finite().unwrap());
    assert!(lo < ratio && ratio < hi && lo > 1.05, "{lo} {ratio} {hi}");
    assert_eq!((row.confidence, row.exploratory), (Some(0.90), false));
    assert_eq!(exit_code(&report, None), 1);
}

#[test]
fn pairs_of_one_deployment_do_not_alarm() {
    let mut failed = 0;
    for seed in 0..40 {
        let (base, candidate) = pairs(8, &Spec { requests: 220, run_sd: 0.02, ..Spec::default() }, seed, |s| s);
        let report = compare(&base, &candidate, &Policy::default());
        failed += u32::from(report.verdict == Verdict::Fail);
    }
    // With margins of 5 % and more against a spread of 2 % a failure takes four standard errors.
    assert_eq!(failed, 0);
}

/// At its margin exactly, a family of three correlated metrics fails at most as often as the gate's error allows.
#[test]
fn the_family_keeps_its_error_at_the_margin() {
    let gate = |metric| Gate { metric, quantile: Some(0.5), margin: 0.05, required: true };
    let gates = [Metric::Ttft, Metric::Tpot, Metric::E2e].map(gate).to_vec();
    let policy = Policy { gates, ..Policy::default() };
    // No queue at this load, so that every latency is exactly 5 % longer.
    let spec = Spec { requests: 20, tokens: 3, load: 0.001, run_sd: 0.02, ..Spec::default() };
    let (mut failed, runs) = (0, 200);
    for seed in 0..runs {
        let (base, candidate) = pairs(8, &spec, 1_000 + seed, |s| Spec { slow: 1.05, ..s });
        failed += u32::from(compare(&base, &candidate, &policy).verdict == Verdict::Fail);
    }
    let rate = f64::from(failed) / runs as f64;
    // 5 % and three standard errors either way: it neither alarms too often nor never.
    assert!((0.004..0.096).contains(&rate), "{rate}");
}

#[test]
fn refused_pairs_claim_nothing() {
    let (base, mut candidate) = pairs(8, &Spec::default(), 1, |s| Spec { slow: 2.0, ..s });
    candidate[3].info.workload.streaming = Some(false);
    let report = compare(&base, &candidate, &Policy::default());
    assert_eq!((report.verdict, exit_code(&report, None)), (Verdict::NotComparable, 3));
    assert!(report.metrics.iter().all(|row| row.claim == Claim::NotComparable || row.stat == "tail_asymmetry"));
}

#[test]
fn swapped_sides_give_the_inverse_ratio() {
    let (base, candidate) = pairs(8, &Spec::default(), 30, |s| Spec { slow: 1.3, ..s });
    let there = compare(&base, &candidate, &Policy::default());
    let back = compare(&candidate, &base, &Policy::default());
    let mut seen = 0;
    for row in there.metrics.iter().filter(|row| row.interval.is_some() && row.metric != Metric::GoodShare) {
        let other = back.metric(row.metric, &row.stat).unwrap();
        let product = row.ratio.unwrap().finite().unwrap() * other.ratio.unwrap().finite().unwrap();
        assert!((product - 1.0).abs() < 1e-9, "{} {}", row.metric, row.stat);
        seen += 1;
    }
    assert!(seen > 12, "{seen}");
}

#[test]
fn fewer_pairs_than_the_policy_asks_cannot_pass() {
    let (base, candidate) = pairs(6, &Spec::default(), 3, |s| s);
    let report = compare(&base, &candidate, &Policy::default());
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert!(report.why[0].contains("6 pairs: a pass takes at least 8"), "{:?}", report.why);
    assert_eq!(exit_code(&report, None), 3);
}

#[test]
fn an_unknown_or_high_load_keeps_ttft_from_passing_and_says_so() {
    for (spec, said) in [
        (Spec { load_known: false, ..Spec::default() }, "the load is unknown and counts as above 0.8"),
        (Spec { load: 0.85, ..Spec::default() }, "the load is 0.85, above 0.8"),
    ] {
        let (base, _) = pairs(8, &spec, 1, |s| s);
        let report = compare(&base, &measured_again(&base), &Policy::default());
        assert_eq!(report.verdict, Verdict::Inconclusive);
        let row = report.metric(Metric::Ttft, "p95").unwrap();
        assert_eq!(row.claim, Claim::Inconclusive);
        assert!(row.note.as_ref().unwrap().contains(said), "{:?}", row.note);
        assert_eq!(report.metric(Metric::Tpot, "p50").unwrap().claim, Claim::NonInferior);
    }
}

#[test]
fn pairs_with_a_trace_each_are_held_to_a_smaller_error() {
    let side = |offset: u64| -> Vec<_> {
        let role = if offset == 0 { firstcheck_model::run::Role::Base } else { firstcheck_model::run::Role::Candidate };
        (0..8)
            .map(|pair| {
                let spec =
                    Spec { trace: 100 + u64::from(pair), noise: u64::from(pair) * 2 + offset, ..Spec::default() };
                crate::synthetic::placed(spec.run(), role, pair)
            })
            .collect()
    };
    let report = compare(&side(0), &side(1), &Policy::default());
    assert_eq!(report.metric(Metric::Tpot, "p50").unwrap().confidence, Some(0.95));
    assert!(report.notes.iter().any(|n| n.contains("one-sided error 0.025 is used")), "{:?}", report.notes);
}

#[test]
fn rejected_requests_make_the_tail_unbounded_and_fail() {
    let (base, candidate) = pairs(8, &Spec::default(), 5, |s| Spec { reject_every: 10, ..s });
    let report = compare(&base, &candidate, &Policy::default());
    assert_eq!(report.verdict, Verdict::Fail);
    let row = report.metric(Metric::Ttft, "p95").unwrap();
    assert_eq!((row.claim, row.candidate), (Claim::Regressed, Some(Quantity::Unbounded)));
    assert!(row.note.as_ref().unwrap().contains("the candidate 200 of 2000"), "{:?}", row.note);
    // The median still is a number, and means say over which requests they are.
    assert!(report.metric(Metric::Ttft, "p50").unwrap().candidate.unwrap().finite().is_some());
    let mean = report.metric(Metric::Ttft, "mean").unwrap();
    assert!(mean.note.as_ref().unwrap().contains("complete on both sides (90.0 %)"), "{:?}", mean.note);
}

#[test]
fn goodput_is_gated_in_points_under_an_slo() {
    let slo = "ttft=150ms".parse().unwrap();
    let spec = Spec { slo: Some(slo), ..Spec::default() };
    let (base, candidate) = pairs(8, &spec, 11, |s| Spec { slow: 1.15, ..s });
    let report = compare(&base, &candidate, &Policy::default());
    let row = report.metric(Metric::GoodShare, "total").unwrap();
    assert_eq!(row.claim, Claim::Regressed, "{row:?}");
    let base_share = row.base.unwrap().finite().unwrap();
    let candidate_share = row.candidate.unwrap().finite().unwrap();
    assert!(base_share > candidate_share && candidate_share > 0.3);
    let margin = row.margin.unwrap();
    assert!((margin * base_share - 0.01).abs() < 5e-4, "one point at base's level, not {margin}");
    // The same SLO that no request meets fails outright.
    let slo = Some("ttft=1us".parse().unwrap());
    let mut none = candidate;
    none.iter_mut().for_each(|run| run.info.slo = None);
    let report = compare(&base, &none, &Policy { slo, ..Policy::default() });
    assert_ne!(report.metric(Metric::GoodShare, "total").unwrap().claim, Claim::Regressed, "neither side is good");
}

#[test]
fn a_quantile_beyond_its_requests_is_left_out_or_keeps_the_gate_open() {
    let (base, candidate) = pairs(8, &Spec::default(), 2, |s| s);
    let report = compare(&base, &candidate, &Policy::default());
    let row = report.metric(Metric::Ttft, "p99").unwrap();
    assert_eq!(row.claim, Claim::NotClaimable);
    assert!(row.note.as_ref().unwrap().contains("p99 takes 1000 offered requests a run, there are 250"));
    assert!(row.interval.is_none());
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.why);
    assert!(report.why.iter().any(|why| why.contains("TTFT p99 is left out of the gate")), "{:?}", report.why);
    let gates = vec![Gate { metric: Metric::Ttft, quantile: Some(0.99), margin: 0.1, required: true }];
    let report = compare(&base, &candidate, &Policy { gates, ..Policy::default() });
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert!(report.why[0].contains("TTFT p99 cannot be claimed"), "{:?}", report.why);
}

#[test]
fn one_pair_at_a_time_gives_the_same_report() {
    let (base, candidate) = pairs(8, &Spec::default(), 9, |s| Spec { slow: 1.05, ..s });
    let mut comparison = Comparison::new(Policy::default());
    for (b, c) in base.iter().zip(&candidate) {
        comparison.add_pair(b, c);
    }
    let (whole, parts) = (compare(&base, &candidate, &Policy::default()), comparison.finish());
    assert_eq!(serde_json::to_string(&whole).unwrap(), serde_json::to_string(&parts).unwrap());
}

#[test]
fn two_runs_on_one_device_each_are_refused_when_order_and_effect_cannot_be_told_apart() {
    // Two pairs with a varying order leave no degree of freedom: shown without an interval, never judged.
    let (base, candidate) = pairs(2, &Spec::default(), 4, |s| s);
    let report = compare(&base, &candidate, &Policy::default());
    let row = report.metric(Metric::Tpot, "p50").unwrap();
    assert_eq!((row.claim, row.interval), (Claim::Inconclusive, None));
    assert!(row.note.as_ref().unwrap().contains("no interval"), "{:?}", row.note);
    assert_eq!(report.verdict, Verdict::Inconclusive);
}

#[test]
fn a_stall_of_few_requests_shows_as_tail_asymmetry() {
    let (base, mut candidate) = pairs(8, &Spec { requests: 1000, ..Spec::default() }, 21, |s| s);
    for run in &mut candidate {
        for row in (7..1000).step_by(200) {
            let request = &mut run.requests.0[row];
            request.last_token = request.last_token.plus_ns(3_000_000_000);
            request.done = request.last_token;
        }
    }
    let report = compare(&base, &candidate, &Policy::default());
    let row = report.metric(Metric::E2e, "tail_asymmetry").unwrap();
    let [lo, _] = row.interval.unwrap().map(|q| q.finite().unwrap());
    assert!(lo > 1.0, "{row:?}");
    assert!(report.notes.iter().any(|n| n.starts_with("tail only")), "{:?}", report.notes);
}
