//! Requests that ask for a schema, beside those that do not.

mod bystanders;
mod cold;
mod ends;
mod row_cost;

pub use bystanders::Bystanders;
pub use cold::Cold;
pub use ends::Ends;
pub use row_cost::RowCost;

use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source, Why},
    request::{Fate, Request},
    unit::Seconds,
};

/// Times to first token of requests with a schema and of those without, from their send, in the windows of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct Structured {
    /// Median of those with a schema.
    pub asked: Measurement<Seconds>,
    /// Median of those without; `None` where all ask for one.
    pub plain: Option<Measurement<Seconds>>,
}

impl Measure for Structured {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let of = |wanted: bool, by: &str| {
            let rows = side.evidence.runs.iter().flat_map(RunEvidence::window).map(|(_, request)| request);
            let rows = rows.filter(|request| request.schema.is_some() == wanted && request.fate == Fate::Completed);
            let times: Vec<f64> = rows.filter_map(ttft).collect();
            let source = Source::Derived { by: by.into(), from: super::counters::runs_of(&side.evidence.runs) };
            let n = times.len() as u64;
            Some(Measurement { value: Seconds(median(times)?), interval: None, n, source })
        };
        let asked = of(true, "time to first token of requests with a schema").ok_or_else(|| none_answered(side))?;
        Ok(Self { asked, plain: of(false, "time to first token of requests without a schema") })
    }
}

/// What is missing where no request is known to ask for a schema.
fn no_schema() -> Missing {
    Missing::not_exposed(
        "requests that ask for a schema: none is marked",
        "record the schema with each request (column `schema`), or scrape SGLang's grammar_compilation_time_seconds",
    )
}

/// What is missing where no request for a schema was answered in the windows.
fn none_answered(side: &Side<'_>) -> Missing {
    let asked = side.evidence.runs.iter().flat_map(|run| &run.requests.0).any(|request| request.schema.is_some());
    if !asked {
        return no_schema();
    }
    let what = "answers to the requests that ask for a schema: none of them completed in the window";
    Missing::not_exposed(what, "offer a tenth of the requests, or wait for longer: firstcheck run --url URL")
}

/// Event gaps that are this many times the usual pace stand still.
const PACES: f64 = 5.0;

/// Shortest gap that counts as a standstill, seconds: a batch of prompts in a step takes as long.
const SHORTEST: f64 = 0.1;

/// From which length on a gap is a standstill and not the cost of a step, seconds.
fn standstill(pace: Seconds) -> f64 {
    SHORTEST.max(PACES * pace.0)
}

fn ttft(request: &Request) -> Option<f64> {
    request.first_token.since(request.sent).map(|time| time.0)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A measurement over too few of something.
fn too_few(what: &str, have: usize, need: u64) -> Missing {
    let obtain = "measure for longer, with and without a schema: firstcheck run --url URL".to_owned();
    Missing { what: what.into(), why: Why::TooFew { have: have as u64, need }, obtain }
}
