//! Whether bursts of events come on a timer.

use super::stalls::Stalls;
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::Kind,
    measurement::{Measurement, Missing, Why},
    unit::Seconds,
};
use firstcheck_stats::{period::phases, quantile::Sample};

/// The interval of which the gaps between bursts are multiples, as a proxy's that flushes by a timer are.
#[derive(Debug, Clone, PartialEq)]
pub struct GapTimer {
    /// The interval.
    pub interval: Measurement<Seconds>,
    /// Mean phase vector of the gaps on it: 1 for gaps that are all multiples of it.
    pub resultant: f64,
    /// Whether it is longer than the server's own pace: the steps of an engine are regular as well, and gather nothing.
    pub above_pace: bool,
}

/// Times the pace of the server from which an interval is another's.
const ABOVE_PACE: f64 = 1.5;

/// Fewest gaps, and how many of them are looked at.
const FEWEST: usize = 20;
const MOST: usize = 5_000;

/// Intervals tried, from half the median gap to a little above it: a shorter one divides anything, a longer one lets
/// anything seem in phase.
const TRIED: usize = 400;
const TO_MEDIAN: (f64, f64) = (0.5, 1.1);

/// Of intervals that are nearly as good as the best the one nearest to the median counts.
const AS_GOOD: f64 = 0.99;

impl Measure for GapTimer {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let stalls = side.measure::<Stalls>()?;
        let gap = |stall: &super::stalls::Stall| stall.end.since(stall.start).map(|gap| gap.0);
        let gaps: Vec<f64> = stalls.stalls.iter().filter_map(gap).take(MOST).collect();
        let too_few = || Missing {
            what: "gaps between bursts of events".into(),
            why: Why::TooFew { have: gaps.len() as u64, need: FEWEST as u64 },
            obtain: Kind::Events.obtain().into(),
        };
        let median = Sample::new(gaps.clone()).ok().and_then(|sample| sample.quantile(0.5)).ok_or_else(too_few)?;
        if gaps.len() < FEWEST {
            return Err(too_few());
        }
        let (low, high) = TO_MEDIAN;
        let interval = |at: usize| median * low * (high / low).powf(at as f64 / (TRIED - 1) as f64);
        let tried = std::iter::once(median).chain((0..TRIED).map(interval));
        let tried: Vec<(f64, f64)> = tried.map(|interval| (interval, phases(&gaps, interval).0)).collect();
        let longest = tried.iter().map(|(_, resultant)| *resultant).fold(0.0, f64::max);
        // Gaps that are all alike are in phase on any interval: theirs is their own length.
        let from_median = |(interval, _): &&(f64, f64)| (interval / median).ln().abs();
        let as_good = tried.iter().filter(|(_, resultant)| *resultant >= AS_GOOD * longest);
        let (best, resultant) =
            as_good.min_by(|a, b| from_median(a).total_cmp(&from_median(b))).copied().ok_or_else(too_few)?;
        let above_pace = best > ABOVE_PACE * stalls.pace.0;
        let (value, n, source) = (Seconds(best), gaps.len() as u64, stalls.source.clone());
        Ok(Self { interval: Measurement { value, interval: None, n, source }, resultant, above_pace })
    }
}
