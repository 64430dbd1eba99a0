use firstcheck_model::{
    measurement::Why,
    moment::{Moment, Window},
    signal::{Labels, Part, Series, SeriesKind},
};

/// Samples, window, growth, restarts.
type Row = (&'static [(i64, f64)], Option<Window>, f64, u32);

fn counter(samples: &[(i64, f64)]) -> Series {
    Series {
        name: "vllm:num_preemptions_total".into(),
        labels: Labels::default(),
        page: "main".into(),
        kind: SeriesKind::Counter,
        part: Part::Value,
        signal: None,
        at: samples.iter().map(|(at, _)| Moment::at(*at)).collect(),
        value: samples.iter().map(|(_, value)| *value).collect(),
    }
}

#[test]
fn growth_is_between_the_samples_nearest_to_the_window_and_sees_resets() {
    let window = |start, end| Some(Window { start: Moment::at(start), end: Moment::at(end) });
    let rows: &[Row] = &[
        (&[(0, 5.0), (10, 9.0)], None, 4.0, 0),
        (&[(0, 5.0), (10, 9.0), (20, 12.0), (30, 40.0)], window(10, 20), 3.0, 0),
        (&[(0, 5.0), (12, 9.0), (18, 12.0), (30, 40.0)], window(10, 20), 3.0, 0),
        (&[(0, 5.0), (30, 40.0)], window(10, 20), 35.0, 0),
        (&[(0, 5.0), (10, 2.0), (20, 3.0)], None, 3.0, 1),
    ];
    for (samples, window, growth, resets) in rows {
        let delta = counter(samples).delta(*window).unwrap();
        assert_eq!((delta.value, delta.resets), (*growth, *resets), "{samples:?}");
    }
}

#[test]
fn one_sample_is_no_growth_of_zero() {
    let missing = counter(&[(0, 5.0)]).delta(None).unwrap_err();
    assert_eq!(missing.why, Why::TooFew { have: 1, need: 2 });
    assert!(missing.what.contains("vllm:num_preemptions_total"));
}

#[test]
fn a_page_read_just_after_the_window_began_keeps_the_warm_up_out() {
    let window = Some(Window { start: Moment::at(5_000), end: Moment::at(36_000) });
    let delta = counter(&[(10, 0.0), (5_002, 100.0), (10_000, 160.0), (36_001, 400.0)]).delta(window).unwrap();
    assert_eq!((delta.value, delta.from, delta.to), (300.0, Moment::at(5_002), Moment::at(36_001)));
}

#[test]
fn a_sample_that_is_no_finite_number_is_none() {
    let delta = counter(&[(0, 5.0), (1_000, f64::NAN), (2_000, f64::INFINITY), (3_000, 9.0)]).delta(None).unwrap();
    assert_eq!((delta.value, delta.resets, delta.samples), (4.0, 0, 2));
    assert!(counter(&[(0, 5.0), (1_000, f64::NAN)]).delta(None).is_err());
}
