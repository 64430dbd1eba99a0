//! Use of the KV pool while nothing runs.

use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    moment::Moment,
    signal::{Part, Series, Signal},
    unit::Ratio,
};

/// Share of the pool in use after traffic, while nothing runs, from samples of one scrape of one replica: what ended
/// requests have left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct DrainedUsage {
    /// The largest over replicas, 0 to 1; each replica's is that of its last scrape without a running request.
    pub usage: Measurement<Ratio>,
}

impl Measure for DrainedUsage {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let drained = side.evidence.runs.iter().flat_map(|run| {
            run.series(Signal::Running, Part::Value).filter_map(|running| of_replica(run, running)).collect::<Vec<_>>()
        });
        let most = drained.max_by(|a, b| a.value.0.total_cmp(&b.value.0));
        most.map(|usage| Self { usage }).ok_or_else(|| {
            Missing::not_exposed(
                "KV usage after the requests have drained",
                "let the traffic end, then read /metrics once more: curl -s URL/metrics",
            )
        })
    }
}

fn of_replica(run: &RunEvidence, running: &Series) -> Option<Measurement<Ratio>> {
    let mut usages = run.series(Signal::KvCacheUsage, Part::Value);
    let usage = usages.find(|series| series.labels == running.labels && series.page == running.page)?;
    let at = last_idle_after_traffic(running)?;
    let value = usage.at.iter().position(|moment| *moment == at).and_then(|place| usage.value.get(place)).copied()?;
    let source = Source::Series {
        run: run.info.id.clone(),
        name: usage.name.clone(),
        labels: usage.labels.render(),
        from_ns: at,
        to_ns: at,
    };
    Some(Measurement { value: Ratio(value), interval: None, n: 1, source })
}

/// An engine that never served has nothing to leave behind.
fn last_idle_after_traffic(running: &Series) -> Option<Moment> {
    let mut samples = running.at.iter().zip(&running.value);
    let (at, _) = samples.rfind(|(_, running)| **running == 0.0)?;
    samples.any(|(_, running)| *running > 0.0).then_some(*at)
}
