use firstcheck_stats::asymmetry::tail_asymmetry;
use firstcheck_stats::ratio::{LogRatio, log_ratio, ratio_of_sums};
use proptest::prelude::*;

const INF: f64 = f64::INFINITY;

#[test]
fn what_has_no_logarithm_is_named() {
    for (base, candidate, expected) in [
        (800.0, INF, LogRatio::CandidateUnbounded),
        (INF, 800.0, LogRatio::BaseUnbounded),
        (INF, INF, LogRatio::BothUnbounded),
        (0.0, 1.0, LogRatio::Undefined),
        (1.0, 0.0, LogRatio::Undefined),
        (0.0, INF, LogRatio::Undefined),
        (-1.0, 1.0, LogRatio::Undefined),
        (f64::NAN, 1.0, LogRatio::Undefined),
        (1.0, f64::NAN, LogRatio::Undefined),
    ] {
        assert_eq!(log_ratio(base, candidate), expected, "{base} {candidate}");
        assert_eq!(log_ratio(base, candidate).finite(), None);
    }
    let half = log_ratio(800.0, 1200.0).finite().unwrap();
    assert!((half - 1.5_f64.ln()).abs() < 1e-12);
}

#[test]
fn sums_are_divided_and_not_ratios_averaged() {
    assert_eq!(ratio_of_sums([(1.0, 1.0), (0.0, 9.0)]), Some(0.1));
    for empty in [vec![], vec![(1.0, 0.0)], vec![(INF, 1.0)], vec![(1.0, INF)], vec![(f64::NAN, 1.0)]] {
        assert_eq!(ratio_of_sums(empty.clone()), None, "{empty:?}");
    }
}

#[test]
fn asymmetry_sees_a_stall_on_few_requests() {
    let noise = |i: i32| (f64::from(i % 201) - 100.0) / 1000.0;
    let symmetric = tail_asymmetry((0..1005).map(|i| (1.0, noise(i).exp()))).unwrap();
    assert!(symmetric.value.abs() < 1e-12);
    assert_eq!((symmetric.used, symmetric.left_out, symmetric.tail), (1005, 0, 10));
    let stalled =
        tail_asymmetry((0..1005).map(|i| (1.0, noise(i).exp() + if i % 200 == 0 { 1.0 } else { 0.0 }))).unwrap();
    assert!(stalled.value > 0.3, "{stalled:?}");
}

#[test]
fn asymmetry_leaves_out_and_counts_what_is_incomplete() {
    let mut pairs = vec![(1.0, 1.0); 150];
    pairs.extend([(1.0, INF), (INF, 1.0), (INF, INF), (0.0, 1.0)]);
    let c = tail_asymmetry(pairs).unwrap();
    assert_eq!((c.value, c.used, c.left_out, c.tail), (0.0, 150, 4, 1));
    assert_eq!(tail_asymmetry(vec![(1.0, 1.0); 99]), None);
    assert_eq!(tail_asymmetry([]), None);
}

proptest! {
    #[test]
    fn exchanging_the_sides_changes_the_sign(
        latencies in prop::collection::vec((0.01..10.0_f64, 0.01..10.0_f64), 100..300)
    ) {
        let there = tail_asymmetry(latencies.iter().copied()).unwrap().value;
        let back = tail_asymmetry(latencies.iter().map(|(b, c)| (*c, *b))).unwrap().value;
        prop_assert!((there + back).abs() < 1e-9);
    }
}
