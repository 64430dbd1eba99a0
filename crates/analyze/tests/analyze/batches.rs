//! How many requests ran over time.

use crate::synthetic::{Spec, counter};
use firstcheck_analyze::{
    measure::batch_timeline::{BatchTimeline, Clocked},
    side::Side,
};
use firstcheck_model::{
    engine_log::EngineLog,
    evidence::Evidence,
    moment::{Moment, Window},
    signal::{Labels, Part, Series, Signal},
};

fn gauge(signal: Signal, replica: &str, samples: &[(f64, f64)]) -> Series {
    Series {
        labels: Labels::new(vec![("engine".into(), replica.into())]),
        at: samples.iter().map(|(at, _)| Moment::from_seconds(*at)).collect(),
        value: samples.iter().map(|(_, value)| *value).collect(),
        ..counter(signal, Part::Value, 0.0)
    }
}

fn over(start: f64, end: f64) -> Window {
    Window { start: Moment::from_seconds(start), end: Moment::from_seconds(end) }
}

#[test]
fn a_batch_is_that_of_one_engine_and_its_mean_is_over_time() {
    let mut run = Spec::default().run();
    run.info.window = Some(over(5.0, 25.0));
    run.signals = vec![
        gauge(Signal::Running, "0", &[(0.0, 9.0), (4.0, 2.0), (10.0, 4.0), (20.0, 8.0), (26.0, 1.0), (40.0, 7.0)]),
        gauge(Signal::Waiting, "0", &[(4.0, 0.0), (10.0, 3.0)]),
        gauge(Signal::Running, "1", &[(4.0, 20.0), (30.0, 20.0)]),
    ];
    let evidence = Evidence::of(vec![run]);
    let timeline = Side::new(&evidence).measure::<BatchTimeline>().unwrap();
    let first = timeline.of_run(0).next().unwrap();
    assert_eq!(first.running, [2.0, 4.0, 8.0, 1.0], "the window, and a sample beside each of its ends");
    assert_eq!(first.waiting, [Some(0.0), Some(3.0), None, None]);
    assert_eq!((first.running_at(Moment::from_seconds(15.0)), first.peak()), (Some(4.0), 8.0));
    assert_eq!(first.running_at(Moment::from_seconds(3.0)), None);
    // Five seconds with two, ten with four, five with eight.
    assert_eq!(first.mean_running(over(5.0, 25.0)), Some((10.0 + 40.0 + 40.0) / 20.0));
    assert_eq!(timeline.mean_running(0, over(11.0, 12.0)), Some(12.0));
    assert_eq!(timeline.mean_running(0, over(50.0, 60.0)), None);
    assert_eq!(timeline.of_run(1).count(), 0);
}

#[test]
fn a_logs_lines_are_on_the_logs_clock() {
    let series = vec![gauge(Signal::Running, "000", &[(0.0, 3.0), (10.0, 5.0)])];
    let logs = vec![EngineLog { label: "server.log".into(), series, ..EngineLog::default() }];
    let evidence = Evidence { logs, ..Evidence::default() };
    let timeline = Side::new(&evidence).measure::<BatchTimeline>().unwrap();
    let batch = timeline.of_logs().next().unwrap();
    assert_eq!((batch.clock, batch.peak()), (Clocked::Log(0), 5.0));
    let nothing = Evidence::default();
    assert!(Side::new(&nothing).measure::<BatchTimeline>().is_err());
}
