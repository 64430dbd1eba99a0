use firstcheck_stats::Error;
use firstcheck_stats::sequential::plan;
use firstcheck_stats::student;
use proptest::prelude::*;

use crate::random::Normals;

fn levels(looks: &[usize], covariates: usize) -> Vec<f64> {
    plan(looks, covariates, 0.05).unwrap().iter().map(|l| l.p).collect()
}

#[test]
fn spending_is_that_of_o_brien_and_fleming() {
    // 2 − 2Φ(1.959964/√t) at t = 3/8, 1/2, 3/4, 1.
    let looks = plan(&[6, 8, 12, 16], 1, 0.05).unwrap();
    for (look, expected) in looks.iter().zip([0.001_371, 0.005_575, 0.023_625, 0.05]) {
        assert!((look.spent - expected).abs() < 1e-6, "{look:?}");
    }
    assert_eq!(looks.iter().map(|l| l.pairs).collect::<Vec<_>>(), [6, 8, 12, 16]);
}

#[test]
fn levels_are_near_those_of_the_standard_plan() {
    // The method quotes .0013 .0051 .0213 .0409, which would spend .0510 in all
    // where exact levels spend .0500.
    for (found, quoted) in levels(&[6, 8, 12, 16], 1).iter().zip([0.0013, 0.0051, 0.0213, 0.0409]) {
        assert!((found - quoted).abs() < 0.0008, "{found} against {quoted}");
    }
}

#[test]
fn levels_agree_with_eight_million_simulated_studies() {
    for (looks, covariates, simulated) in [
        (&[6, 8, 12, 16][..], 0, &[0.001_35, 0.004_74, 0.020_79, 0.040_66][..]),
        (&[6, 8, 12, 16], 1, &[0.001_36, 0.004_69, 0.020_58, 0.040_33]),
        (&[8, 12, 16], 2, &[0.005_59, 0.020_56, 0.040_20]),
    ] {
        for (found, expected) in levels(looks, covariates).iter().zip(simulated) {
            assert!(
                (found - expected).abs() < 0.012 * expected + 2e-5,
                "{looks:?} {covariates}: {found} against {expected}"
            );
        }
    }
}

#[test]
fn the_error_over_all_looks_is_alpha() {
    let looks = plan(&[6, 8, 12, 16], 0, 0.05).unwrap();
    let critical: Vec<f64> =
        looks.iter().map(|l| student::quantile(1.0 - l.p, (l.pairs - 1) as f64).unwrap()).collect();
    let mut normals = Normals::new(17);
    let (mut stopped, mut uncorrected) = (0, 0);
    let studies = 60_000;
    let plain: Vec<f64> = looks.iter().map(|l| student::quantile(0.95, (l.pairs - 1) as f64).unwrap()).collect();
    for _ in 0..studies {
        let d = normals.many(16);
        let t: Vec<f64> = looks.iter().map(|l| textbook_t(&d[..l.pairs])).collect();
        stopped += usize::from(t.iter().zip(&critical).any(|(t, c)| t > c));
        uncorrected += usize::from(t.iter().zip(&plain).any(|(t, c)| t > c));
    }
    let (share, loose) = (stopped as f64 / studies as f64, uncorrected as f64 / studies as f64);
    // Standard error 0.0009.
    assert!((share - 0.05).abs() < 0.003, "{share}");
    assert!(loose > 0.10, "{loose}");
}

fn textbook_t(d: &[f64]) -> f64 {
    let k = d.len() as f64;
    let mean = d.iter().sum::<f64>() / k;
    let square = d.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (k - 1.0);
    mean / (square / k).sqrt()
}

#[test]
fn one_look_spends_everything() {
    let looks = plan(&[8], 2, 0.025).unwrap();
    assert!((looks[0].p - 0.025).abs() < 1e-9, "{looks:?}");
}

#[test]
fn plans_that_cannot_be_followed_are_refused() {
    for looks in [&[][..], &[8, 8], &[12, 8], &[6, 7, 8, 9, 10, 11]] {
        assert!(matches!(plan(looks, 0, 0.05), Err(Error::Looks { .. })), "{looks:?}");
    }
    assert!(matches!(plan(&[3, 8], 2, 0.05), Err(Error::TooFewPairs { needed: 4, .. })));
    for alpha in [0.0, 1.0, f64::NAN] {
        assert!(matches!(plan(&[8], 0, alpha), Err(Error::Probability { .. })));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn levels_rise_and_stay_below_what_is_spent(steps in prop::collection::vec(1_usize..5, 1..3), first in 4_usize..8) {
        let mut looks = vec![first];
        looks.extend(steps.iter().scan(first, |k, step| { *k += step; Some(*k) }));
        let plan = plan(&looks, 1, 0.05).unwrap();
        for pair in plan.windows(2) {
            prop_assert!(pair[0].p < pair[1].p, "{:?}", plan);
            prop_assert!(pair[1].p <= pair[1].spent + 1e-4, "{:?}", plan);
            prop_assert!(pair[1].p >= pair[1].spent - pair[0].spent - 1e-4, "{:?}", plan);
        }
    }
}
