//! Where time was gained or lost: stages of a mean and of a quantile.
//!
//! Means add up: those of spans of the same requests, and those of the engine's own histograms. Quantiles do not, so the
//! split of a quantile is the mean of the stages over the requests around it, `q_p(T) = Σ E[stage | T = q_p]`; parts'
//! quantiles are never subtracted from one another. What neither gives is said to be not observable.

mod means;
mod rows;
mod spans;
mod timeline;

pub(super) use means::ServerMeans;
pub(super) use rows::{Scope, rows};
pub(super) use spans::StageTimes;

use super::{columns::Columns, plan::Key, policy::Policy, reading::Reading};
use firstcheck_model::{
    metric::{Metric, Stat},
    span::Stage,
};

/// Latencies that are split.
const SPLIT: [Metric; 3] = [Metric::Ttft, Metric::Tpot, Metric::E2e];

/// What one total of one pair splits into, in seconds.
#[derive(Debug, Clone)]
pub(super) struct Split {
    /// Whose total it is.
    pub of: Key,
    pub basis: Basis,
    /// The total, base's and candidate's.
    pub total: (f64, f64),
    /// Stage, base's part, candidate's part. What they leave of the total is not explained.
    pub stages: Vec<(Stage, f64, f64)>,
}

/// What a split rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// Spans of the same requests.
    Spans,
    /// The engine's own means.
    Histograms,
}

impl Basis {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::Histograms => "histogram means",
        }
    }
}

/// All splits that the evidence of a pair allows, and why there are not more.
#[derive(Debug, Clone, Default)]
pub(super) struct Splits {
    pub all: Vec<Split>,
    /// Why spans give nothing; `None`: they do.
    pub no_spans: Option<String>,
    /// Why histograms give nothing; `None`: they do.
    pub no_means: Option<String>,
}

/// A run as it was read.
type Side<'a> = (&'a Reading, &'a Columns);

/// The splits of a pair. `same`: the two runs hold the same requests row by row, over which means are taken.
pub(super) fn splits(base: Side, candidate: Side, keys: &[Key], same: bool, policy: &Policy) -> Splits {
    let mut splits = Splits::default();
    for metric in [Metric::Ttft, Metric::E2e] {
        match means::split(base, candidate, keys, metric, policy) {
            Ok(split) => splits.all.push(split),
            Err(why) => splits.no_means = splits.no_means.take().or(Some(why)),
        }
    }
    splits.no_spans = base.1.stages.lacking("base").or_else(|| candidate.1.stages.lacking("the candidate"));
    for metric in SPLIT {
        let (Some(b), Some(c)) = (base.1.stages.get(metric), candidate.1.stages.get(metric)) else { continue };
        let key = |stat| Key { metric, stat };
        if same {
            splits.all.extend(spans::of_mean(b, c, key(Stat::Mean)));
        }
        // The quantiles that the plan compares.
        for key in keys.iter().filter(|key| key.metric == metric) {
            if let Stat::Quantile(p) = key.stat {
                splits.all.extend(spans::at_quantile(b, c, *key, p, policy.split_half_width));
            }
        }
    }
    splits
}
