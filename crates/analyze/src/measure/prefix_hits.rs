//! What the prefix cache found.

use super::counters::{growth_in, means_can_be_told};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source, Why},
    signal::{Part, Signal},
    unit::Ratio,
};

/// Share of the prompt tokens looked up in the windows of a side that the prefix cache held, by growth of both counters:
/// never their lifetime ratio. As a measurement it is refused where requests of a warm-up lie inside: they fill the cache.
#[derive(Debug, Clone, PartialEq)]
pub struct PrefixHits {
    /// Hits over queries, in the unit of the engine's counters (tokens).
    pub rate: Measurement<Ratio>,
    /// Counter restarts seen.
    pub resets: u32,
}

impl PrefixHits {
    /// The share over the windows of `runs`, whatever was served in them.
    ///
    /// # Errors
    /// Counters that are not there, or no look-up.
    pub fn of(runs: &[RunEvidence]) -> Result<Self, Missing> {
        let hits = growth_in(runs, Signal::PrefixHits, Part::Value)?;
        let queries = growth_in(runs, Signal::PrefixQueries, Part::Value)?;
        if queries.value <= 0.0 {
            return Err(Missing {
                what: "look-ups of the prefix cache in the window".into(),
                why: Why::ZeroDenominator,
                obtain: "measure a window with traffic, with prefix caching on: firstcheck run --url URL".into(),
            });
        }
        let source = Source::Derived { by: "prefix hits / queries".into(), from: vec![hits.source, queries.source] };
        let n = queries.value.round() as u64;
        let rate = Measurement { value: Ratio(hits.value / queries.value), interval: None, n, source };
        Ok(Self { rate, resets: hits.resets.max(queries.resets) })
    }
}

impl Measure for PrefixHits {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        means_can_be_told(side)?;
        Self::of(&side.evidence.runs)
    }
}
