//! Two modes and the valley between them.

use crate::random::Normals;
use firstcheck_stats::{Error, modes::two_modes};

fn lognormal(rng: &mut Normals, median: f64, spread: f64, n: usize) -> Vec<(f64, u64)> {
    (0..n).map(|_| (median * (spread * rng.next()).exp(), 1)).collect()
}

#[test]
fn what_was_mixed_is_told_apart() {
    let mut rng = Normals::new(11);
    for (high, n, share) in [(0.05, 40, 0.02), (0.03, 1_000, 0.33), (3.4, 4, 0.002)] {
        let mut values = lognormal(&mut rng, 0.01, 0.1, 2_000);
        values.extend(lognormal(&mut rng, high, 0.1, n));
        let modes = two_modes(values, 0.1, 0.5).unwrap().unwrap();
        assert!((modes.low / 0.01 - 1.0).abs() < 0.03, "{modes:?}");
        assert!((modes.high / high - 1.0).abs() < 0.15, "{modes:?}");
        assert!((modes.share / share - 1.0).abs() < 0.05, "{modes:?}");
        assert!(modes.low < modes.at && modes.at < modes.high && modes.depth < 0.2, "{modes:?}");
    }
}

/// A straggler may lie beyond a valley of its own, but no notable share does.
#[test]
fn one_mode_is_not_split() {
    let mut rng = Normals::new(12);
    for spread in [0.05, 0.2, 0.6] {
        for _ in 0..20 {
            let found = two_modes(lognormal(&mut rng, 0.02, spread, 2_000), 0.1, 0.5).unwrap();
            let split = found.map_or(0.0, |modes| modes.share.min(1.0 - modes.share));
            assert!(split < 0.01, "{spread}: {found:?}");
        }
    }
}

#[test]
fn the_slow_mode_may_be_the_larger_one() {
    let values = (0..100).map(|i| (if i % 5 == 0 { 0.01 } else { 0.04 }, 7));
    let modes = two_modes(values, 0.1, 0.5).unwrap().unwrap();
    assert_eq!((modes.low, modes.high, modes.share), (0.01, 0.04, 0.8));
}

#[test]
fn what_has_no_place_on_the_axis_is_left_out() {
    assert_eq!(two_modes([(0.0, 5), (f64::NAN, 1), (-1.0, 1)], 0.1, 0.5), Ok(None));
    assert_eq!(two_modes([(1e-9, 1), (1e9, 0)], 0.1, 0.5), Ok(None));
    assert!(two_modes([(1e-300, 1), (1e300, 1)], 0.1, 0.5).unwrap().is_some());
    assert!(matches!(two_modes([(1.0, 1)], 0.0, 0.5), Err(Error::NotPositive { .. })));
}
