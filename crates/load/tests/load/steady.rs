//! MSER-5 cuts a transient off and leaves a steady series alone.

use firstcheck_load::steady::mser5;
use proptest::prelude::*;

/// Noise of one unit around zero, repeatable.
fn noise(n: usize) -> f64 {
    ((n as f64 * 12.9898).sin() * 43_758.547).fract()
}

#[test]
fn a_transient_is_cut_off() {
    for transient in [50, 100, 200] {
        let level = |n: usize| if n < transient { 100.0 } else { 10.0 };
        let series: Vec<f64> = (0..1000).map(|n| level(n) + noise(n)).collect();
        // All of the transient goes; of the noise behind it some may.
        let cut = mser5(&series).unwrap();
        assert!((transient..transient + 200).contains(&cut), "{cut} of {transient}");
    }
}

#[test]
fn a_constant_is_left_alone() {
    assert_eq!(mser5(&[3.5; 500]), Some(0));
}

#[test]
fn too_little_says_nothing() {
    assert_eq!(mser5(&[1.0; 99]), None);
    assert_eq!(mser5(&[f64::INFINITY; 200]), None);
}

/// The definition, computed plainly.
fn plain(series: &[f64]) -> usize {
    let means: Vec<f64> = series.chunks_exact(5).map(|batch| batch.iter().sum::<f64>() / 5.0).collect();
    let error = |cut: usize| {
        let rest = &means[cut..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        rest.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    let cuts = 0..=means.len() - 5;
    cuts.min_by(|a, b| error(*a).total_cmp(&error(*b))).unwrap() * 5
}

proptest! {
    #[test]
    fn it_is_the_minimum_of_its_definition(series in prop::collection::vec(0.0_f64..100.0, 100..300)) {
        prop_assert_eq!(mser5(&series), Some(plain(&series)));
    }
}
