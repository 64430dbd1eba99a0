//! The first request for a schema against later ones.

use super::{median, no_schema, too_few, ttft};
use crate::side::{Measure, Side};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source},
    request::Request,
    unit::Seconds,
};
use std::collections::BTreeMap;

/// How much later the first token of a schema's first request comes than those of its later ones. The first request may
/// lie in the warm-up: all rows of a run count.
#[derive(Debug, Clone, PartialEq)]
pub struct Cold {
    /// The largest excess over all schemas; `n` counts the schemas.
    pub excess: Measurement<Seconds>,
    /// How far later ones spread: their 95th percentile over their median.
    pub spread: Seconds,
}

/// Fewest later requests of a schema against which its first one is held.
const FEWEST: usize = 3;

impl Measure for Cold {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let (mut excesses, mut beyond, mut from, mut most) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for run in &side.evidence.runs {
            let mut schemas: BTreeMap<u64, Vec<&Request>> = BTreeMap::new();
            for request in &run.requests.0 {
                if let Some(schema) = request.schema.filter(|_| request.first_token.reached()) {
                    schemas.entry(schema).or_default().push(request);
                }
            }
            for rows in schemas.values_mut() {
                rows.sort_by_key(|request| request.sent);
                let Some((first, others)) = rows.split_first() else { continue };
                // Those sent before the first was answered waited for the same compilation.
                let warm = others.iter().filter(|request| request.sent > first.first_token);
                let warm: Vec<f64> = warm.filter_map(|request| ttft(request)).collect();
                most = most.max(warm.len());
                if warm.len() < FEWEST {
                    continue;
                }
                let (Some(cold), Some(usual)) = (ttft(first), median(warm.clone())) else { continue };
                excesses.push(cold - usual);
                beyond.extend(warm.into_iter().map(|time| time - usual));
                let count = rows.len() as u64;
                from.push(Source::Requests { run: run.info.id.clone(), count, rows: Vec::new() });
            }
        }
        if !side.evidence.runs.iter().any(|run| run.requests.0.iter().any(|request| request.schema.is_some())) {
            return Err(no_schema());
        }
        let Some(largest) = excesses.iter().copied().max_by(f64::total_cmp) else {
            return Err(too_few("later requests for a schema", most, FEWEST as u64));
        };
        beyond.sort_by(f64::total_cmp);
        let spread = beyond.get(beyond.len() * 95 / 100).copied().unwrap_or(0.0).max(0.0);
        let source =
            Source::Derived { by: "time to first token of a schema's first request less its usual".into(), from };
        let n = excesses.len() as u64;
        Ok(Self { excess: Measurement { value: Seconds(largest), interval: None, n, source }, spread: Seconds(spread) })
    }
}
