use firstcheck_stats::Error;
use firstcheck_stats::design::{Code, Design};
use firstcheck_stats::estimate::Estimate;
use firstcheck_stats::gate::{Decision, decide};
use firstcheck_stats::paired::estimate;
use firstcheck_stats::student;
use proptest::prelude::*;

use crate::random::close;

fn codes(signs: &str) -> Vec<Code> {
    signs.chars().map(|c| if c == '+' { Code::Plus } else { Code::Minus }).collect()
}

#[test]
fn a_balanced_covariate_costs_a_degree_and_buys_its_variance() {
    let order = codes("+-+-+-+-");
    let d: Vec<f64> =
        (0..8).map(|k| 0.1 + if k % 2 == 0 { 0.3 } else { -0.3 } + if k < 4 { 0.01 } else { -0.01 }).collect();
    let with = estimate(&Design::new(8, &[&order]).unwrap(), &d).unwrap();
    let without = estimate(&Design::plain(8).unwrap(), &d).unwrap();
    assert!(close(with.effect.delta, 0.1, 1e-12));
    assert!(close(without.effect.delta, 0.1, 1e-12));
    assert_eq!((with.effect.nu, without.effect.nu), (6.0, 7.0));
    assert!(close(with.s_d, (8.0 * 0.0001 / 6.0_f64).sqrt(), 1e-12));
    assert!(close(with.effect.se, with.s_d / 8.0_f64.sqrt(), 1e-12));
    assert!(without.s_d > 0.3);
}

#[test]
fn an_unbalanced_covariate_is_adjusted_for() {
    // Ordinary least squares by hand: means 1.0 over three pairs at +1 and
    // 0.0 over one at −1 give an intercept half way.
    let design = Design::new(4, &[&codes("+++-")]).unwrap();
    let fit = estimate(&design, &[0.9, 1.0, 1.1, 0.0]).unwrap();
    assert!(close(fit.effect.delta, 0.5, 1e-12));
    // s² = 0.02/2; (XᵀX)⁻¹ at the intercept is 4/(4·4 − 2·2) = 1/3.
    assert!(close(fit.s_d, 0.1, 1e-12));
    assert!(close(fit.effect.se, 0.1 / 3.0_f64.sqrt(), 1e-12));
    assert!(close(design.effective_pairs(), 3.0, 1e-12));
}

#[test]
fn only_covariates_that_add_something_are_fitted() {
    let (order, mirrored, constant, device) = (codes("+-+-"), codes("-+-+"), codes("++++"), codes("++--"));
    let design = Design::new(4, &[&constant, &order, &mirrored, &device]).unwrap();
    assert_eq!(design.fitted(), [1, 3]);
    assert_eq!((design.pairs(), design.covariates(), design.nu()), (4, 2, 1));
}

#[test]
fn designs_that_leave_nothing_are_refused() {
    assert_eq!(
        Design::new(3, &[&codes("+-+"), &codes("++-")]).unwrap_err(),
        Error::TooFewPairs { pairs: 3, covariates: 2, needed: 4 }
    );
    assert!(matches!(Design::plain(1), Err(Error::TooFewPairs { .. })));
    assert!(matches!(Design::plain(0), Err(Error::TooFewPairs { .. })));
    assert!(matches!(Design::new(4, &[&codes("+-+")]), Err(Error::Length { .. })));
    // Three covariates that sum to one in every pair.
    let sum_to_one = [codes("++-++-"), codes("+-++-+"), codes("-++-++")];
    let refs: Vec<&[Code]> = sum_to_one.iter().map(Vec::as_slice).collect();
    assert_eq!(Design::new(6, &refs).unwrap_err(), Error::Confounded);
}

#[test]
fn differences_that_do_not_fit_are_refused() {
    let design = Design::plain(4).unwrap();
    assert!(matches!(estimate(&design, &[1e300, -1e300, 1e300, 0.0]), Err(Error::Overflow { .. })));
    assert!(matches!(estimate(&design, &[1.0; 3]), Err(Error::Length { .. })));
    assert!(matches!(estimate(&design, &[1.0, 2.0, f64::INFINITY, 0.0]), Err(Error::NotFinite { index: 2, .. })));
    assert!(matches!(estimate(&design, &[1.0, f64::NAN, 0.0, 0.0]), Err(Error::NotFinite { index: 1, .. })));
}

#[test]
fn identical_differences_have_no_t() {
    for value in [0.0, 0.3, (1.1_f64).ln(), -1e9] {
        let fit = estimate(&Design::new(8, &[&codes("+-+-+-+-")]).unwrap(), &[value; 8]).unwrap();
        assert!(fit.effect.identical, "{value}");
        assert_eq!((fit.s_d, fit.effect.se), (0.0, 0.0));
        assert!(close(fit.effect.delta, value, 1e-12));
        assert_eq!(fit.effect.t(0.1), None);
        assert_eq!(fit.effect.p_above(0.1), Ok(None));
        let interval = fit.interval(0.95).unwrap();
        assert_eq!((interval.lo, interval.hi), (fit.effect.delta, fit.effect.delta));
    }
}

#[test]
fn bounds_decide_against_the_margin() {
    let effect = |delta: f64, se: f64| Estimate { delta, se, nu: 6.0, identical: se == 0.0 };
    for (delta, se, expected) in [
        (0.0, 0.01, Decision::Pass),
        (0.2, 0.01, Decision::Fail),
        (0.09, 0.01, Decision::Inconclusive),
        (0.11, 0.01, Decision::Inconclusive),
        (0.05, 0.0, Decision::Pass),
        (0.15, 0.0, Decision::Fail),
        (0.10, 0.0, Decision::Inconclusive),
    ] {
        assert_eq!(decide(&effect(delta, se), 0.10, 0.05), Ok(expected), "{delta} ± {se}");
    }
    assert!(decide(&effect(0.0, 0.1), f64::NAN, 0.05).is_err());
    assert!(decide(&effect(0.0, 0.1), 0.1, 0.0).is_err());
}

proptest! {
    #[test]
    fn without_covariates_it_is_the_textbook_paired_t(
        d in prop::collection::vec(-1.0..1.0_f64, 2..17), margin in -0.5..0.5_f64,
    ) {
        let k = d.len() as f64;
        let mean = d.iter().sum::<f64>() / k;
        let s = (d.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (k - 1.0)).sqrt();
        prop_assume!(s > 1e-6);
        let fit = estimate(&Design::plain(d.len()).unwrap(), &d).unwrap();
        prop_assert!(close(fit.effect.delta, mean, 1e-12));
        prop_assert!(close(fit.s_d, s, 1e-10));
        let t = student::quantile(0.975, k - 1.0).unwrap();
        let interval = fit.interval(0.95).unwrap();
        prop_assert!(close(interval.lo, mean - t * s / k.sqrt(), 1e-9));
        prop_assert!(close(interval.hi, mean + t * s / k.sqrt(), 1e-9));
        // The p value and the bound are the same statement.
        let p = fit.effect.p_above(margin).unwrap().unwrap();
        prop_assert_eq!(p < 0.05, fit.effect.lower(0.05).unwrap() > margin);
        let q = fit.effect.p_below(margin).unwrap().unwrap();
        prop_assert!((p + q - 1.0).abs() < 1e-9);
    }

    #[test]
    fn residuals_are_orthogonal_to_what_was_fitted(
        d in prop::collection::vec(-1.0..1.0_f64, 12), a in -1.0..1.0_f64, b in -1.0..1.0_f64, shift in -1.0..1.0_f64,
    ) {
        // Adding any multiple of a covariate moves neither effect nor spread.
        let (order, device) = (codes("+-+--+-+++--"), codes("++--++-+-+-+"));
        let design = Design::new(12, &[&order, &device]).unwrap();
        let sign = |c: Code| if c == Code::Plus { 1.0 } else { -1.0 };
        let moved: Vec<f64> = d.iter().enumerate().map(|(k, d)| d + shift + a * sign(order[k]) + b * sign(device[k])).collect();
        let (one, two) = (estimate(&design, &d).unwrap(), estimate(&design, &moved).unwrap());
        prop_assert!(close(one.effect.delta + shift, two.effect.delta, 1e-10));
        prop_assert!(close(one.s_d, two.s_d, 1e-9));
    }
}
