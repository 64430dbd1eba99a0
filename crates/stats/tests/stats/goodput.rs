use firstcheck_stats::Error;
use firstcheck_stats::goodput::{Counts, Level, LogitDifference, difference};
use proptest::prelude::*;

fn counts(good: u64, offered: u64) -> Counts {
    Counts::new(good, offered).unwrap()
}

#[test]
fn nothing_good_is_named_and_all_good_is_finite() {
    for (base, candidate, expected) in
        [(5, 0, LogitDifference::CandidateNone), (0, 5, LogitDifference::BaseNone), (0, 0, LogitDifference::BothNone)]
    {
        assert_eq!(difference(counts(base, 10), counts(candidate, 10)), expected);
        assert_eq!(expected.finite(), None);
    }
    assert_eq!(difference(counts(10, 10), counts(10, 10)), LogitDifference::Finite(0.0));
    assert!((counts(10, 10).logit() - 21.0_f64.ln()).abs() < 1e-12);
    assert!(difference(counts(99, 100), counts(80, 100)).finite().unwrap() > 0.0, "worse is positive");
}

#[test]
fn impossible_counts_are_refused() {
    assert_eq!(Counts::new(0, 0), Err(Error::Counts { good: 0, offered: 0 }));
    assert!(Counts::new(11, 10).is_err());
}

#[test]
fn points_are_lost_at_the_level_of_base() {
    let level = Level::of(&[counts(9_000, 10_000), counts(9_000, 10_000)]).unwrap();
    assert!((level.share() - 0.9).abs() < 1e-4);
    let one_point = level.difference(0.01).unwrap();
    assert!((level.points(one_point) - 0.01).abs() < 1e-12);
    // ln(0.9/0.1) − ln(0.89/0.11)
    assert!((one_point - 0.106_360).abs() < 1e-4, "{one_point}");
    assert_eq!(level.difference(0.95), None, "no share is left to lose");
    assert_eq!(level.difference(f64::NAN), None);
    assert_eq!(level.points(f64::INFINITY), level.share());
    assert_eq!(Level::of(&[]), None);
}

proptest! {
    #[test]
    fn points_and_logits_convert_both_ways(good in 1_u64..1000, points in -0.4..0.4_f64) {
        let level = Level::of(&[counts(good, 1000)]).unwrap();
        if let Some(d) = level.difference(points) {
            prop_assert!((level.points(d) - points).abs() < 1e-9);
            prop_assert!((d > 0.0) == (points > 0.0));
        }
    }
}
