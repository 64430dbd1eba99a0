//! Which metrics and statistics a comparison looks at.

use super::policy::Policy;
use firstcheck_model::metric::{Metric, Stat};

/// One row of the report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Key {
    pub metric: Metric,
    pub stat: Stat,
}

const LATENCIES: [Metric; 7] =
    [Metric::Ttft, Metric::TtftFromSent, Metric::Itl, Metric::EventGap, Metric::Tpot, Metric::LongestGap, Metric::E2e];

/// Latencies with one value a request, which can be taken of a part of the requests.
const OF_REQUESTS: [Metric; 5] = [Metric::Ttft, Metric::TtftFromSent, Metric::Tpot, Metric::LongestGap, Metric::E2e];

const TOTALS: [Metric; 14] = [
    Metric::OutputThroughput,
    Metric::InputThroughput,
    Metric::RequestThroughput,
    Metric::Goodput,
    Metric::GoodShare,
    Metric::FailedShare,
    Metric::Preemptions,
    Metric::HitRate,
    Metric::KvCapacity,
    Metric::WeightMemory,
    Metric::NonKvMemory,
    Metric::StartUpTime,
    Metric::GpuTimePerGood,
    Metric::CostPerGood,
];

/// Means that the server's own histograms give.
const SERVER_MEANS: [Metric; 5] =
    [Metric::TtftServer, Metric::ItlServer, Metric::QueueTime, Metric::PrefillTime, Metric::DecodeTime];

/// Quantiles of every latency.
pub(super) const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// The rows in the order of the report; a gate on another quantile adds its own.
pub(super) fn plan(policy: &Policy) -> Vec<Key> {
    let mut keys = Vec::new();
    for metric in LATENCIES {
        let mut quantiles = QUANTILES.to_vec();
        quantiles.extend(policy.all_gates().filter(|g| g.metric == metric).filter_map(|g| g.quantile));
        quantiles.sort_by(f64::total_cmp);
        quantiles.dedup();
        keys.push(Key { metric, stat: Stat::Mean });
        keys.extend(quantiles.into_iter().map(|p| Key { metric, stat: Stat::Quantile(p) }));
    }
    keys.extend(TOTALS.map(|metric| Key { metric, stat: Stat::Total }));
    keys.extend(SERVER_MEANS.map(|metric| Key { metric, stat: Stat::Mean }));
    keys.extend([0.5, 0.99].map(|p| Key { metric: Metric::SendLag, stat: Stat::Quantile(p) }));
    keys
}

/// What is looked at in every slice: gated quantiles of what a request has one value of, and gated shares.
///
/// Gaps between tokens are kept as one distribution a run; the typical pace of a slice is its TPOT.
pub(super) fn of_slices(policy: &Policy) -> Vec<Key> {
    let is_sliced = |key: &Key| match key.stat {
        Stat::Quantile(_) => OF_REQUESTS.contains(&key.metric),
        _ => matches!(key.metric, Metric::GoodShare | Metric::FailedShare),
    };
    let gated = |key: &Key| policy.all_gates().any(|gate| gate.metric == key.metric && gate.stat() == key.stat);
    plan(policy).into_iter().filter(|key| is_sliced(key) && gated(key)).collect()
}

/// Whether values of the metric are durations of requests, tokens or gaps.
pub(super) fn is_latency(metric: Metric) -> bool {
    LATENCIES.contains(&metric)
}

/// Whether the metric holds the wait in the queue, which answers to the arrivals and the load.
pub(super) fn holds_the_queue(metric: Metric) -> bool {
    matches!(metric, Metric::Ttft | Metric::TtftFromSent | Metric::TtftServer | Metric::E2e | Metric::QueueTime)
}

/// Whether quantiles of the metric are taken over gaps of streams.
pub(super) fn is_gap(metric: Metric) -> bool {
    matches!(metric, Metric::Itl | Metric::EventGap)
}
