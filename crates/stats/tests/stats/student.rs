use firstcheck_stats::Error;
use firstcheck_stats::student::{quantile, upper_tail};
use proptest::prelude::*;

#[test]
fn quantiles_are_those_of_the_tables() {
    for (p, nu, expected) in [
        (0.95, 3.0, 2.353_363),
        (0.80, 3.0, 0.978_472),
        (0.975, 7.0, 2.364_624),
        (0.95, 13.0, 1.770_933),
        (0.80, 2.0, 1.060_660),
        (0.995, 8.0, 3.355_387),
        (0.975, 1.0, 12.706_205),
        (0.5, 4.0, 0.0),
    ] {
        let found = quantile(p, nu).unwrap();
        assert!((found - expected).abs() < 1e-5, "t({p}, {nu}) = {found}, expected {expected}");
    }
}

#[test]
fn what_has_no_quantile_is_refused() {
    for (p, nu) in [(0.0, 3.0), (1.0, 3.0), (f64::NAN, 3.0), (0.5, 0.0), (0.5, f64::NAN), (0.5, f64::INFINITY)] {
        assert!(quantile(p, nu).is_err(), "{p} {nu}");
    }
    assert!(matches!(upper_tail(f64::NAN, 3.0), Err(Error::NotPositive { .. })));
    assert_eq!(upper_tail(f64::INFINITY, 3.0), Ok(0.0));
    assert_eq!(upper_tail(f64::NEG_INFINITY, 3.0), Ok(1.0));
}

proptest! {
    #[test]
    fn the_tail_beyond_a_quantile_is_what_is_left(p in 1e-6..0.999_999_f64, nu in 1.0..60.0_f64) {
        let t = quantile(p, nu).unwrap();
        prop_assert!((upper_tail(t, nu).unwrap() - (1.0 - p)).abs() < 1e-9);
    }
}
