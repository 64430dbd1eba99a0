use firstcheck_stats::Error;
use firstcheck_stats::batches::{BATCHES, LogQuantiles, log_quantiles, split};
use firstcheck_stats::mser::mser5;
use firstcheck_stats::prediction::from_ledger;
use firstcheck_stats::student;
use firstcheck_stats::welch::welch;
use proptest::prelude::*;

use crate::random::{Normals, close};

#[test]
fn welch_is_the_textbooks() {
    // Means 20 and 30, squared standard errors 10/5 and 40/4.
    let base = [16.0, 18.0, 20.0, 22.0, 24.0];
    let candidate = [22.0, 28.0, 32.0, 38.0];
    let w = welch(&base, &candidate).unwrap();
    let candidate_square: f64 = (64.0 + 4.0 + 4.0 + 64.0) / 3.0 / 4.0;
    assert!(close(w.delta, 10.0, 1e-12));
    assert!(close(w.se, (2.0 + candidate_square).sqrt(), 1e-12));
    let nu = (2.0 + candidate_square).powi(2) / (4.0 / 4.0 + candidate_square.powi(2) / 3.0);
    assert!(close(w.nu, nu, 1e-12));
    let t = student::quantile(0.995, nu).unwrap();
    assert!(close(w.lower(0.005).unwrap(), 10.0 - t * w.se, 1e-9));
}

#[test]
fn welch_names_what_it_cannot_use() {
    assert!(matches!(welch(&[1.0], &[1.0, 2.0]), Err(Error::TooFewValues { what: "base", .. })));
    assert!(matches!(
        welch(&[1.0, 2.0], &[1.0, f64::INFINITY]),
        Err(Error::NotFinite { what: "candidate", index: 1, .. })
    ));
    let same = welch(&[1.0, 1.0], &[2.0, 2.0]).unwrap();
    assert!(same.identical);
    assert_eq!((same.delta, same.t(0.0)), (1.0, None));
}

#[test]
fn batches_are_contiguous_and_even() {
    let series: Vec<u32> = (0..13).collect();
    let lengths: Vec<usize> = split(&series, BATCHES).unwrap().iter().map(|b| b.len()).collect();
    assert_eq!(lengths, [2, 3, 2, 3, 3]);
    assert_eq!(split(&series, 5).unwrap().concat(), series);
    assert!(split(&series, 14).is_err());
    assert!(split(&series, 0).is_err());
}

#[test]
fn batches_that_have_no_logarithm_are_counted() {
    let mut series: Vec<f64> = (1..=50).map(f64::from).collect();
    let LogQuantiles::Finite(logs) = log_quantiles(&series, 5, 0.5).unwrap() else { panic!("all are finite") };
    let expected: Vec<f64> = [5.0_f64, 15.0, 25.0, 35.0, 45.0].iter().map(|x| x.ln()).collect();
    assert_eq!(logs, expected);
    series[3] = f64::INFINITY;
    assert!(matches!(log_quantiles(&series, 5, 0.5), Ok(LogQuantiles::Finite(_))));
    series[40..50].fill(f64::INFINITY);
    assert_eq!(log_quantiles(&series, 5, 0.5), Ok(LogQuantiles::Unbounded(1)));
    assert_eq!(log_quantiles(&[0.0; 10], 5, 0.5), Ok(LogQuantiles::NotPositive(5)));
    assert!(log_quantiles(&[f64::NAN; 10], 5, 0.5).is_err());
}

#[test]
fn a_single_pair_is_held_against_the_ledger() {
    let ledger = [0.02, -0.02, 0.02, -0.02, 0.02, -0.02, 0.02, -0.02];
    let s = (8.0 * 0.0004 / 7.0_f64).sqrt();
    let one = from_ledger(&ledger, 0.1).unwrap();
    assert!(close(one.se, s * 1.125_f64.sqrt(), 1e-12));
    assert_eq!((one.delta, one.nu, one.identical), (0.1, 7.0, false));
    assert!(one.lower(0.05).unwrap() > 0.0);
    assert!(from_ledger(&ledger, 0.03).unwrap().lower(0.05).unwrap() < 0.0);
    assert!(matches!(from_ledger(&ledger[..7], 0.1), Err(Error::TooFewValues { needed: 8, .. })));
    assert!(from_ledger(&ledger, f64::INFINITY).is_err());
    assert!(from_ledger(&[0.0; 8], 0.1).unwrap().identical);
}

#[test]
fn mser_cuts_a_transient_and_nothing_else() {
    let mut normals = Normals::new(23);
    let steady = normals.many(1000);
    let with_transient: Vec<f64> =
        steady.iter().enumerate().map(|(i, x)| x + if i < 150 { 20.0 } else { 0.0 }).collect();
    let cut = mser5(&with_transient).unwrap();
    assert!((150..=200).contains(&cut.observations), "{cut:?}");
    assert!(!cut.at_limit);
    let trend: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.1).collect();
    assert!(mser5(&trend).unwrap().at_limit, "a series that never settles");
    assert_eq!(mser5(&[1.0; 100]).unwrap().observations, 0);
    assert!(mser5(&[1.0; 19]).is_err());
    assert!(matches!(mser5(&[f64::INFINITY; 40]), Err(Error::NotFinite { .. })));
}

proptest! {
    #[test]
    fn welch_of_equal_sizes_has_the_pooled_standard_error(
        base in prop::collection::vec(0.1..10.0_f64, 5), candidate in prop::collection::vec(0.1..10.0_f64, 5),
    ) {
        let w = welch(&base, &candidate).unwrap();
        prop_assert!(w.nu >= 4.0 - 1e-9 && w.nu <= 8.0 + 1e-9);
        let back = welch(&candidate, &base).unwrap();
        prop_assert!(close(w.delta, -back.delta, 1e-12) && close(w.se, back.se, 1e-12));
    }

    #[test]
    fn mser_is_the_naive_minimum(series in prop::collection::vec(-1.0..1.0_f64, 20..120)) {
        let means: Vec<f64> = series.chunks_exact(5).map(|c| c.iter().sum::<f64>() / 5.0).collect();
        let naive = |cut: usize| {
            let rest = &means[cut..];
            let n = rest.len() as f64;
            let mean = rest.iter().sum::<f64>() / n;
            rest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * n)
        };
        let found = naive(mser5(&series).unwrap().observations / 5);
        let least = (0..=means.len() / 2).map(naive).fold(f64::INFINITY, f64::min);
        prop_assert!(close(found, least, 1e-12));
    }
}
