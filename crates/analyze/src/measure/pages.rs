//! The page ledger: what running requests will have asked of the KV pool when they end.

use super::kv_pool::KvPool;
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    request::Fate,
    signal::{Part, Signal},
    unit::{Count, Ratio},
};

/// Pages of a request at its end, running requests at the peak, and what both ask of the pool.
///
/// `over_peak = running at peak × mean of ⌈(prompt + output) / block⌉ / usable blocks`. Above 1 the pool must overflow if
/// requests of the peak end together; preemptions imply it. The peak is that of the scraped gauge, so a lower bound.
#[derive(Debug, Clone, PartialEq)]
pub struct PageLedger {
    /// Mean pages of a completed request at its end.
    pub pages: Measurement<Count>,
    /// Largest number of running requests seen on one replica.
    pub running_peak: Measurement<Count>,
    /// Demand at the peak over the pool.
    pub over_peak: Measurement<Ratio>,
    /// Share of held slots that hold no token: (pages × block − tokens) / tokens.
    pub waste: Measurement<Ratio>,
    /// Pages of the largest single request.
    pub largest: f64,
}

impl PageLedger {
    /// Demand at this side's peak over a pool of `blocks` usable blocks.
    pub fn over(&self, blocks: f64) -> f64 {
        self.running_peak.value.0 * self.pages.value.0 / blocks
    }
}

impl Measure for PageLedger {
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
        let pages_of = |length: &f64| (length / pool.block_size).ceil();
        let total: f64 = lengths.iter().map(pages_of).sum();
        let largest = lengths.iter().map(pages_of).fold(0.0, f64::max);
        let requests = Source::Derived {
            by: "final lengths of requests".into(),
            from: side.evidence.runs.iter().map(rows).collect(),
        };
        let running_peak = running_peak(side)?;
        let pages = total / n as f64;
        let over = running_peak.value.0 * pages / pool.blocks.value.0;
        let both = Source::Derived {
            by: "running at peak × pages at the end / usable blocks".into(),
            from: vec![running_peak.source.clone(), requests.clone(), pool.blocks.source.clone()],
        };
        Ok(Self {
            pages: Measurement { value: Count(pages), interval: None, n, source: requests.clone() },
            running_peak,
            over_peak: Measurement { value: Ratio(over), interval: None, n, source: both },
            waste: Measurement {
                value: Ratio((total * pool.block_size - tokens) / tokens),
                interval: None,
                n,
                source: requests,
            },
            largest,
        })
    }
}

fn final_lengths(side: &Side<'_>) -> Vec<f64> {
    let requests = side.evidence.runs.iter().flat_map(|run| run.window());
    let completed = requests.filter(|(_, r)| r.fate == Fate::Completed);
    completed
        .filter_map(|(_, r)| Some(f64::from(r.prompt_tokens?) + f64::from(r.output_tokens?)))
        .filter(|l| *l > 0.0)
        .collect()
}

fn rows(run: &RunEvidence) -> Source {
    Source::Requests { run: run.info.id.clone(), count: run.window().count() as u64, rows: Vec::new() }
}

fn running_peak(side: &Side<'_>) -> Result<Measurement<Count>, Missing> {
    let mut peak: Option<Measurement<Count>> = None;
    for run in &side.evidence.runs {
        for series in run.series(Signal::Running, Part::Value) {
            let samples = series.inside(run.info.window).count() as u64;
            for (at, value) in series.inside(run.info.window) {
                if peak.as_ref().is_none_or(|p| value > p.value.0) {
                    let source = Source::Series {
                        run: run.info.id.clone(),
                        name: series.name.clone(),
                        labels: series.labels.render(),
                        from_ns: at,
                        to_ns: at,
                    };
                    peak = Some(Measurement { value: Count(value), interval: None, n: samples, source });
                }
            }
        }
    }
    peak.filter(|p| p.value.0 > 0.0).ok_or_else(|| {
        Missing::not_exposed(
            "number of running requests during the window",
            "scrape /metrics during the window: firstcheck run does",
        )
    })
}
