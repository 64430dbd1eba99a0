//! Where a share crosses a level: exact where it is exact, and its interval covers the truth as often as it says.

use crate::random::Normals;
use firstcheck_stats::{crossing::crossing, goodput::Counts};

fn counts(share: f64, offered: u64) -> Counts {
    Counts::new((share * offered as f64).round() as u64, offered).unwrap()
}

fn logistic(eta: f64) -> f64 {
    1.0 / (1.0 + (-eta).exp())
}

#[test]
fn an_exact_curve_is_crossed_where_it_is() {
    let runs: Vec<_> =
        (0..9).map(|at| f64::from(at) / 4.0).map(|x| (x, counts(logistic(3.0 - 4.0 * x), 1_000_000))).collect();
    let found = crossing(&runs, 0.5, 0.95).unwrap().unwrap();
    assert!((found.at - 0.75).abs() < 1e-4 && (found.slope + 4.0).abs() < 1e-3, "{found:?}");
    let found = crossing(&runs, 0.9, 0.95).unwrap().unwrap();
    assert!((found.at - (3.0 - 9.0_f64.ln()) / 4.0).abs() < 1e-4, "{found:?}");
    assert_eq!(found.dispersion, 1.0);
}

#[test]
fn no_curve_crosses_nothing() {
    let at = |x: f64, share| (x, counts(share, 100));
    assert_eq!(crossing(&[at(1.0, 0.9), at(2.0, 0.5), at(3.0, 0.1)], 0.5, 0.95).unwrap(), None, "three runs");
    assert_eq!(crossing(&[at(1.0, 0.9), at(1.0, 0.5), at(1.0, 0.4), at(1.0, 0.3)], 0.5, 0.95).unwrap(), None, "one x");
    assert!(crossing(&[at(f64::NAN, 0.9); 4], 0.5, 0.95).is_err());
    let noise = [at(1.0, 0.5), at(2.0, 0.9), at(3.0, 0.2), at(4.0, 0.6)];
    assert_eq!(crossing(&noise, 0.5, 0.95).unwrap().unwrap().interval, None, "no slope for certain");
    // All good, then none: a step has a finite fit, since half a request is added to both counts.
    let step = [at(1.0, 1.0), at(2.0, 1.0), at(3.0, 0.0), at(4.0, 0.0)];
    assert!((crossing(&step, 0.5, 0.95).unwrap().unwrap().at - 2.5).abs() < 0.05);
}

#[test]
fn the_interval_covers_the_truth_where_runs_differ_by_more_than_draws() {
    let mut normals = Normals::new(7);
    for sd in [0.0, 0.5] {
        let (mut covered, mut told) = (0, 0);
        for _ in 0..2_000 {
            let runs: Vec<_> = (0..12)
                .map(|at| {
                    let x = f64::from(at % 6) / 6.0;
                    let share = logistic(3.0 - 5.0 * x + sd * normals.next());
                    let drawn = share + (share * (1.0 - share) / 200.0).sqrt() * normals.next();
                    (x, counts(drawn.clamp(0.0, 1.0), 200))
                })
                .collect();
            if let Some(interval) = crossing(&runs, 0.8, 0.95).unwrap().and_then(|found| found.interval) {
                told += 1;
                covered += u32::from(interval.contains((3.0 - 4.0_f64.ln()) / 5.0));
            }
        }
        let share = f64::from(covered) / f64::from(told);
        assert!(told > 1_980 && (0.93..=0.985).contains(&share), "{covered} of {told} at run sd {sd}");
    }
}
