//! How often an interval holds what it should, by simulation.

use firstcheck_stats::design::{Code, Design};
use firstcheck_stats::paired::estimate;
use firstcheck_stats::quantile::Sample;
use firstcheck_stats::resample::mean_interval;
use firstcheck_stats::welch::welch;

use crate::random::Normals;

/// Asserts that a share lies within four standard errors of what is nominal.
fn assert_share(hits: usize, studies: usize, nominal: f64, what: &str) {
    let share = hits as f64 / studies as f64;
    let allowed = 4.0 * (nominal * (1.0 - nominal) / studies as f64).sqrt();
    assert!((share - nominal).abs() < allowed, "{what}: {share}, nominal {nominal} ± {allowed}");
}

#[test]
fn resampled_intervals_of_eight_pairs_cover() {
    let mut normals = Normals::new(3);
    let (studies, mean) = (2_000, 0.3);
    let (mut covered, mut skewed) = (0, 0);
    for study in 0..studies {
        let values: Vec<f64> = (0..8).map(|_| mean + 0.1 * normals.next()).collect();
        covered += usize::from(mean_interval(&values, 0.90, 1_000, study as u64).unwrap().contains(mean));
        // Lognormal, as shares of a tail are.
        let values: Vec<f64> = (0..8).map(|_| (0.5 * normals.next()).exp()).collect();
        skewed += usize::from(mean_interval(&values, 0.90, 1_000, study as u64).unwrap().contains(0.125_f64.exp()));
    }
    assert_share(covered, studies, 0.90, "normal, two-sided 90 %");
    assert!(skewed as f64 / studies as f64 > 0.82, "lognormal: {skewed} of {studies}");
}

#[test]
fn resampling_refuses_what_it_cannot_do() {
    assert!(mean_interval(&[1.0; 5], 0.9, 1_000, 1).is_err());
    assert!(mean_interval(&[1.0; 8], 1.0, 1_000, 1).is_err());
    assert!(mean_interval(&[1.0; 8], 0.9, 0, 1).is_err());
    assert!(mean_interval(&[f64::NAN; 8], 0.9, 1_000, 1).is_err());
    let same = mean_interval(&[2.0; 8], 0.9, 100, 1).unwrap();
    assert_eq!((same.lo, same.hi), (2.0, 2.0));
}

#[test]
fn paired_intervals_cover_under_order_and_device_effects() {
    let mut normals = Normals::new(1);
    let sign = |bit: usize| if bit == 0 { Code::Plus } else { Code::Minus };
    let order: Vec<Code> = (0..8).map(|k| sign(k % 2)).collect();
    let device: Vec<Code> = (0..8).map(|k| sign(k / 2 % 2)).collect();
    let design = Design::new(8, &[&order, &device]).unwrap();
    let (studies, effect) = (20_000, 0.07);
    let (mut covered, mut failed, mut passed) = (0, 0, 0);
    for _ in 0..studies {
        let d: Vec<f64> = (0..8)
            .map(|k| {
                let value = |c: Code| if c == Code::Plus { 1.0 } else { -1.0 };
                effect + 0.1 * value(order[k]) - 0.02 * value(device[k]) + 0.05 * normals.next()
            })
            .collect();
        let fit = estimate(&design, &d).unwrap();
        covered += usize::from(fit.interval(0.95).unwrap().contains(effect));
        failed += usize::from(fit.effect.lower(0.05).unwrap() > effect);
        passed += usize::from(fit.effect.upper(0.05).unwrap() < effect);
    }
    assert_share(covered, studies, 0.95, "two-sided 95 %");
    assert_share(failed, studies, 0.05, "false failures on the margin");
    assert_share(passed, studies, 0.05, "false passes on the margin");
}

#[test]
fn the_power_at_the_detectable_effect_is_near_the_one_quoted() {
    // The sum of two t quantiles approximates the noncentral t: a little under
    // 80 % at few degrees of freedom.
    let mut normals = Normals::new(2);
    let design = Design::plain(8).unwrap();
    let effect = firstcheck_stats::mde::log_mde(0.05, 8, 0).unwrap();
    let studies = 20_000;
    let detected = (0..studies)
        .filter(|_| {
            let d: Vec<f64> = normals.many(8).iter().map(|x| effect + 0.05 * x).collect();
            estimate(&design, &d).unwrap().effect.lower(0.05).unwrap() > 0.0
        })
        .count();
    let power = detected as f64 / studies as f64;
    assert!((0.78..0.84).contains(&power), "{power}");
}

#[test]
fn welch_covers_with_unequal_spreads() {
    let mut normals = Normals::new(4);
    let studies = 20_000;
    let covered = (0..studies)
        .filter(|_| {
            let base = normals.many(5);
            let candidate: Vec<f64> = normals.many(5).iter().map(|x| 2.0 + 2.0 * x).collect();
            welch(&base, &candidate).unwrap().interval(0.95).unwrap().contains(2.0)
        })
        .count();
    // Welch is approximate: within a point.
    let share = covered as f64 / studies as f64;
    assert!((0.94..0.965).contains(&share), "{share}");
}

#[test]
fn order_intervals_cover_a_quantile_of_independent_values() {
    let mut normals = Normals::new(5);
    let (studies, truth) = (4_000, 1.644_853_6);
    let covered = (0..studies)
        .filter(|_| {
            let interval = Sample::new(normals.many(300)).unwrap().order_interval(0.95, 0.95).unwrap();
            interval.lo.is_none_or(|lo| lo <= truth) && interval.hi.is_none_or(|hi| truth <= hi)
        })
        .count();
    let share = covered as f64 / studies as f64;
    assert!((0.94..0.985).contains(&share), "{share}: discrete, so at least nominal");
}
