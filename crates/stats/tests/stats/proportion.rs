//! The upper bound of a share of rare events.

use firstcheck_stats::{Error, proportion::upper_bound};
use proptest::prelude::*;

/// P(X ≤ events) for X ~ Bin(trials, share), summed term by term.
fn at_most(events: u64, trials: u64, share: f64) -> f64 {
    let mut term = (1.0 - share).powi(trials as i32);
    let mut sum = term;
    for k in 0..events {
        term *= (trials - k) as f64 / (k + 1) as f64 * share / (1.0 - share);
        sum += term;
    }
    sum
}

proptest! {
    #[test]
    fn so_few_events_are_exactly_as_unlikely_as_the_error(events in 0_u64..12, more in 1_u64..400, alpha in 0.001..0.3) {
        let trials = events + more;
        let bound = upper_bound(events, trials, alpha).unwrap();
        prop_assert!((at_most(events, trials, bound) - alpha).abs() < 1e-6, "{bound}");
        prop_assert!(bound > events as f64 / trials as f64);
    }
}

#[test]
fn known_bounds_and_what_has_none() {
    for (events, trials, expected) in [(0, 2_000, 0.0015), (1, 100, 0.0466), (5, 100, 0.1023), (7, 7, 1.0)] {
        let bound = upper_bound(events, trials, 0.05).unwrap();
        assert!((bound - expected).abs() < 5e-5, "{events} of {trials}: {bound}");
    }
    assert!(matches!(upper_bound(1, 0, 0.05), Err(Error::Counts { .. })));
    assert!(matches!(upper_bound(3, 2, 0.05), Err(Error::Counts { .. })));
    assert!(matches!(upper_bound(0, 2, 1.0), Err(Error::Probability { .. })));
}
