use firstcheck_stats::Error;
use firstcheck_stats::design::{Code, Design};
use firstcheck_stats::max_t::{MIN_ROTATIONS, Metric, adjusted};
use firstcheck_stats::paired::estimate;
use firstcheck_stats::student;
use proptest::prelude::*;

use crate::random::{Normals, close};

fn alternating(k: usize) -> Vec<Code> {
    (0..k).map(|i| if i % 2 == 0 { Code::Plus } else { Code::Minus }).collect()
}

/// An orthonormal complement of one covariate, by Gram and Schmidt over the
/// unit vectors: the Q of the formula, written out.
fn complement(code: &[Code]) -> Vec<Vec<f64>> {
    let k = code.len();
    let mut basis =
        vec![code.iter().map(|c| if *c == Code::Plus { 1.0 } else { -1.0 } / (k as f64).sqrt()).collect::<Vec<f64>>()];
    for i in 0..k {
        let mut v: Vec<f64> = (0..k).map(|j| f64::from(u8::from(i == j))).collect();
        for b in &basis {
            let along: f64 = v.iter().zip(b).map(|(x, y)| x * y).sum();
            v.iter_mut().zip(b).for_each(|(x, y)| *x -= along * y);
        }
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 1e-6 {
            basis.push(v.iter().map(|x| x / length).collect());
        }
    }
    basis.remove(0);
    basis
}

#[test]
fn a_family_of_one_has_the_p_value_of_the_t_test() {
    let design = Design::new(8, &[&alternating(8)]).unwrap();
    let d = [0.11, 0.08, 0.15, 0.02, 0.12, 0.09, 0.05, 0.13];
    let expected = estimate(&design, &d).unwrap().effect.p_above(0.05).unwrap().unwrap();
    let found = adjusted(&design, &[Metric { differences: &d, margin: 0.05 }], 200_000, 7).unwrap()[0];
    // Four standard errors of 200 000 draws.
    let allowed = 4.0 * (expected * (1.0 - expected) / 200_000.0).sqrt();
    assert!((found.p - expected).abs() < allowed, "{} against {expected}", found.p);
}

#[test]
fn copies_of_one_metric_cost_nothing_and_independent_ones_do() {
    let mut normals = Normals::new(3);
    let design = Design::plain(8).unwrap();
    let first: Vec<f64> = normals.many(8).iter().map(|x| 0.8 + x).collect();
    let others: Vec<Vec<f64>> = (0..20).map(|_| normals.many(8)).collect();
    let metric = |d| Metric { differences: d, margin: 0.0 };
    let alone = adjusted(&design, &[metric(&first)], 9_999, 1).unwrap()[0].p;
    let copies = adjusted(&design, &vec![metric(first.as_slice()); 20], 9_999, 1).unwrap()[0].p;
    let family: Vec<Metric<'_>> = std::iter::once(&first).chain(&others).map(|d| metric(d)).collect();
    let crowded = adjusted(&design, &family, 9_999, 1).unwrap()[0].p;
    assert_eq!(alone, copies);
    assert!(crowded > 3.0 * alone && crowded <= 21.0 * alone, "{alone} {crowded}");
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let design = Design::plain(6).unwrap();
    let d = [0.1, 0.3, -0.2, 0.4, 0.2, 0.1];
    let p = |seed| adjusted(&design, &[Metric { differences: &d, margin: 0.0 }], MIN_ROTATIONS, seed).unwrap();
    assert_eq!(p(1), p(1));
    assert_ne!(p(1), p(2));
}

#[test]
fn identical_differences_are_decided_by_their_sign() {
    let design = Design::new(8, &[&alternating(8)]).unwrap();
    let family = [(0.2, 0.1), (0.0, 0.1), (0.1, 0.1)];
    let values: Vec<[f64; 8]> = family.iter().map(|f| [f.0; 8]).collect();
    let metrics: Vec<Metric<'_>> =
        values.iter().zip(family).map(|(d, f)| Metric { differences: d, margin: f.1 }).collect();
    let found = adjusted(&design, &metrics, 9_999, 5).unwrap();
    assert!(found.iter().all(|a| a.t.is_none()));
    assert_eq!(found.iter().map(|a| a.p).collect::<Vec<_>>(), [1.0 / 10_000.0, 1.0, 1.0]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let design = Design::plain(4).unwrap();
    let metric = |d| Metric { differences: d, margin: 0.0 };
    assert!(matches!(adjusted(&design, &[], 999, 0), Err(Error::Rotations { asked: 999, needed: 9_999 })));
    assert_eq!(adjusted(&design, &[], 9_999, 0), Ok(vec![]));
    assert!(matches!(adjusted(&design, &[metric(&[0.0; 3])], 9_999, 0), Err(Error::Length { .. })));
    let unbounded = [0.0, f64::INFINITY, 0.0, 0.0];
    assert!(matches!(adjusted(&design, &[metric(&unbounded)], 9_999, 0), Err(Error::NotFinite { .. })));
    let nan = Metric { differences: &[0.0; 4], margin: f64::NAN };
    assert!(matches!(adjusted(&design, &[nan], 9_999, 0), Err(Error::NotFinite { .. })));
}

#[test]
fn the_family_error_is_kept_where_single_tests_lose_it() {
    // Eight correlated metrics on their margin, K = 6, one covariate.
    let design = Design::new(6, &[&alternating(6)]).unwrap();
    let mut normals = Normals::new(11);
    let (mut family, mut single) = (0, 0);
    let studies = 400;
    for study in 0..studies {
        let common = normals.many(6);
        let metrics: Vec<Vec<f64>> =
            (0..8).map(|_| normals.many(6).iter().zip(&common).map(|(x, c)| 0.05 + 0.02 * (x + c)).collect()).collect();
        let metrics: Vec<Metric<'_>> = metrics.iter().map(|d| Metric { differences: d, margin: 0.05 }).collect();
        let found = adjusted(&design, &metrics, MIN_ROTATIONS, study).unwrap();
        family += usize::from(found.iter().any(|a| a.p <= 0.05));
        let critical = student::quantile(0.95, 4.0).unwrap();
        single += usize::from(found.iter().any(|a| a.t.unwrap() > critical));
    }
    // 5 % of 400 is 20, standard error 4.4.
    assert!((7..=33).contains(&family), "{family} of {studies}");
    assert!(single > 2 * family, "{single} unadjusted, {family} adjusted");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_rotation_t_is_the_paired_t(d in prop::collection::vec(-1.0..1.0_f64, 8), margin in -0.5..0.5_f64) {
        let code = alternating(8);
        let design = Design::new(8, &[&code]).unwrap();
        let fit = estimate(&design, &d).unwrap();
        let found = adjusted(&design, &[Metric { differences: &d, margin }], MIN_ROTATIONS, 1).unwrap()[0];
        // t(z) = zᵀY / √((‖Y‖² − (zᵀY)²)/ν) with Q written out.
        let q = complement(&code);
        let onto = |v: &dyn Fn(usize) -> f64| q.iter().map(|c| c.iter().enumerate().map(|(k, x)| x * v(k)).sum()).collect::<Vec<f64>>();
        let y = onto(&|k| d[k] - margin);
        let z = onto(&|_| 1.0);
        let z_length = z.iter().map(|x| x * x).sum::<f64>().sqrt();
        let along: f64 = y.iter().zip(&z).map(|(a, b)| a * b / z_length).sum();
        let square: f64 = y.iter().map(|x| x * x).sum();
        let t = along / ((square - along * along) / 6.0).sqrt();
        prop_assert!(close(found.t.unwrap(), t, 1e-8));
        prop_assert!(close(found.t.unwrap(), fit.effect.t(margin).unwrap(), 1e-10));
    }

    #[test]
    fn a_larger_family_never_lowers_a_p_value(
        values in prop::collection::vec(prop::collection::vec(-1.0..1.0_f64, 6), 2..6)
    ) {
        let design = Design::plain(6).unwrap();
        let metrics: Vec<Metric<'_>> = values.iter().map(|d| Metric { differences: d, margin: 0.0 }).collect();
        let all = adjusted(&design, &metrics, MIN_ROTATIONS, 9).unwrap();
        let some = adjusted(&design, &metrics[..1], MIN_ROTATIONS, 9).unwrap();
        prop_assert!(all[0].p >= some[0].p);
        prop_assert!(all.iter().all(|a| a.p > 0.0 && a.p <= 1.0));
    }
}
