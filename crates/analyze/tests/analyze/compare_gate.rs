//! What a policy gates beside latencies: capacity, memory, start-up, preemptions, cost; and margins that are too small.

use crate::synthetic::{Spec, pairs};
use firstcheck_analyze::compare::{Comparison, Gate, Policy, Told, compare};
use firstcheck_model::{
    metric::Metric,
    report::{Claim, Verdict},
};

fn gate(metric: Metric, margin: f64) -> Policy {
    let slo = Some("ttft=150ms".parse().unwrap());
    let gates = vec![Gate { metric, quantile: None, margin, required: true }];
    Policy { gates, slo, gpus: Some(8.0), cost_per_gpu_hour: Some(2.5), ..Policy::default() }
}

fn told(start_up: f64, weights: f64) -> Told {
    Told {
        start_up: Some(start_up),
        weights: Some(weights),
        non_kv: Some(weights * 1.2),
        kv_tokens: Some(1e12 / weights),
    }
}

#[test]
fn capacity_memory_and_start_up_can_be_gated() {
    let (base, candidate) = pairs(8, &Spec::default(), 3, |s| s);
    for (metric, unit, value) in [
        (Metric::StartUpTime, "s", 60.0),
        (Metric::WeightMemory, "B", 16e9),
        (Metric::NonKvMemory, "B", 19.2e9),
        (Metric::KvCapacity, "tokens", 62.5),
    ] {
        let judge = |factor: f64| {
            let mut comparison = Comparison::new(gate(metric, 0.1));
            for (at, (b, c)) in base.iter().zip(&candidate).enumerate() {
                let noise = 1.0 + 0.001 * (at % 3) as f64;
                let other = told(60.0 * noise * factor, 16e9 * noise * factor);
                comparison.add_told_pair((b, told(60.0, 16e9)), (c, other));
            }
            comparison.finish()
        };
        assert_eq!(judge(1.0).verdict, Verdict::Pass, "{metric}");
        let report = judge(1.3);
        assert_eq!(report.verdict, Verdict::Fail, "{metric}");
        let row = report.metric(metric, "total").unwrap();
        assert_eq!(row.unit, unit);
        assert!((row.base.unwrap().finite().unwrap() / value - 1.0).abs() < 1e-9, "{row:?}");
        assert!(row.interval.is_some(), "{row:?}");
    }
}

#[test]
fn cost_is_gpu_time_over_good_requests() {
    let (base, candidate) = pairs(8, &Spec::default(), 3, |s| Spec { slow: 1.3, ..s });
    let report = compare(&base, &candidate, &gate(Metric::CostPerGood, 0.1));
    let row = |metric| report.metric(metric, "total").unwrap();
    let (time, cost, share) = (row(Metric::GpuTimePerGood), row(Metric::CostPerGood), row(Metric::GoodShare));
    let window = base[0].info.window.unwrap().length().unwrap().0;
    let expected = 8.0 * window / (share.base.unwrap().finite().unwrap() * 250.0);
    assert!((time.base.unwrap().finite().unwrap() / expected - 1.0).abs() < 0.01, "{time:?} {expected}");
    let hours = time.base.unwrap().finite().unwrap() / 3600.0;
    assert!((cost.base.unwrap().finite().unwrap() / (hours * 2.5) - 1.0).abs() < 1e-9);
    assert!(time.ratio.unwrap().finite().unwrap() > 1.0);
    assert_eq!(
        time.ratio.unwrap().finite().map(|r| (r * 1e6).round()),
        cost.ratio.unwrap().finite().map(|r| (r * 1e6).round())
    );
    // Without a number of GPUs nothing is said of cost.
    let report = compare(&base, &candidate, &Policy { gpus: None, ..gate(Metric::CostPerGood, 0.1) });
    assert!(report.metric(Metric::CostPerGood, "total").is_none());
    assert!(report.why.iter().any(|why| why.contains("cost a good request: no data")), "{:?}", report.why);
}

#[test]
fn a_margin_below_what_the_pairs_detect_is_refused_with_the_pairs_that_would_allow_it() {
    let (base, candidate) = pairs(8, &Spec { run_sd: 0.08, ..Spec::default() }, 3, |s| Spec { slow: 0.9, ..s });
    let gate = Gate { metric: Metric::Tpot, quantile: Some(0.5), margin: 0.05, required: true };
    let policy = Policy { gates: vec![gate], max_pairs: 64, ..Policy::default() };
    let report = compare(&base, &candidate, &policy);
    let row = report.metric(Metric::Tpot, "p50").unwrap();
    assert!(row.mde.unwrap() > 0.05, "{row:?}");
    assert_ne!(report.verdict, Verdict::Pass, "{row:?}");
    let note = row.note.as_ref().unwrap();
    assert!(
        note.contains("the margin is below what these pairs can detect: ") && note.contains("pairs would allow it"),
        "{note}"
    );
    // Shown to be better is shown all the same.
    assert!(matches!(row.claim, Claim::Improved | Claim::Inconclusive), "{row:?}");
}

#[test]
fn a_policy_may_say_the_load_that_runs_do_not_know() {
    let (base, candidate) = pairs(8, &Spec { load_known: false, run_sd: 0.003, ..Spec::default() }, 11, |s| s);
    let verdict = |load| compare(&base, &candidate, &Policy { load, ..Policy::default() }).verdict;
    assert_eq!(verdict(None), Verdict::Inconclusive);
    assert_eq!(verdict(Some(0.5)), Verdict::Pass);
    assert_eq!(verdict(Some(0.9)), Verdict::Inconclusive);
}
