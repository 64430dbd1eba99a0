//! What a running experiment tells whoever shows its progress.

use firstcheck_model::{metric::Metric, report::Report, run::Role, unit::Seconds};
use std::{path::PathBuf, time::Duration};

/// One thing that happened. Showing it is the caller's business.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A part of the experiment begins.
    Phase {
        /// In words.
        title: String,
    },
    /// A live run goes on.
    Live {
        /// Whether it is still warming up: what it sends does not count.
        warm_up: bool,
        /// Which side.
        role: Role,
        /// Time since the run began.
        elapsed: Duration,
        /// Planned length.
        of: Duration,
        /// Requests sent so far.
        sent: u64,
        /// Requests that ended.
        done: u64,
        /// Requests that failed.
        failed: u64,
        /// Mean time to first token of what was answered so far.
        ttft: Option<Seconds>,
        /// Mean time between its tokens.
        itl: Option<Seconds>,
        /// The longest time for which the client itself stood still.
        stall: Seconds,
    },
    /// A run ended and its bundle is written.
    RunDone {
        /// Its pair or block, from 0.
        pair: u32,
        /// Pairs planned.
        pairs: u32,
        /// What ran, in words.
        name: String,
        /// Runs planned.
        runs: u32,
        /// Where it is.
        bundle: PathBuf,
    },
    /// A pair or block is complete.
    PairDone {
        /// The pair, from 0.
        pair: u32,
        /// Pairs planned.
        pairs: u32,
        /// Ratio of the p95 TTFT so far, with its interval once there is one.
        ratio: Option<RatioSoFar>,
    },
}

/// The ratio of a metric over the pairs so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioSoFar {
    /// candidate / base.
    pub ratio: f64,
    /// Its interval, once there is one.
    pub interval: Option<[f64; 2]>,
}

impl RatioSoFar {
    /// That of the p95 TTFT in a comparison of the pairs so far.
    pub fn of(report: &Report) -> Option<Self> {
        let row = report.metric(Metric::Ttft, "p95")?;
        let interval = row.interval.and_then(|[low, high]| Some([low.finite()?, high.finite()?]));
        Some(Self { ratio: row.ratio?.finite()?, interval: interval.filter(|_| row.pairs > 1) })
    }
}
