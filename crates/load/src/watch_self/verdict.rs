//! What the client may not be believed of, metric by metric.

use super::Watch;
use crate::options::Thresholds;
use firstcheck_model::{
    event::Streams,
    metric::Metric,
    run::{ClientHealth, Doubt},
    unit::Seconds,
};

/// Metrics that rest on the time of single events.
const OF_GAPS: [Metric; 3] = [Metric::Itl, Metric::EventGap, Metric::LongestGap];

/// Judges what the event loops saw of themselves and what the events of the window fold into; `driven_share` is the share of the planned load that was driven, where that can be told.
pub(crate) fn judge(
    watch: &Watch,
    streams: &Streams,
    driven_share: Option<f64>,
    thresholds: &Thresholds,
) -> ClientHealth {
    let (delay, events) = (&streams.client_delay, streams.total_events);
    let mut health = ClientHealth {
        send_lag_p50: watch.send_lag.quantile(0.5),
        send_lag_p99: watch.send_lag.quantile(0.99),
        longest_stall: (watch.beats > 0).then_some(Seconds(watch.longest_stall_ns as f64 * 1e-9)),
        cpu_share: (watch.window_ns > 0).then(|| watch.cpu_ns as f64 / watch.window_ns as f64),
        coalesced_share: streams.coalesced_share(),
        stamped_share: (events > 0).then(|| delay.count() as f64 / events as f64),
        delay_p50: delay.quantile(0.5),
        delay_p99: delay.quantile(0.99),
        driven_share,
        host_load: None,
        doubts: Vec::new(),
    };
    health.doubts = doubts(&health, streams, thresholds);
    health
}

fn doubts(health: &ClientHealth, streams: &Streams, thresholds: &Thresholds) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let mut doubt = |metrics: &[Metric], reason: String| {
        doubts.extend(metrics.iter().map(|metric| Doubt { metric: Some(*metric), reason: reason.clone() }));
    };
    if let Some(share) = health.coalesced_share.filter(|share| *share > thresholds.coalesced_share) {
        let limit = thresholds.coalesced_share;
        doubt(
            &OF_GAPS,
            format!("{:.1} % of the event gaps arrived together (limit {:.1} %)", share * 1e2, limit * 1e2),
        );
    }
    if let (Some(delay), Some(gap)) = (health.delay_p50, streams.event_gaps.quantile(0.5))
        && delay.0 > thresholds.delay_share * gap.0
        && gap.0 > 0.0
    {
        let (delay, gap) = (delay.0 * 1e3, gap.0 * 1e3);
        doubt(
            &OF_GAPS,
            format!("the client reads {delay:.2} ms late at the median, where the median event gap is {gap:.2} ms"),
        );
    }
    if let Some(lag) = health.send_lag_p99.filter(|lag| lag.0 > thresholds.send_lag_p99_s) {
        let (lag, limit) = (lag.0 * 1e3, thresholds.send_lag_p99_s * 1e3);
        doubt(
            &[Metric::Ttft, Metric::E2e],
            format!("sends are {lag:.1} ms late at p99 (limit {limit:.1} ms), which TTFT and E2E include"),
        );
    }
    if let Some(stall) = health.longest_stall.filter(|stall| stall.0 > thresholds.stall_s) {
        let (stall, limit) = (stall.0 * 1e3, thresholds.stall_s * 1e3);
        doubt(&[Metric::LongestGap], format!("the client itself stood still for {stall:.0} ms (limit {limit:.0} ms)"));
    }
    let mut invalid = |reason: String| doubts.push(Doubt { metric: None, reason });
    if let Some(share) = health.driven_share.filter(|share| *share < thresholds.driven_share) {
        let limit = thresholds.driven_share;
        invalid(format!("the client drove {:.1} % of the planned load (at least {:.1} %)", share * 1e2, limit * 1e2));
    }
    if let Some(share) = health.cpu_share.filter(|share| *share > thresholds.cpu_share) {
        let limit = thresholds.cpu_share;
        invalid(format!(
            "the client used {:.0} % of a core (limit {:.0} %): give it more shards",
            share * 1e2,
            limit * 1e2
        ));
    }
    doubts
}
