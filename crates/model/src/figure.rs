//! What a page draws: distributions and series, aggregated so that a run of a million requests takes no more than one of a
//! thousand.

use crate::{metric::Metric, run::Role};
use serde::{Deserialize, Serialize};

/// Buckets a decade: each is 12 % wide.
pub const BUCKETS_A_DECADE: f64 = 20.0;

/// `value` to seven significant digits: what is drawn needs no more, and a report stays short.
pub fn brief(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

/// Distributions of both sides, and series with what happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Distributions, one a metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<DistributionRow>,
    /// Signals over time, of one run a side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<TimelineRow>,
    /// What happened on these timelines, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

impl Figures {
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.distributions.is_empty() && self.timelines.is_empty() && self.marks.is_empty()
    }
}

/// A metric's distribution on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DistributionRow {
    /// Which metric.
    pub metric: Metric,
    /// Unit of the buckets' bounds.
    pub unit: String,
    /// Base's; null where it is not known.
    pub base: Option<Histogram>,
    /// The candidate's; null where it is not known.
    pub candidate: Option<Histogram>,
}

/// Samples in logarithmic buckets, [`BUCKETS_A_DECADE`] each: counts are exact, an upper bound `u` holds what is above
/// `u / 10^(1/20)` and at most `u`. What is at most a microsecond is in the first.
///
/// # Example
/// ```
/// use firstcheck_model::figure::Histogram;
/// let mut waits = Histogram::default();
/// waits.add(0.099, 3);
/// waits.add(f64::INFINITY, 1);
/// assert_eq!((waits.n, waits.unanswered), (4, 1));
/// assert_eq!(waits.buckets.len(), 1);
/// assert_eq!(waits.buckets[0].0, 0.1);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Samples, those of requests that were never answered among them.
    pub n: u64,
    /// Samples without a finite value: requests that were never answered.
    pub unanswered: u64,
    /// Upper bound and samples of each bucket that holds any, ascending.
    pub buckets: Vec<(f64, u64)>,
}

impl Histogram {
    /// Adds `times` samples of `value` seconds; an infinite one was never answered, NaN is no sample.
    pub fn add(&mut self, value: f64, times: u64) {
        if value.is_nan() || times == 0 {
            return;
        }
        self.n += times;
        if value.is_infinite() {
            self.unanswered += times;
            return;
        }
        // A hair is taken off so that a bound itself is in its bucket.
        let place = ((value.max(1e-6).log10() * BUCKETS_A_DECADE) - 1e-9).ceil();
        let bound = 10f64.powf(place / BUCKETS_A_DECADE);
        let at = self.buckets.partition_point(|(known, _)| *known < bound * (1.0 - 1e-6));
        match self.buckets.get_mut(at) {
            Some((known, count)) if *known < bound * (1.0 + 1e-6) => *count += times,
            _ => self.buckets.insert(at, (brief(bound), times)),
        }
    }
}

impl Histogram {
    /// The upper bound of the bucket that holds the quantile `p`; `None` where it is among those that were never answered.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let rank = (p * self.n as f64 - 1e-9).ceil() as u64;
        let mut seen = 0;
        self.buckets.iter().find_map(|(bound, n)| {
            seen += n;
            (seen >= rank).then_some(*bound)
        })
    }

    /// Share of the samples of at most `bound`; what was never answered is above any.
    pub fn share_up_to(&self, bound: f64) -> f64 {
        let held = self.buckets.iter().filter(|(known, _)| *known <= bound * (1.0 + 1e-6)).map(|(_, n)| n).sum::<u64>();
        held as f64 / self.n.max(1) as f64
    }

    /// Share of the samples in the bucket below `bound`.
    pub fn share_in(&self, bound: f64) -> f64 {
        let here = self.buckets.iter().find(|(known, _)| (known / bound - 1.0).abs() < 1e-6);
        here.map_or(0.0, |(_, n)| *n as f64 / self.n.max(1) as f64)
    }
}

/// A signal over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelineRow {
    /// The signal's engine-neutral name; of a counter, its growth a second.
    pub signal: String,
    /// Unit of the values.
    pub unit: String,
    /// The side.
    pub side: Role,
    /// The run.
    pub run: String,
    /// Seconds on the run's clock and the mean over a part of its span, ascending; parts without a sample have no point.
    pub points: Vec<(f64, f64)>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// The side.
    pub side: Role,
    /// The run.
    pub run: String,
    /// Seconds on the run's clock.
    pub at_s: f64,
    /// What.
    pub what: String,
}
