//! Rounds of speculative decoding, request by request, as a client's events show them.

use crate::{
    measure::{counters::runs_of, ran_beside::RanBeside},
    side::{Measure, Side},
};
use firstcheck_model::{
    evidence::{Kind, RunEvidence},
    measurement::{Missing, Source, Why},
    moment::Window,
    request::{Fate, Request},
};

/// One request: an event a round, where the server sends each round at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounds {
    /// Tokens a round.
    pub tokens: f64,
    /// Time of a round, seconds.
    pub time: f64,
    /// Time per output token, seconds.
    pub tpot: f64,
    /// Requests that ran beside it, itself included, mean.
    pub beside: f64,
    /// Tokens of its answer.
    pub length: f64,
}

/// The rounds of the requests in the windows of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeculationRounds {
    /// One a request, by time per output token from the fastest.
    pub requests: Vec<Rounds>,
    /// Where they come from.
    pub source: Source,
}

/// Fewest requests of which a tail is told.
const FEWEST: usize = 40;

/// Shortest answer with a time per token.
const TOKENS: u32 = 16;

impl Measure for SpeculationRounds {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let mut requests: Vec<Rounds> = side.evidence.runs.iter().flat_map(of_run).collect();
        if requests.len() < FEWEST {
            let (have, need) = (requests.len() as u64, FEWEST as u64);
            let why = if have == 0 { Why::NotGiven } else { Why::TooFew { have, need } };
            let what = "requests with the events and tokens of their streams".into();
            return Err(Missing { what, why, obtain: Kind::Events.obtain().into() });
        }
        requests.sort_by(|a, b| a.tpot.total_cmp(&b.tpot));
        let by = "output tokens over events, and time over events, of each request".into();
        Ok(Self { requests, source: Source::Derived { by, from: runs_of(&side.evidence.runs) } })
    }
}

impl SpeculationRounds {
    /// The value of `of` at a quantile.
    pub fn quantile(&self, p: f64, of: fn(&Rounds) -> f64) -> f64 {
        let mut values: Vec<f64> = self.requests.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let place = ((p * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1;
        values[place]
    }

    /// The slowest tenth.
    pub fn tail(&self) -> &[Rounds] {
        &self.requests[self.requests.len() - self.requests.len().div_ceil(10)..]
    }

    /// The faster half.
    pub fn fast(&self) -> &[Rounds] {
        &self.requests[..self.requests.len() / 2]
    }
}

fn of_run(run: &RunEvidence) -> Vec<Rounds> {
    let Some(streams) = &run.streams else { return Vec::new() };
    let running = RanBeside::of(run, |_| true);
    let of = |(row, request): (usize, &Request)| {
        let tokens = request.output_tokens.filter(|tokens| *tokens >= TOKENS && request.fate == Fate::Completed)?;
        let events = streams.events.get(row).copied().filter(|events| *events > 2)?;
        let length = request.last_token.since(request.first_token).filter(|length| length.0 > 0.0)?.0;
        let (beside, _) = running.over(Window { start: request.first_token, end: request.last_token })?;
        Some(Rounds {
            // The first event is that of the prefill.
            tokens: f64::from(tokens - 1) / f64::from(events - 1),
            time: length / f64::from(events - 1),
            tpot: length / f64::from(tokens - 1),
            beside,
            length: f64::from(tokens),
        })
    };
    run.window().filter_map(of).collect()
}
