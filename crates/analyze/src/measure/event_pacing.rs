//! Whether the gaps between a client's events are those that a server made.

use super::counters::runs_of;
use crate::{
    shared::COALESCED,
    side::{Measure, Side},
};
use firstcheck_model::{
    evidence::{Kind, RunEvidence},
    measurement::{Measurement, Missing, Source, Why},
    unit::{Ratio, Seconds},
};
use firstcheck_stats::quantile::Sample;

/// How events came to the client: the gate before every reading of the gaps between them.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPacing {
    /// Share of event gaps too short to have been paced by a server ([`COALESCED_NS`](firstcheck_model::event::COALESCED_NS)).
    pub zero_share: Measurement<Ratio>,
    /// Tokens a token-bearing event, over streams whose server stated its tokens.
    pub tokens_per_event: Result<Measurement<Ratio>, Missing>,
    /// Median over streams of their mean event gap. A stream that was delivered in bursts has the mean of the server's
    /// pace all the same, and a stream that froze is one of many.
    pub pace: Measurement<Seconds>,
    /// Mean of all event gaps, freezes included.
    pub mean: Measurement<Seconds>,
    /// Largest share of zero gaps that is still read as the server's pace.
    limit: f64,
}

impl EventPacing {
    /// Whether something between the server and the client's clock delivers events in bursts.
    pub fn coalesced(&self) -> bool {
        self.zero_share.value.0 > self.limit
    }
}

/// Fewest gaps of which a share of zeros is told.
const FEWEST: u64 = 50;

impl Measure for EventPacing {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let runs = &side.evidence.runs;
        let (mut gaps, mut zeros, mut sum) = (0, 0, 0.0);
        for streams in runs.iter().filter_map(|run| run.streams.as_ref()) {
            let count = streams.event_gaps.count();
            gaps += count;
            zeros += streams.coalesced;
            sum += streams.event_gaps.mean().map_or(0.0, |mean| mean.0 * count as f64);
        }
        if gaps < FEWEST {
            let why = if runs.iter().any(|run| run.streams.is_some()) {
                Why::TooFew { have: gaps, need: FEWEST }
            } else {
                Why::NotGiven
            };
            return Err(Missing {
                what: "gaps between events of streams".into(),
                why,
                obtain: Kind::Events.obtain().into(),
            });
        }
        let source = |by: &str| Source::Derived { by: by.into(), from: runs_of(runs) };
        let means: Vec<f64> = runs.iter().flat_map(mean_gaps).collect();
        let (n, mean) = (means.len() as u64, Seconds(sum / gaps as f64));
        let median = Sample::new(means).ok().and_then(|means| means.quantile(0.5)).filter(|pace| *pace > 0.0);
        let pace = median.ok_or_else(|| Missing::not_exposed("streams that take time", Kind::Events.obtain()))?;
        Ok(Self {
            zero_share: Measurement {
                value: Ratio(zeros as f64 / gaps as f64),
                interval: None,
                n: gaps,
                source: source("event gaps below 50 µs / event gaps"),
            },
            tokens_per_event: tokens_per_event(runs),
            pace: Measurement {
                value: Seconds(pace),
                interval: None,
                n,
                source: source("median over streams of their mean event gap"),
            },
            mean: Measurement { value: mean, interval: None, n: gaps, source: source("mean event gap") },
            limit: side.threshold(&COALESCED),
        })
    }
}

/// Mean event gap of each stream of the window with at least two gaps.
fn mean_gaps(run: &RunEvidence) -> impl Iterator<Item = f64> + '_ {
    run.window().filter_map(|(row, request)| {
        let events = *run.streams.as_ref()?.events.get(row)?;
        let length = request.last_token.since(request.first_token)?.0;
        (events > 2).then(|| length / f64::from(events - 1))
    })
}

/// Tokens an event, over the streams of the window whose server stated how many tokens it generated.
fn tokens_per_event(runs: &[RunEvidence]) -> Result<Measurement<Ratio>, Missing> {
    let (mut tokens, mut events, mut streams) = (0u64, 0u64, 0);
    for run in runs {
        for (row, request) in run.window() {
            let of_row = run.streams.as_ref().and_then(|streams| streams.events.get(row)).copied().unwrap_or(0);
            if let Some(stated) = request.output_tokens.filter(|_| of_row > 1) {
                tokens += u64::from(stated);
                events += u64::from(of_row);
                streams += 1;
            }
        }
    }
    if events == 0 {
        let obtain = "stream with usage: \"stream_options\": {\"include_usage\": true}; firstcheck run does";
        return Err(Missing::not_exposed("the server's own count of the tokens of each answer", obtain));
    }
    let source = Source::Derived { by: "output tokens / token-bearing events".into(), from: runs_of(runs) };
    Ok(Measurement { value: Ratio(tokens as f64 / events as f64), interval: None, n: streams, source })
}
