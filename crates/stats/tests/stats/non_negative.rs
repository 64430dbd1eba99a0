//! Fits with slopes that cannot be negative, against known slopes and against the conditions that mark the best one.

use firstcheck_stats::{
    Error,
    non_negative::{fit, partial_r2},
};
use proptest::prelude::*;

fn columns(count: usize, rows: usize) -> impl Strategy<Value = (Vec<Vec<f64>>, Vec<f64>)> {
    let values = move || prop::collection::vec(-100.0..100.0f64, rows);
    (prop::collection::vec(values(), count), values())
}

proptest! {
    /// Karush, Kuhn and Tucker: where a slope is positive the residual is orthogonal to its column, where it is 0 moving
    /// up would not help.
    #[test]
    fn no_step_in_an_allowed_direction_helps((columns, y) in columns(4, 12)) {
        let refs: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let found = fit(&refs, &y).unwrap();
        let left: Vec<f64> = (0..y.len())
            .map(|row| y[row] - found.intercept - (0..4).map(|at| found.slopes[at] * columns[at][row]).sum::<f64>())
            .collect();
        prop_assert!(left.iter().sum::<f64>().abs() < 1e-6);
        let squares: f64 = left.iter().map(|value| value * value).sum();
        prop_assert!((squares - found.residual).abs() < 1e-6 * (1.0 + squares));
        for (column, slope) in columns.iter().zip(&found.slopes) {
            let along: f64 = column.iter().zip(&left).map(|(x, left)| x * left).sum();
            prop_assert!(*slope >= 0.0);
            prop_assert!(if *slope > 0.0 { along.abs() < 1e-5 } else { along < 1e-5 }, "{slope} {along}");
        }
    }

    #[test]
    fn shares_are_shares((columns, y) in columns(3, 9)) {
        let refs: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let shares = partial_r2(&refs, &y).unwrap();
        prop_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    }
}

#[test]
fn clocks_that_go_apart_are_told_apart() {
    // Requests of two lengths in turn: their tokens do not go with their number.
    let requests: Vec<f64> = (0..40).map(|at| f64::from(at) * 25.0).collect();
    let tokens: Vec<f64> = (0..40).map(|at| f64::from(at / 10 * 10) * 400.0 + f64::from(at % 10) * 3000.0).collect();
    let time: Vec<f64> = (0..40).map(|at| f64::from(at * at) * 0.5).collect();
    let noise = |at: usize| ((at * 7919) % 13) as f64 - 6.0;
    let held: Vec<f64> = (0..40).map(|at| 1000.0 + 0.2 * tokens[at] + noise(at)).collect();
    let found = fit(&[&requests, &tokens, &time], &held).unwrap();
    assert!((found.slopes[1] - 0.2).abs() < 0.01, "{found:?}");
    let shares = partial_r2(&[&requests, &tokens, &time], &held).unwrap();
    assert!(shares[1] > 0.9 && shares[0] < 0.3 && shares[2] < 0.3, "{shares:?}");
}

#[test]
fn a_column_without_an_end_or_of_another_length_is_refused() {
    assert!(matches!(fit(&[&[1.0, 2.0]], &[1.0, 2.0, 3.0]), Err(Error::Length { .. })));
    assert!(matches!(fit(&[&[1.0, f64::NAN, 2.0]], &[1.0, 2.0, 3.0]), Err(Error::NotFinite { .. })));
    assert!(matches!(fit(&[&[1.0, 2.0]], &[1.0, 2.0]), Err(Error::TooFewValues { .. })));
    let flat = fit(&[&[1.0, 1.0, 1.0]], &[1.0, 2.0, 3.0]).unwrap();
    assert_eq!((flat.slopes[0], flat.intercept), (0.0, 2.0));
}
