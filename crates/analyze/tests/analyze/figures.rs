//! What a page draws counts what a comparison counts.

use crate::synthetic::Spec;
use firstcheck_analyze::figures::figures;
use firstcheck_model::{
    evidence::RunEvidence,
    figure::Histogram,
    metric::Metric,
    moment::Moment,
    run::Role,
    signal::{Labels, Part, Series, SeriesKind, Signal},
};

fn histogram(runs: &[RunEvidence], metric: Metric) -> Histogram {
    let drawn = figures(&[], runs);
    drawn.distributions.into_iter().find(|row| row.metric == metric).unwrap().candidate.unwrap()
}

#[test]
fn every_request_of_every_run_is_counted_and_what_was_rejected_is_unanswered() {
    let spec = Spec { requests: 200, reject_every: 10, ..Spec::default() };
    let runs = [spec.run(), Spec { noise: 2, ..spec }.run()];
    let ttft = histogram(&runs, Metric::Ttft);
    assert_eq!((ttft.n, ttft.unanswered), (400, 40));
    assert_eq!(ttft.buckets.iter().map(|(_, n)| n).sum::<u64>(), 360);
    assert!(ttft.buckets.is_sorted_by(|a, b| a.0 < b.0), "{ttft:?}");
    let gaps = histogram(&runs, Metric::EventGap);
    assert_eq!((gaps.n, gaps.unanswered), (360 * 11, 0));
}

#[test]
fn a_quantile_read_off_the_buckets_is_at_most_a_bucket_off() {
    let runs = [Spec { requests: 1000, ..Spec::default() }.run()];
    let mut exact: Vec<f64> = runs[0].requests.0.iter().map(|request| request.ttft().unwrap().0).collect();
    exact.sort_by(f64::total_cmp);
    let ttft = histogram(&runs, Metric::Ttft);
    for p in [0.05, 0.5, 0.95, 0.999] {
        let rank = (p * 1000.0) as u64;
        let mut seen = 0;
        let bucket = ttft.buckets.iter().find(|(_, n)| {
            seen += n;
            seen >= rank
        });
        let (bound, value) = (bucket.unwrap().0, exact[rank as usize - 1]);
        assert!(value <= bound * (1.0 + 1e-6) && bound < value * 1.13, "p{p}: {value} in a bucket up to {bound}");
    }
}

/// A gauge of two replicas, and a counter that restarts.
fn sampled() -> RunEvidence {
    let mut run = Spec { requests: 400, load: 0.2, ..Spec::default() }.run();
    let at: Vec<Moment> = (0..60).map(|s| Moment::at(s * 1_000_000_000)).collect();
    let series = |signal: Signal, kind, replica: &str, value: &dyn Fn(usize) -> f64| Series {
        name: signal.name().into(),
        labels: Labels::new(vec![("replica".into(), replica.into())]),
        page: "main".into(),
        kind,
        part: Part::Value,
        signal: Some(signal),
        value: (0..at.len()).map(value).collect(),
        at: at.clone(),
    };
    run.signals = vec![
        series(Signal::Running, SeriesKind::Gauge, "a", &|_| 3.0),
        series(Signal::Running, SeriesKind::Gauge, "b", &|_| 4.0),
        series(Signal::KvCacheUsage, SeriesKind::Gauge, "a", &|_| 0.2),
        series(Signal::KvCacheUsage, SeriesKind::Gauge, "b", &|_| 0.6),
        series(Signal::GenerationTokens, SeriesKind::Counter, "a", &|s| {
            if s < 30 { 100.0 * s as f64 } else { 100.0 * (s - 30) as f64 }
        }),
    ];
    run
}

#[test]
fn series_add_up_shares_are_averaged_and_a_restart_is_marked() {
    let drawn = figures(&[sampled()], &[]);
    let values = |signal: Signal| {
        let row = drawn.timelines.iter().find(|row| row.signal == signal.name()).unwrap();
        assert_eq!(row.side, Role::Base);
        assert!(row.points.len() > 20 && row.points.is_sorted_by(|a, b| a.0 < b.0), "{row:?}");
        row.points.iter().map(|(_, value)| *value).collect::<Vec<_>>()
    };
    assert!(values(Signal::Running).iter().all(|value| *value == 7.0));
    assert!(values(Signal::KvCacheUsage).iter().all(|value| (value - 0.4).abs() < 1e-9));
    assert!(values(Signal::GenerationTokens).iter().all(|value| (0.0..=100.0 + 1e-9).contains(value)));
    let marks: Vec<f64> = drawn.marks.iter().map(|mark| mark.at_s).collect();
    assert_eq!(marks, [30.0]);
}

#[test]
fn nothing_is_drawn_of_nothing() {
    assert!(figures(&[], &[]).is_empty());
    let failed = Spec { requests: 20, reject_every: 1, ..Spec::default() }.run();
    assert!(figures(&[], &[failed]).is_empty());
}
