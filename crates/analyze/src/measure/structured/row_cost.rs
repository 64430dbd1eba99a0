//! What a running request with a schema costs each step.

use super::{no_schema, standstill, too_few};
use crate::{
    measure::{counters::runs_of, ran_beside::RanBeside, stalls::Stalls},
    side::{Measure, Side},
};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source, Why},
    moment::Window,
    request::Fate,
    unit::Seconds,
};
use firstcheck_stats::linear;

/// Time per output token against the requests that ran beside: all of them, and those with a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct RowCost {
    /// More time a token for each running request with a schema, at equal running requests; with its 99 % interval.
    pub per_row: Measurement<Seconds>,
    /// More time a token once any such request runs, however many; with its 99 % interval. `None` where too few streams
    /// ran with none beside them.
    pub once_any: Option<Measurement<Seconds>>,
    /// Running requests with a schema, mean over the streams.
    pub rows: f64,
    /// Mean time per output token.
    pub mean: Seconds,
}

/// Fewest streams of which a slope is told.
const FEWEST: usize = 30;

/// Fewest tokens of a stream that has a time per token.
const TOKENS: u32 = 8;

/// Half width of a 99 % interval in standard errors.
const ERRORS: f64 = 2.576;

/// Streams with less than this share of their time beside a schema ran beside none.
const BESIDE_NONE: f64 = 0.1;

impl Measure for RowCost {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        // Without the gaps of streams nothing tells a standstill from slow steps: then it is in the time per token.
        let stalls = side.measure::<Stalls>().ok();
        let shortest = stalls.as_ref().map_or(f64::INFINITY, |stalls| standstill(stalls.pace));
        let (mut rows, mut times, mut asked) = (Vec::new(), Vec::new(), false);
        for (number, run) in side.evidence.runs.iter().enumerate() {
            let (all, with) = (RanBeside::of(run, |_| true), RanBeside::of(run, |request| request.schema.is_some()));
            asked |= !with.is_empty();
            let mut stood = vec![0.0; run.requests.len()];
            let mine = stalls.iter().flat_map(|stalls| &stalls.stalls).filter(|stall| stall.run == number);
            for stall in mine.filter(|stall| stall.length.0 >= shortest) {
                stood[stall.row as usize] += stall.length.0;
            }
            for (row, request) in run.window().filter(|(_, request)| request.fate == Fate::Completed) {
                let Some(tokens) = request.output_tokens.filter(|tokens| *tokens >= TOKENS) else { continue };
                let Some(length) = request.last_token.since(request.first_token) else { continue };
                let over = Window { start: request.first_token, end: request.last_token };
                let (Some((total, _)), Some((structured, any))) = (all.over(over), with.over(over)) else { continue };
                rows.push(vec![1.0, total, structured, any]);
                times.push((length.0 - stood[row]).max(0.0) / f64::from(tokens - 1));
            }
        }
        if !asked {
            return Err(no_schema());
        }
        if rows.len() < FEWEST {
            return Err(too_few("streams with their times per token", rows.len(), FEWEST as u64));
        }
        let n = rows.len() as u64;
        let source = |by: &str| Source::Derived { by: by.into(), from: runs_of(&side.evidence.runs) };
        let of = |fit: &linear::Fit, at: usize, by: &str| {
            let (value, error) = (fit.coefficients[at], ERRORS * fit.errors[at]);
            let interval = Some((Seconds(value - error), Seconds(value + error)));
            Measurement { value: Seconds(value), interval, n, source: source(by) }
        };
        let narrow: Vec<Vec<f64>> = rows.iter().map(|row| row[..3].to_vec()).collect();
        let fitted = |rows: &[Vec<f64>]| linear::fit(rows, &times).ok().flatten();
        let alone = rows.iter().filter(|row| row[3] < BESIDE_NONE).count();
        let wide = if alone * 20 >= rows.len() { fitted(&rows) } else { None };
        let Some(narrow) = fitted(&narrow) else {
            let what = "streams beside different numbers of requests with a schema";
            return Err(Missing {
                what: what.into(),
                why: Why::Mixed,
                obtain: "vary the share of requests with a schema".into(),
            });
        };
        let per_row = "slope of time per token over running requests with a schema";
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        Ok(Self {
            per_row: of(wide.as_ref().unwrap_or(&narrow), 2, per_row),
            once_any: wide.as_ref().map(|wide| of(wide, 3, "time per token beside any request with a schema")),
            rows: rows.iter().map(|row| row[2]).sum::<f64>() / rows.len() as f64,
            mean: Seconds(mean),
        })
    }
}
