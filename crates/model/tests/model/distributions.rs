use firstcheck_model::distribution::Distribution;
use proptest::prelude::*;

fn of(values: &[i64]) -> Distribution {
    let mut distribution = Distribution::default();
    values.iter().for_each(|ns| distribution.add_ns(*ns, 1));
    distribution
}

proptest! {
    #[test]
    fn a_quantile_is_the_sample_of_that_rank_to_its_resolution(mut values in prop::collection::vec(0i64..4_000_000_000_000, 1..300), p in 0.001f64..1.0) {
        let distribution = of(&values);
        values.sort_unstable();
        let rank = ((p * values.len() as f64 - 1e-9).ceil() as usize).clamp(1, values.len());
        let exact = values[rank - 1] as f64 * 1e-9;
        let got = distribution.quantile(p).unwrap().0;
        prop_assert!((got - exact).abs() <= exact * 6.2e-5 + 1e-12, "{got} for {exact}");
    }

    #[test]
    fn merging_is_adding(left in prop::collection::vec(0i64..1_000_000_000, 0..50), right in prop::collection::vec(0i64..1_000_000_000, 0..50)) {
        let mut merged = of(&left);
        merged.merge(&of(&right));
        let both: Vec<i64> = left.iter().chain(&right).copied().collect();
        let together = of(&both);
        prop_assert_eq!(merged.count(), together.count());
        prop_assert_eq!(merged.max(), together.max());
        prop_assert_eq!(merged.quantile(0.5), together.quantile(0.5));
        prop_assert_eq!(merged.mean(), together.mean());
    }
}

#[test]
fn without_samples_there_is_no_statistic() {
    let empty = Distribution::default();
    assert_eq!((empty.mean(), empty.max(), empty.quantile(0.5), empty.standard_deviation()), (None, None, None, None));
}

#[test]
fn the_mean_is_exact() {
    let distribution = of(&[1_000_000, 2_000_000, 6_000_000]);
    assert_eq!(distribution.mean().unwrap().0, 0.003);
    assert_eq!(distribution.count_up_to(2_000_000), 2);
}
