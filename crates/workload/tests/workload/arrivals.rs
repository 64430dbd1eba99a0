use firstcheck_workload::arrivals::ArrivalProcess;
use proptest::prelude::*;

/// Gaps in seconds of the first `count` arrivals.
fn gaps(text: &str, seed: u64, count: usize) -> Vec<f64> {
    let process: ArrivalProcess = text.parse().unwrap();
    let moments: Vec<f64> = process.offsets(seed).unwrap().take(count).map(|m| m.seconds().unwrap()).collect();
    moments.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn rate_and_cv_are_those_asked_for() {
    // 40,000 gaps: the mean's standard error is cv / 200, a few percent at most.
    let table = [
        ("poisson:8", 8.0, 1.0),
        ("constant:8", 8.0, 0.0),
        ("gamma:8,burstiness=0.25", 8.0, 2.0),
        ("gamma:8,cv=2", 8.0, 2.0),
        ("gamma:50,burstiness=4", 50.0, 0.5),
        ("gamma:3,1", 3.0, 1.0),
    ];
    for (text, rate, cv) in table {
        let gaps = gaps(text, 1, 40_001);
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let sd = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n).sqrt();
        assert!((mean * rate - 1.0).abs() < 0.03, "{text}: mean gap {mean}");
        assert!((sd / mean - cv).abs() < 0.05, "{text}: cv {}", sd / mean);
        let process: ArrivalProcess = text.parse().unwrap();
        assert!((process.cv().unwrap() - cv).abs() < 1e-12, "{text}");
    }
}

#[test]
fn constant_arrivals_begin_at_once_and_do_not_drift() {
    let process: ArrivalProcess = "constant:7".parse().unwrap();
    let moments: Vec<i64> = process.offsets(1).unwrap().take(700_001).map(|m| m.get().unwrap()).collect();
    assert_eq!(moments[0], 0);
    assert_eq!(moments[700_000], 100_000_000_000_000);
}

#[test]
fn equal_seeds_give_equal_arrivals_and_others_do_not() {
    assert_eq!(gaps("poisson:8", 3, 100), gaps("poisson:8", 3, 100));
    assert_ne!(gaps("poisson:8", 3, 100), gaps("poisson:8", 4, 100));
    assert_ne!(gaps("gamma:8,cv=2", 3, 100), gaps("gamma:8,cv=2", 4, 100));
}

#[test]
fn text_forms_round_trip() {
    let table = [
        ("poisson:8", "poisson:8"),
        (" poisson: 0.5 ", "poisson:0.5"),
        ("poisson:rate=8", "poisson:8"),
        ("constant:2.5", "constant:2.5"),
        ("gamma:8,cv=2", "gamma:8,burstiness=0.25"),
        ("gamma:8,burstiness=0.5", "gamma:8,burstiness=0.5"),
        ("trace", "trace:1"),
        ("trace:0.5", "trace:0.5"),
        ("closed:16", "closed:16"),
    ];
    for (text, shown) in table {
        let process: ArrivalProcess = text.parse().unwrap();
        assert_eq!(process.to_string(), shown);
        assert_eq!(shown.parse::<ArrivalProcess>().unwrap(), process);
    }
}

#[test]
fn wrong_texts_say_what_was_expected() {
    let table = [
        ("", "expected one of `poisson:8`"),
        ("poison:8", "expected one of `poisson:8`"),
        ("poisson", "rate: requests a second, 1e-6 to 1e6 is missing"),
        ("poisson:0", "`0` is no rate"),
        ("poisson:-1", "`-1` is no rate"),
        ("poisson:NaN", "`NaN` is no rate"),
        ("poisson:inf", "`inf` is no rate"),
        ("poisson:8,9", "`9` is one too many"),
        ("poisson:8,cv=2", "`cv=2` does not belong here"),
        ("gamma:8", "burstiness from 0.001 to 1e6 (or cv) is missing"),
        ("gamma:8,cv=0", "`0` is no cv"),
        ("closed:0", "`0` is no number of streams"),
        ("closed:1.5", "`1.5` is no number of streams"),
        ("trace:0", "`0` is no time scale"),
    ];
    for (text, says) in table {
        let error = text.parse::<ArrivalProcess>().unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
        assert!(error.starts_with(&format!("`{text}`: ")), "{error}");
    }
}

#[test]
fn a_rate_out_of_range_has_no_offsets() {
    assert!(ArrivalProcess::Poisson { rate: f64::NAN }.offsets(1).is_none());
    assert!(ArrivalProcess::Constant { rate: 0.0 }.offsets(1).is_none());
    assert!(ArrivalProcess::Gamma { rate: 1.0, burstiness: -1.0 }.offsets(1).is_none());
    assert!(ArrivalProcess::Closed { concurrency: 1 }.offsets(1).is_none());
}

#[test]
fn a_sweep_changes_the_rate_only() {
    let gamma: ArrivalProcess = "gamma:8,burstiness=0.5".parse().unwrap();
    assert_eq!(gamma.with_rate(2.0).unwrap().to_string(), "gamma:2,burstiness=0.5");
    assert_eq!(ArrivalProcess::Closed { concurrency: 1 }.with_rate(2.0), None);
}

proptest! {
    #[test]
    fn offsets_ascend(seed: u64, rate in 0.01f64..1000.0, burstiness in 0.01f64..100.0) {
        for process in [ArrivalProcess::Poisson { rate }, ArrivalProcess::Gamma { rate, burstiness }] {
            let moments: Vec<_> = process.offsets(seed).unwrap().take(200).collect();
            prop_assert!(moments.windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert!(moments.iter().all(|moment| moment.get().is_some_and(|ns| ns >= 0)));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,30}") {
        let _ = text.parse::<ArrivalProcess>().map(|process| process.to_string());
    }
}
