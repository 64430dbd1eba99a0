//! Changes of level, and ranks.

use crate::random::Normals;
use firstcheck_stats::{
    Error,
    change::pettitt,
    rank::{ranks, spearman},
};

#[test]
fn without_a_change_the_stated_chance_is_an_upper_bound() {
    let mut rng = Normals::new(5);
    let mut below = 0;
    for _ in 0..2_000 {
        let series = rng.many(40);
        below += u32::from(pettitt(&series).unwrap().p <= 0.05);
    }
    assert!(below <= 110, "{below} of 2000 series at 0.05");
}

#[test]
fn a_step_is_placed_where_it_is() {
    let mut rng = Normals::new(6);
    for at in [8, 20, 31] {
        let series: Vec<f64> = (0..40).map(|place| rng.next() + if place >= at { 6.0 } else { 0.0 }).collect();
        let change = pettitt(&series).unwrap();
        assert!(change.at.abs_diff(at) <= 1, "{change:?}");
        assert!(change.p < 0.01, "{change:?}");
    }
}

#[test]
fn an_answer_that_never_came_ranks_last() {
    let mut series = vec![1.0; 10];
    series.extend([f64::INFINITY; 10]);
    assert_eq!(pettitt(&series).unwrap().at, 10);
    assert!(matches!(pettitt(&[f64::NAN; 12]), Err(Error::NotOrdered { index: 0, .. })));
    assert!(matches!(pettitt(&[1.0; 9]), Err(Error::TooFewValues { found: 9, needed: 10, .. })));
    assert_eq!(ranks(&[f64::INFINITY, 1.0]).unwrap(), [2.0, 1.0]);
}

#[test]
fn spearman_sees_order_alone() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    assert_eq!(spearman(&x, &x.map(|v: f64| v.exp())).unwrap(), Some(1.0));
    assert_eq!(spearman(&x, &x.map(|v| -v)).unwrap(), Some(-1.0));
    // d = (0, 1, −1, 0, 0): 1 − 6·2/(5·24)
    assert!((spearman(&x, &[1.0, 3.0, 2.0, 4.0, 5.0]).unwrap().unwrap() - 0.9).abs() < 1e-12);
    assert_eq!(spearman(&x, &[7.0; 5]).unwrap(), None);
    assert!(spearman(&x, &[1.0]).is_err());
}
