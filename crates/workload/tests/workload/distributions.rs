use firstcheck_workload::distribution::Distribution;
use proptest::prelude::*;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

fn draw(text: &str, count: usize) -> Vec<u32> {
    let distribution: Distribution = text.parse().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    (0..count).map(|_| distribution.sample(&mut rng)).collect()
}

fn mean(values: &[u32]) -> f64 {
    values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len() as f64
}

#[test]
fn samples_have_the_centre_asked_for() {
    assert!(draw("fixed:512", 10).iter().all(|value| *value == 512));
    assert!(draw("512", 10).iter().all(|value| *value == 512));

    let mut median = draw("lognormal:512,0.8", 20_001);
    median.sort_unstable();
    let middle = f64::from(median[10_000]);
    assert!((middle / 512.0 - 1.0).abs() < 0.03, "median {middle}");

    let of_mean = mean(&draw("lognormal:mean=512,sigma=0.8", 40_000));
    assert!((of_mean / 512.0 - 1.0).abs() < 0.03, "mean {of_mean}");

    let uniform = draw("uniform:100-500", 20_000);
    assert_eq!(uniform.iter().min(), Some(&100));
    assert_eq!(uniform.iter().max(), Some(&500));
    assert!((mean(&uniform) - 300.0).abs() < 5.0);

    let mixture = draw("0.9*fixed:10 + 0.1*fixed:1000", 20_000);
    let share = mixture.iter().filter(|value| **value == 1000).count() as f64 / 20_000.0;
    assert!((share - 0.1).abs() < 0.01, "share {share}");
}

#[test]
fn spread_is_sigma_of_the_logarithm() {
    let logs: Vec<f64> = draw("lognormal:5000,0.5", 20_000).iter().map(|value| f64::from(*value).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let sd = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
    assert!((sd - 0.5).abs() < 0.01, "sigma {sd}");
}

#[test]
fn text_forms_round_trip() {
    let table = [
        ("512", "fixed:512", (512, 512)),
        ("fixed:0", "fixed:0", (0, 0)),
        ("uniform:100-500", "uniform:100-500", (100, 500)),
        ("lognormal:512,0.8", "lognormal:median=512,sigma=0.8,min=1", (1, 16_777_216)),
        ("lognormal:median=9,sigma=0,max=20", "lognormal:median=9,sigma=0,min=1,max=20", (1, 20)),
        ("lognormal:mean=512,0.8,min=0", "lognormal:mean=512,sigma=0.8,min=0", (0, 16_777_216)),
        ("0.9*512 + 0.1*uniform:1-2", "0.9*fixed:512 + 0.1*uniform:1-2", (1, 512)),
        ("3*512", "fixed:512", (512, 512)),
    ];
    for (text, shown, bounds) in table {
        let distribution: Distribution = text.parse().unwrap();
        assert_eq!(distribution.to_string(), shown);
        assert_eq!(distribution.bounds(), bounds, "{text}");
        assert_eq!(shown.parse::<Distribution>().unwrap(), distribution);
    }
}

#[test]
fn wrong_texts_say_what_was_expected() {
    let table = [
        ("", "expected one of `512`"),
        ("normal:5,1", "`normal` is no distribution"),
        ("fixed:-1", "`-1` is no number"),
        ("fixed:20000000", "a whole number from 0 to 16777216"),
        ("uniform:100", "expected `100-500`"),
        ("uniform:500-100", "the lower bound 500 is above the upper bound 100"),
        ("lognormal:512", "sigma from 0 to 5 is missing"),
        ("lognormal:512,9", "`9` is no sigma"),
        ("lognormal:0,1", "`0` is no median above 0"),
        ("lognormal:512,0.8,min=9,max=8", "`8` is no max"),
        ("lognormal:512,0.8,cap=8", "`cap=8` does not belong here"),
        ("lognormal:512,0.8,7", "`7` is one too many"),
        ("0*5 + 1*6", "`0` is no weight above 0"),
        ("1*5 + ", "`` is no number or distribution"),
    ];
    for (text, says) in table {
        let error = text.parse::<Distribution>().unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn constructors_equal_their_texts() {
    assert_eq!(Distribution::fixed(5), "5".parse().unwrap());
    assert_eq!(Distribution::uniform(9, 3), "uniform:3-9".parse().unwrap());
    assert_eq!(Distribution::lognormal(350.0, 0.8, 16, 3500), "lognormal:350,0.8,min=16,max=3500".parse().unwrap());
    assert_eq!(Distribution::fixed(5).mixed_with(0.0, &Distribution::fixed(6)), Distribution::fixed(5));
    let odd = Distribution::lognormal(f64::NAN, f64::NAN, 9, 3);
    assert_eq!(odd.to_string().parse::<Distribution>().unwrap(), odd);
}

proptest! {
    #[test]
    fn samples_stay_within_bounds(median in 1.0f64..1e6, sigma in 0.0f64..5.0, low in 0u32..5000, more in 0u32..5000) {
        let text = format!("0.5*lognormal:{median},{sigma},min={low},max={} + 2*uniform:{low}-{}", low + more, low + more);
        let distribution: Distribution = text.parse().unwrap();
        prop_assert_eq!(distribution.bounds(), (low, low + more));
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..50 {
            prop_assert!((low..=low + more).contains(&distribution.sample(&mut rng)));
        }
        prop_assert_eq!(distribution.to_string().parse::<Distribution>().unwrap(), distribution);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,30}") {
        let _ = text.parse::<Distribution>().map(|distribution| distribution.to_string());
    }
}
