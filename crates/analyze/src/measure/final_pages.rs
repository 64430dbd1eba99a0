//! Pages of the KV pool that requests hold when they end.

use super::{counters::runs_of, kv_pool::KvPool};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    request::Fate,
    unit::{Count, Ratio},
};

/// Pages of completed requests at their end: ⌈(prompt + output) / block⌉.
#[derive(Debug, Clone, PartialEq)]
pub struct FinalPages {
    /// Mean pages of a request.
    pub mean: Measurement<Count>,
    /// Pages of the largest request.
    pub largest: Measurement<Count>,
    /// Share of held slots that hold no token: (pages × block − tokens) / tokens.
    pub waste: Measurement<Ratio>,
}

impl Measure for FinalPages {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let pool = side.measure::<KvPool>()?;
        let lengths = final_lengths(side);
        if lengths.is_empty() {
            return Err(Missing::not_exposed(
                "prompt and output lengths of requests",
                "firstcheck run --url URL, or a detailed benchmark file",
            ));
        }
        let n = lengths.len() as u64;
        let tokens: f64 = lengths.iter().sum();
        let pages = || lengths.iter().map(|length| (length / pool.block_size).ceil());
        let total: f64 = pages().sum();
        let source = Source::Derived { by: "final lengths of requests".into(), from: runs_of(&side.evidence.runs) };
        let count = |value: f64| Measurement { value: Count(value), interval: None, n, source: source.clone() };
        let waste = Ratio((total * pool.block_size - tokens) / tokens);
        Ok(Self {
            mean: count(total / n as f64),
            largest: count(pages().fold(0.0, f64::max)),
            waste: Measurement { value: waste, interval: None, n, source: source.clone() },
        })
    }
}

fn final_lengths(side: &Side<'_>) -> Vec<f64> {
    let requests = side.evidence.runs.iter().flat_map(RunEvidence::window);
    let completed = requests.filter(|(_, r)| r.fate == Fate::Completed);
    let lengths = completed.filter_map(|(_, r)| Some(f64::from(r.prompt_tokens?) + f64::from(r.output_tokens?)));
    lengths.filter(|length| *length > 0.0).collect()
}
