//! The histogram of the gaps that a server made, and its two modes.

use super::{event_pacing::EventPacing, stalls::Stalls};
use crate::side::{Measure, Side};
use firstcheck_model::{
    event::COALESCED_NS,
    measurement::{Measurement, Missing, Source, Why},
    unit::{Ratio, Seconds},
};
use firstcheck_stats::modes::two_modes;

/// Gaps between events, with their slow mode where they have one.
///
/// Read from the raw gaps where events came as the server sent them, else from [`Stalls`], which take off what bursts
/// made up; a run too long for that, whose gaps are not listed one by one, cannot be read once its events were coalesced.
#[derive(Debug, Clone, PartialEq)]
pub struct GapHistogram {
    /// Median of all gaps.
    pub median: Measurement<Seconds>,
    /// 99th percentile of the gaps: the usual P99 ITL of an event.
    pub p99: Measurement<Seconds>,
    /// All gaps together, seconds.
    pub total: f64,
    /// The two modes, where a valley parts them.
    pub modes: Option<Modes>,
    /// The gaps as (seconds, how many).
    pub cells: Vec<(f64, u64)>,
}

/// A fast and a slow mode.
#[derive(Debug, Clone, PartialEq)]
pub struct Modes {
    /// Median of the gaps below the valley.
    pub fast: Measurement<Seconds>,
    /// Median of those above it.
    pub slow: Measurement<Seconds>,
    /// Share of the gaps above it.
    pub share: Measurement<Ratio>,
    /// The valley.
    pub valley: Seconds,
    /// Share of the streams' time that the slow gaps take beyond what fast ones would have taken.
    pub lost: Measurement<Ratio>,
}

/// Resolution of the logarithmic axis: modes closer than a factor 1.25 are one.
const RESOLUTION: f64 = 0.1;

/// A valley is one where the density falls to half of the lower of the peaks beside it.
const DEEPEST: f64 = 0.5;

impl Measure for GapHistogram {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let pacing = side.measure::<EventPacing>()?;
        let source = pacing.zero_share.source.clone();
        let cells = cells(side, &pacing)?;
        let n: u64 = cells.iter().map(|(_, times)| times).sum();
        let of = |value: f64, n: u64| Measurement { value: Seconds(value), interval: None, n, source: source.clone() };
        let (Some(median), Some(p99)) = (quantile(&cells, n, 0.5), quantile(&cells, n, 0.99)) else {
            return Err(Missing::not_exposed("gaps of streams in the window", "firstcheck run --url URL"));
        };
        let total = cells.iter().map(|(value, times)| value * *times as f64).sum();
        let modes = two_modes(cells.iter().copied(), RESOLUTION, DEEPEST).ok().flatten().map(|modes| {
            let slow: Vec<&(f64, u64)> = cells.iter().filter(|(value, _)| *value > modes.at).collect();
            let count: u64 = slow.iter().map(|(_, times)| times).sum();
            let beyond: f64 = slow.iter().map(|(value, times)| (value - modes.low).max(0.0) * *times as f64).sum();
            let share = |value: f64, by: &str| Measurement {
                value: Ratio(value),
                interval: None,
                n,
                source: Source::Derived { by: by.into(), from: vec![source.clone()] },
            };
            Modes {
                fast: of(modes.low, n - count),
                slow: of(modes.high, count),
                share: share(modes.share, "gaps above the valley / gaps"),
                valley: Seconds(modes.at),
                lost: share(beyond / total, "time of slow gaps beyond fast ones / time of all gaps"),
            }
        });
        Ok(Self { median: of(median, n), p99: of(p99, n), total, modes, cells })
    }
}

impl GapHistogram {
    /// The gap up to which that share of all gaps lies, 0 to 1; `None` without gaps.
    pub fn quantile(&self, p: f64) -> Option<Seconds> {
        quantile(&self.cells, self.median.n, p).map(Seconds)
    }

    /// Share of their time that streams spend in gaps above so many seconds, 0 to 1.
    pub fn spent_above(&self, limit: f64) -> f64 {
        let slow = self.cells.iter().filter(|(gap, _)| *gap > limit);
        slow.map(|(gap, times)| gap * *times as f64).sum::<f64>() / self.total
    }

    /// Mean of all gaps.
    pub fn mean(&self) -> Seconds {
        Seconds(self.total / self.median.n as f64)
    }
}

/// Inverse CDF of `n` gaps in ascending cells.
fn quantile(cells: &[(f64, u64)], n: u64, p: f64) -> Option<f64> {
    let rank = ((p * n as f64 - 1e-9).ceil() as u64).max(1);
    let mut seen = 0;
    cells.iter().find_map(|(value, times)| {
        seen += times;
        (seen >= rank).then_some(*value)
    })
}

/// The gaps as the server made them, ascending.
fn cells(side: &Side<'_>, pacing: &EventPacing) -> Result<Vec<(f64, u64)>, Missing> {
    let coalesced = COALESCED_NS as f64 * 1e-9;
    if !pacing.coalesced() {
        let mut cells: Vec<(f64, u64)> = Vec::new();
        for streams in side.evidence.runs.iter().filter_map(|run| run.streams.as_ref()) {
            cells.extend(streams.event_gaps.buckets().map(|(gap, times)| (gap.0, times)));
        }
        cells.retain(|(gap, _)| *gap >= coalesced);
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        return Ok(cells);
    }
    let stalls = side.measure::<Stalls>()?;
    if stalls.shortest.0 > coalesced {
        return Err(Missing {
            what: format!(
                "gaps of the server: {:.0} % of the client's are zero, and there are too many to undo it",
                pacing.zero_share.value.0 * 100.0
            ),
            why: Why::Mixed,
            obtain: "measure from an idle host without a proxy in between: firstcheck run --url URL".into(),
        });
    }
    let mut cells: Vec<(f64, u64)> = stalls.stalls.iter().map(|stall| (stall.length.0.max(coalesced), 1)).collect();
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(cells)
}
