//! Tokens of an event once a stream runs, and tokens that were held back before its first.

use super::{
    counters::{mean_in, means_can_be_told, no_traffic, runs_of},
    event_pacing::EventPacing,
};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    signal::Signal,
    unit::{Ratio, Tokens},
};

/// A stream's tokens as `held + steady × events`: a server that gathers tokens for each event shows in the slope, one
/// that holds back the first ones shows in what no event after the first accounts for.
#[derive(Debug, Clone, PartialEq)]
pub struct EventTokens {
    /// Tokens of an event.
    pub steady: Measurement<Ratio>,
    /// Tokens of a stream beyond those, all of which came with its first event.
    pub held: Measurement<Tokens>,
}

/// Streams and spread of their lengths from which a line is told: the events of two streams in three must differ from the
/// mean by more than this share.
const FEWEST: usize = 10;
const SPREAD: f64 = 0.05;

impl Measure for EventTokens {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let runs = &side.evidence.runs;
        let streams: Vec<(f64, f64)> = runs.iter().flat_map(tokens_of_streams).collect();
        let n = streams.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| streams.iter().map(of).sum::<f64>() / n;
        let (events, tokens) = (mean(|s| s.0), mean(|s| s.1));
        let about = |a: fn(&(f64, f64)) -> f64, b: fn(&(f64, f64)) -> f64, middle: (f64, f64)| {
            streams.iter().map(|s| (a(s) - middle.0) * (b(s) - middle.1)).sum::<f64>() / n
        };
        let variance = about(|s| s.0, |s| s.0, (events, events));
        let varied = streams.len() >= FEWEST && variance.sqrt() > SPREAD * events;
        if streams.is_empty() {
            return Err(Missing::not_exposed(
                "tokens of each answer as the server counts them",
                "firstcheck run --url URL",
            ));
        }
        let (steady, by) = if varied {
            (about(|s| s.0, |s| s.1, (events, tokens)) / variance, "least squares of tokens over events of streams")
        } else {
            (by_the_server(side)?, "mean event gap / the server's mean inter-token latency")
        };
        let source = Source::Derived { by: by.into(), from: runs_of(runs) };
        // An event that bears tokens bears one at least.
        let (steady, count) = (steady.max(1.0), streams.len() as u64);
        Ok(Self {
            steady: Measurement { value: Ratio(steady), interval: None, n: count, source: source.clone() },
            held: Measurement { value: Tokens(tokens - steady * events), interval: None, n: count, source },
        })
    }
}

/// Events and tokens of each stream of the window whose server stated its tokens.
fn tokens_of_streams(run: &RunEvidence) -> impl Iterator<Item = (f64, f64)> + '_ {
    run.window().filter_map(|(row, request)| {
        let events = *run.streams.as_ref()?.events.get(row)?;
        (events > 0).then_some((f64::from(events), f64::from(request.output_tokens?)))
    })
}

/// Answers of one length tell no line: then by how many of the server's tokens fit between two events.
fn by_the_server(side: &Side<'_>) -> Result<f64, Missing> {
    let told = means_can_be_told(side).and_then(|()| mean_in(&side.evidence.runs, Signal::Itl));
    let server = told.map_err(|_| {
        let what = "answers of different lengths, or the server's inter-token histogram, to tell what an event carries";
        Missing::not_exposed(what, "firstcheck run --url URL --output-tokens uniform:50-200")
    })?;
    let between = side.measure::<EventPacing>()?.mean.value.0 / server.value.0;
    if between.is_finite() { Ok(between) } else { Err(no_traffic("time between the server's tokens")) }
}
