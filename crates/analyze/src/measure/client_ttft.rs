//! Time to first token as the client sees it.

use super::counters::runs_of;
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source, Why},
    request::Request,
    unit::Seconds,
};
use firstcheck_stats::quantile::Sample;

/// Time to first token of the requests in the windows, from the intended send; unanswered requests count as +∞.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientTtft {
    /// Median with its 99 % interval by order statistics.
    pub median: Measurement<Seconds>,
    /// Mean over the answered requests.
    pub mean: Measurement<Seconds>,
}

/// Fewest requests of which a median with its interval is told.
const FEWEST: u64 = 20;

impl Measure for ClientTtft {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let runs = &side.evidence.runs;
        let all: Vec<f64> = runs.iter().flat_map(RunEvidence::window).filter_map(|(_, r)| ttft(r)).collect();
        let n = all.len() as u64;
        if n < FEWEST {
            return Err(Missing {
                what: "times to first token of requests".into(),
                why: if n == 0 { Why::NotGiven } else { Why::TooFew { have: n, need: FEWEST } },
                obtain: "firstcheck run --url URL".into(),
            });
        }
        let answered: Vec<f64> = all.iter().copied().filter(|value| value.is_finite()).collect();
        let mean = answered.iter().sum::<f64>() / answered.len().max(1) as f64;
        let told = |error: firstcheck_stats::Error| Missing::not_exposed(error.to_string(), "firstcheck run --url URL");
        let sample = Sample::new(all).map_err(told)?;
        let interval = sample.order_interval(0.5, 0.99).map_err(told)?;
        // Where the interval reaches into the unanswered, there is no median to speak of.
        let bounds = interval.lo.zip(interval.hi).filter(|(_, hi)| hi.is_finite());
        let Some((median, (lo, hi))) = sample.quantile(0.5).zip(bounds) else {
            return Err(Missing::not_exposed("an answer to most requests", "firstcheck run --url URL"));
        };
        let source = Source::Derived { by: "time to first token of requests".into(), from: runs_of(runs) };
        let of = |value: f64, interval, n| Measurement { value: Seconds(value), interval, n, source: source.clone() };
        Ok(Self {
            median: of(median, Some((Seconds(lo), Seconds(hi))), n),
            mean: of(mean, None, answered.len() as u64),
        })
    }
}

fn ttft(request: &Request) -> Option<f64> {
    request.ttft().map(|seconds| seconds.0)
}
