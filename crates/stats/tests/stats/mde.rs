use firstcheck_stats::mde::{PairPlan, log_mde, mde, pairs_needed, pairs_to_decide};

const TWO_DEVICES: PairPlan = PairPlan { covariates: 2, multiple: 4, least: 8, limit: 16 };
const ANY: PairPlan = PairPlan { covariates: 2, multiple: 1, least: 2, limit: 60 };

#[test]
fn detectable_effects_at_a_spread_of_five_percent() {
    for (pairs, percent) in [(6, 7.0), (8, 5.3), (12, 4.0), (16, 3.4)] {
        let found = 100.0 * mde(0.05, pairs, 2).unwrap();
        assert!((found - percent).abs() < 0.05, "K = {pairs}: {found} %, expected {percent} %");
    }
    assert_eq!(mde(0.0, 8, 2), Ok(0.0));
}

#[test]
fn what_cannot_be_computed_is_refused() {
    assert!(log_mde(0.05, 3, 2).is_err());
    assert!(log_mde(f64::NAN, 8, 2).is_err());
    assert!(log_mde(-0.1, 8, 2).is_err());
    for margin in [0.0, -1.0, f64::NAN] {
        assert!(pairs_needed(0.05, margin, ANY).is_err());
    }
    assert!(pairs_to_decide(f64::NAN, 0.05, 0.05, ANY).is_err());
    assert!(pairs_to_decide(0.1, 0.05, 0.0, ANY).is_err());
}

#[test]
fn the_smallest_sufficient_number_of_pairs_is_found() {
    for margin in [0.03, 0.05, 0.10, 0.30] {
        let k = pairs_needed(0.05, margin, ANY).unwrap().unwrap();
        assert!(mde(0.05, k, 2).unwrap() <= margin);
        assert!(k == 4 || mde(0.05, k - 1, 2).unwrap() > margin, "K = {k}");
    }
    assert_eq!(pairs_needed(0.05, 0.05, TWO_DEVICES), Ok(Some(12)), "a multiple of four");
    assert_eq!(pairs_needed(0.05, 0.01, TWO_DEVICES), Ok(None), "beyond the limit");
}

#[test]
fn a_bound_decides_from_some_number_of_pairs_on() {
    // t(.95, 5)/√8·.05 = .0356; t(.95, 9)/√12·.05 = .0265; t(.95, 13)/√16·.05 = .0221
    for (gap, expected) in [(0.04, Some(8)), (0.03, Some(12)), (0.023, Some(16)), (0.02, None), (0.0, None)] {
        assert_eq!(pairs_to_decide(gap, 0.05, 0.05, TWO_DEVICES), Ok(expected), "gap {gap}");
    }
    assert_eq!(pairs_to_decide(0.01, 0.0, 0.05, TWO_DEVICES), Ok(Some(8)));
}
