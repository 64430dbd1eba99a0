//! Minima of functions whose minimum is known.

use firstcheck_stats::simplex::{Search, minimise};

const SEARCH: Search = Search { step: 0.5, tolerance: 1e-14, evaluations: 4000 };

#[test]
fn a_curved_valley_is_followed_to_its_end() {
    let valley = |p: &[f64]| (1.0 - p[0]).powi(2) + 100.0 * (p[1] - p[0] * p[0]).powi(2);
    let minimum = minimise(&[-1.2, 1.0], SEARCH, valley);
    assert!((minimum.at[0] - 1.0).abs() < 1e-5 && (minimum.at[1] - 1.0).abs() < 1e-5, "{minimum:?}");
    assert!(minimum.evaluations < 400, "{minimum:?}");
}

#[test]
fn a_sum_of_distances_has_its_minimum_at_the_median() {
    let values = [3.0, 8.0, 1.0, 100.0, 4.0];
    let distance = |p: &[f64]| values.iter().map(|value| (value - p[0]).abs()).sum::<f64>();
    let minimum = minimise(&[50.0], SEARCH, distance);
    assert!((minimum.at[0] - 4.0).abs() < 0.01, "{minimum:?}");
}

#[test]
fn what_is_not_a_number_is_never_best_and_the_search_ends() {
    let hole = |p: &[f64]| if p[0] < 0.0 { f64::NAN } else { (p[0] - 0.1).powi(2) };
    let minimum = minimise(&[2.0], SEARCH, hole);
    assert!((minimum.at[0] - 0.1).abs() < 1e-5, "{minimum:?}");
    let nothing = minimise(&[0.0, 0.0], SEARCH, |_| f64::NAN);
    assert!(nothing.value.is_infinite() && nothing.evaluations <= 3, "{nothing:?}");
}

#[test]
fn evaluations_are_bounded() {
    let minimum = minimise(&[1.0; 6], Search { evaluations: 50, ..SEARCH }, |p| p.iter().map(|x| x * x).sum());
    assert!(minimum.evaluations <= 50 + 8, "{minimum:?}");
}
