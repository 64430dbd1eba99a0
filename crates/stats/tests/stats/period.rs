//! Periods of events.

use firstcheck_stats::{
    Error,
    period::{phases, rayleigh, regular},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Places of a Poisson process with mean interval 1.
fn poisson(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    let mut at = 0.0;
    (0..n)
        .map(|_| {
            at -= (1.0 - rng.random::<f64>()).ln();
            at
        })
        .collect()
}

#[test]
fn without_a_period_the_stated_chance_is_an_upper_bound() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let runs = 500;
    for n in [6, 15, 60] {
        let below = (0..runs).filter(|_| regular(&poisson(&mut rng, n), 0.0).unwrap().p <= 0.05).count();
        assert!(below <= runs / 20 + 10, "{below} of {runs} trains of {n} at 0.05");
    }
}

#[test]
fn a_period_is_found_with_its_length_not_a_fraction_of_it() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for (n, jitter, missing) in [(8, 0.0, 0.0), (20, 0.05, 0.2), (100, 0.1, 0.4)] {
        let mut places = Vec::new();
        for turn in 0..n {
            if rng.random::<f64>() >= missing {
                places.push(7.0 * (f64::from(turn) + jitter * (rng.random::<f64>() - 0.5)));
            }
        }
        let found = regular(&places, 0.0).unwrap();
        assert!((found.period / 7.0 - 1.0).abs() < 0.02, "{n} {jitter} {missing}: {found:?}");
        assert!(found.p < 1e-3 && found.jitter() < 0.1, "{found:?}");
    }
}

/// Intervals that vary by nine tenths have a mean and no period.
#[test]
fn a_mean_interval_is_no_period() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let wrong = (0..200).filter(|_| {
        let mut at = 0.0;
        let places: Vec<f64> = (0..20)
            .map(|_| {
                at += 3.0 * (0.1 + 1.8 * rng.random::<f64>());
                at
            })
            .collect();
        regular(&places, 0.0).unwrap().p < 1e-3
    });
    assert!(wrong.count() <= 1);
}

/// Counts stand on whole numbers, which is no period of theirs.
#[test]
fn whole_numbers_are_no_period() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let counts: Vec<f64> = poisson(&mut rng, 40).iter().map(|place| (place * 1.3).round()).collect();
    assert!(regular(&counts, 0.0).unwrap().p < 1e-6);
    assert!(regular(&counts, 4.0).unwrap().p > 0.01);
}

#[test]
fn what_no_period_can_be_told_of_is_refused() {
    assert!(matches!(regular(&[1.0; 5], 0.0), Err(Error::TooFewValues { found: 5, needed: 6, .. })));
    assert!(matches!(regular(&[1.0; 9], 0.0), Err(Error::NotPositive { .. })));
    assert!(matches!(regular(&[f64::NAN; 9], 0.0), Err(Error::NotFinite { .. })));
    let (length, phase) = phases(&[0.25, 2.25, 5.25], 1.0);
    assert!((length - 1.0).abs() < 1e-12 && (phase - 0.25).abs() < 1e-12);
    assert!(rayleigh(50, 0.0) > 0.9 && rayleigh(50, 1.0) < 1e-20);
}
