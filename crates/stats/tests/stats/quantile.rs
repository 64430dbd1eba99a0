use firstcheck_stats::Error;
use firstcheck_stats::quantile::{Sample, Steepness, claimable, claimable_from, order_ranks};
use proptest::prelude::*;

fn sample(values: &[f64]) -> Sample {
    Sample::new(values.to_vec()).unwrap()
}

#[test]
fn the_quantile_is_an_observed_value() {
    let one_to_100: Vec<f64> = (1..=100).map(f64::from).collect();
    let s = sample(&one_to_100);
    for (p, expected) in [(0.0, 1.0), (0.07, 7.0), (0.5, 50.0), (0.95, 95.0), (0.951, 96.0), (0.99, 99.0), (1.0, 100.0)]
    {
        assert_eq!(s.quantile(p), Some(expected), "p = {p}");
    }
    for p in [-0.1, 1.1, f64::NAN] {
        assert_eq!(s.quantile(p), None);
        assert_eq!(s.linear(p), None);
    }
    assert_eq!(sample(&[]).quantile(0.5), None);
    assert_eq!(sample(&[]).linear(0.5), None);
    assert_eq!(sample(&[]).unbounded_share(), None);
}

#[test]
fn linear_interpolation_is_numpys() {
    // numpy.percentile([10, 20, 40, 80], [0, 25, 50, 90, 99, 100])
    let s = sample(&[80.0, 10.0, 40.0, 20.0]);
    for (p, expected) in [(0.0, 10.0), (0.25, 17.5), (0.5, 30.0), (0.9, 68.0), (0.99, 78.8), (1.0, 80.0)] {
        let found = s.linear(p).unwrap();
        assert!((found - expected).abs() < 1e-12, "p = {p}: {found}");
    }
}

#[test]
fn unbounded_values_make_upper_quantiles_unbounded() {
    let inf = f64::INFINITY;
    let s = sample(&[1.0, inf, 2.0, 3.0, inf, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(s.unbounded_share(), Some(0.2));
    assert_eq!(s.quantile(0.8), Some(8.0));
    assert_eq!(s.quantile(0.81), Some(inf));
    assert_eq!(s.linear(0.75), Some(7.75));
    assert_eq!(s.linear(0.8), Some(inf));
    assert_eq!(sample(&[inf, inf]).linear(0.5), Some(inf));
    assert_eq!(s.steepness(0.8), Some(Steepness::Unbounded));
}

#[test]
fn what_has_no_place_in_an_order_is_refused() {
    for bad in [f64::NAN, f64::NEG_INFINITY] {
        assert!(matches!(Sample::new(vec![1.0, bad]), Err(Error::NotOrdered { index: 1, .. })));
    }
}

#[test]
fn a_quantile_is_claimable_from_ten_requests_beyond_it() {
    for (p, least) in [(0.5, 20), (0.9, 100), (0.95, 200), (0.99, 1_000), (0.999, 10_000)] {
        assert_eq!(claimable_from(p), Some(least), "p = {p}");
        assert!(claimable(least as usize, p));
        assert!(!claimable(least as usize - 1, p));
    }
    for p in [1.0, -0.1, f64::NAN] {
        assert_eq!(claimable_from(p), None);
        assert!(!claimable(usize::MAX, p));
    }
}

#[test]
fn order_ranks_are_those_of_the_sign_test() {
    // n = 10, median: (x₂, x₉) with coverage 1 − 2·11/1024.
    let ranks = order_ranks(10, 0.5, 0.95).unwrap();
    assert_eq!((ranks.lower, ranks.upper), (Some(2), Some(9)));
    assert!((ranks.coverage - (1.0 - 22.0 / 1024.0)).abs() < 1e-12);
    // Twenty values cannot bound p99 from above, nor five a median.
    assert_eq!(order_ranks(20, 0.99, 0.95).unwrap().upper, None);
    let five = order_ranks(5, 0.5, 0.95).unwrap();
    assert_eq!((five.lower, five.upper), (None, None));
    assert!(order_ranks(0, 0.5, 0.95).is_err());
    assert!(order_ranks(10, 1.0, 0.95).is_err());
}

#[test]
fn a_jump_between_two_regimes_is_not_steady() {
    let smooth: Vec<f64> = (0..1000).map(|i| 10.0 + f64::from(i) * 0.001).collect();
    let jump: Vec<f64> = (0..1000).map(|i| if i < 950 { 10.0 } else { 30.0 }).collect();
    let coalesced: Vec<f64> = (0..1000).map(|i| if i < 400 { 0.0 } else { 5.0 }).collect();
    assert!(sample(&smooth).steepness(0.95).unwrap().is_steady());
    assert_eq!(sample(&jump).steepness(0.95), Some(Steepness::Ratio(3.0)));
    assert!(!sample(&jump).steepness(0.95).unwrap().is_steady());
    assert!(sample(&jump).steepness(0.5).unwrap().is_steady());
    assert_eq!(sample(&coalesced).steepness(0.39), Some(Steepness::NotPositive));
    assert!(!sample(&coalesced).steepness(0.39).unwrap().is_steady());
    assert_eq!(sample(&smooth).steepness(1.0), None);
}

proptest! {
    #[test]
    fn it_is_the_smallest_value_with_a_share_p_at_or_below(
        values in prop::collection::vec(prop_oneof![4 => 0.0..100.0_f64, 1 => Just(f64::INFINITY)], 1..60),
        percent in 1_usize..=100,
    ) {
        // In whole numbers, so that no rounding enters.
        let n = values.len();
        let naive = values.iter().copied()
            .filter(|v| values.iter().filter(|w| *w <= v).count() * 100 >= percent * n)
            .fold(f64::INFINITY, f64::min);
        prop_assert_eq!(sample(&values).quantile(percent as f64 / 100.0), Some(naive));
    }

    #[test]
    fn quantiles_never_fall_and_are_never_nan(
        values in prop::collection::vec(prop_oneof![4 => -5.0..100.0_f64, 1 => Just(f64::INFINITY)], 1..40),
        p in 0.0..=1.0_f64, q in 0.0..=1.0_f64,
    ) {
        let s = sample(&values);
        let (p, q) = (p.min(q), p.max(q));
        prop_assert!(s.quantile(p) <= s.quantile(q));
        prop_assert!(s.linear(p) <= s.linear(q));
        prop_assert!(!s.linear(p).unwrap().is_nan());
    }

    #[test]
    fn order_ranks_cover_what_they_promise(n in 1_usize..3000, p in 0.01..0.999_f64, confidence in 0.5..0.999_f64) {
        let ranks = order_ranks(n, p, confidence).unwrap();
        prop_assert!(ranks.coverage >= confidence - 1e-9, "{:?}", ranks);
        if let (Some(l), Some(u)) = (ranks.lower, ranks.upper) {
            prop_assert!(1 <= l && l < u && u <= n);
        }
    }
}
