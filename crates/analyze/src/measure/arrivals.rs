//! How many requests arrived at the servers, and whether they came in a burst.

use super::counters::runs_of;
use crate::side::Side;
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    moment::{Moment, Window},
    signal::{Part, Series, Signal},
    unit::{Count, Seconds},
};

/// Requests that arrived over a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrived {
    /// How many.
    pub count: f64,
    /// Over how long.
    pub over: Seconds,
}

impl Arrived {
    /// Arrivals a second.
    pub fn rate(self) -> f64 {
        self.count / self.over.0
    }

    /// Whether there are more than `other` by `share` of its rate and by so much that chance would not show it: both are
    /// counts, so the variance of a rate is the count over the square of the time.
    pub fn is_above(self, other: Self, share: f64) -> bool {
        let variance = |of: Self| of.count.max(1.0) / of.over.0.powi(2);
        let more = self.rate() - other.rate();
        more > share * other.rate() && more > SURE * (variance(self) + variance(other)).sqrt()
    }
}

/// Standard deviations from which a difference of two counts is none of chance (99 %, two-sided).
const SURE: f64 = 2.58;

/// Shortest time over which a burst is looked for, seconds: gauges that lag a report behind must not look like one.
const SHORTEST_BIN: f64 = 5.0;

/// Requests that the client meant to send inside a window.
pub fn sent(run: &RunEvidence, window: Window) -> Option<Arrived> {
    let count = run.requests.0.iter().filter(|request| window.contains(request.origin())).count() as f64;
    Some(Arrived { count, over: window.length()? })
}

/// Requests that arrived at the servers of a run inside a window: those that ended, and what running and waiting ones became
/// more. `None` where a page lacks one of the three. What clients gave up before it ended is not in it.
pub fn arrived(run: &RunEvidence, window: Window) -> Option<Arrived> {
    let (mut count, mut over) = (0.0, 0.0_f64);
    for series in run.series(Signal::Finished, Part::Value) {
        let delta = series.delta(Some(window)).ok()?;
        count += delta.value;
        over = over.max(delta.over.0);
    }
    for signal in [Signal::Running, Signal::Waiting] {
        let mut levels = run.series(signal, Part::Value).peekable();
        levels.peek()?;
        for series in levels {
            let delta = series.delta(Some(window)).ok()?;
            count += level(series, delta.to)? - level(series, delta.from)?;
        }
    }
    (over > 0.0).then_some(Arrived { count: count.max(0.0), over: Seconds(over) })
}

fn level(series: &Series, at: Moment) -> Option<f64> {
    series.value.get(series.at.binary_search(&at).ok()?).copied()
}

/// A stretch of time in which more arrived than usual.
#[derive(Debug, Clone, PartialEq)]
pub struct Burst {
    /// How many arrived beyond the usual ones.
    pub excess: Measurement<Count>,
    /// How many usually arrive in such a stretch.
    pub usual: f64,
}

/// The steepest rush of arrivals before `until`, held against the usual `rate`: at the servers where their pages tell, else
/// of the client's own.
///
/// # Errors
/// Neither tells.
pub fn burst(side: &Side<'_>, until: Moment, rate: f64) -> Result<Burst, Missing> {
    let mut most: Option<Burst> = None;
    for run in &side.evidence.runs {
        let bins = bins(run, until);
        for bin in &bins {
            let Some(arrived) = arrived_or_sent(run, *bin) else { continue };
            let usual = rate * arrived.over.0;
            // Levels that were sampled late bring arrivals of before into a stretch: they lack in those before it.
            let since = Window { start: bins.first().map_or(bin.start, |first| first.start), end: bin.end };
            let since = arrived_or_sent(run, since).map_or(f64::INFINITY, |all| all.count - rate * all.over.0);
            let excess = (arrived.count - usual).min(since);
            if most.as_ref().is_some_and(|known| excess <= known.excess.value.0) {
                continue;
            }
            let [from, to] = [bin.start, bin.end].map(|at| at.seconds().unwrap_or(0.0));
            let by = format!("arrivals from {from:.0} to {to:.0} s");
            let source = Source::Derived { by, from: runs_of(&side.evidence.runs) };
            let n = arrived.count.round() as u64;
            most = Some(Burst { excess: Measurement { value: Count(excess), interval: None, n, source }, usual });
        }
    }
    most.ok_or_else(|| {
        let obtain = "scrape /metrics from before the burst on: firstcheck run --url URL --scrape-interval 1s";
        Missing::not_exposed("arrivals before the last third of the window", obtain)
    })
}

fn arrived_or_sent(run: &RunEvidence, window: Window) -> Option<Arrived> {
    arrived(run, window).or_else(|| sent(run, window))
}

/// Stretches between scrapes (else, of the client's own requests) up to a moment, none too short to tell.
fn bins(run: &RunEvidence, until: Moment) -> Vec<Window> {
    let sampled = run.series(Signal::Finished, Part::Value).next().map(|series| series.at.clone());
    let marks = sampled.unwrap_or_else(|| {
        let mut sends: Vec<Moment> = run.requests.0.iter().map(|request| request.origin()).collect();
        sends.retain(|at| at.reached());
        sends.sort();
        sends
    });
    let mut bins: Vec<Window> = Vec::new();
    let mut start = marks.first().copied();
    for mark in marks.into_iter().take_while(|mark| *mark <= until) {
        let Some(from) = start else { break };
        if mark.since(from).is_some_and(|length| length.0 >= SHORTEST_BIN) {
            bins.push(Window { start: from, end: mark });
            start = Some(mark);
        }
    }
    bins
}
