//! When a run got worse by itself: one side before and after.

use crate::{
    settings::Settings,
    shared::{ONSET_P, ONSET_RATIO},
    split::split,
};
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    measurement::Source,
    moment::Moment,
    request::Request,
    unit::Seconds,
};
use firstcheck_stats::{change::pettitt, quantile::Sample, rank::ranks};
use std::fmt;

/// A change for the worse inside a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Onset {
    /// The run, as reports name it.
    pub run: String,
    /// When, on the run's clock: the send of the first request after it.
    pub at: Moment,
    /// What changed: `TTFT` or `ITL`.
    pub what: &'static str,
    /// Median before it.
    pub before: Seconds,
    /// Median after it; +∞ where most were not answered.
    pub after: Seconds,
    /// Chance at which a run without a change would show one as large.
    pub p: f64,
    /// Requests behind it.
    pub source: Source,
}

/// What changed, when and by how much.
impl fmt::Display for Onset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.seconds().unwrap_or(f64::NAN);
        let (run, what, before) = (&self.run, self.what, self.before.0);
        write!(f, "{run} got worse at {at:.0} s: its median {what} rose from {before:.3} s ")?;
        match self.after.0 {
            after if after.is_finite() => write!(f, "to {after:.3} s")?,
            _ => f.write_str("until most requests were not answered")?,
        }
        f.write_str("; what came before is the base of what follows")
    }
}

/// A latency of a request.
type Latency = fn(&Request) -> Option<Seconds>;

/// What is looked at, with its name.
const SERIES: [(&str, Latency); 2] = [("TTFT", Request::ttft), ("ITL", Request::tpot)];

/// Batches that a run's requests are put into, so that neighbours in one queue count once.
const BATCHES: usize = 40;

/// The surest change for the worse in any run, if one is sure and large enough.
///
/// Requests are put into batches in the order of their sending, and the medians of the batches go through Pettitt's test
/// ([`pettitt`]). A change counts as an onset if it is a step: two levels must fit the ranks of the batches better than a
/// straight line does, which a queue that grows all the time does not.
pub fn onset(evidence: &Evidence, settings: &Settings) -> Option<Onset> {
    let found = evidence.runs.iter().flat_map(|run| SERIES.map(|(what, of)| of_run(run, what, of, settings)));
    found.flatten().min_by(|a, b| a.p.total_cmp(&b.p))
}

/// The evidence before and after the onset: base and side of a case.
pub fn before_and_after(evidence: &Evidence, onset: &Onset) -> (Evidence, Evidence) {
    split(evidence, |run| (run.label == onset.run).then_some(onset.at))
}

fn of_run(run: &RunEvidence, what: &'static str, of: Latency, settings: &Settings) -> Option<Onset> {
    let mut rows: Vec<(Moment, f64)> =
        run.window().filter(|(_, r)| r.origin().reached()).filter_map(|(_, r)| Some((r.origin(), of(r)?.0))).collect();
    rows.sort_by_key(|(at, _)| *at);
    let size = rows.len().div_ceil(BATCHES).max(5);
    let batches: Vec<&[(Moment, f64)]> = rows.chunks(size).collect();
    let medians: Vec<f64> = batches.iter().map(|batch| median(batch.iter().map(|(_, v)| *v))).collect::<Option<_>>()?;
    let change = pettitt(&medians).ok()?;
    let (earlier, later) = medians.split_at(change.at);
    let (before, after) = (median(earlier.iter().copied())?, median(later.iter().copied())?);
    let large = after >= before * settings.shared(&ONSET_RATIO) && is_step(&medians, change.at)?;
    let at = batches.get(change.at)?.first()?.0;
    (change.p <= settings.shared(&ONSET_P) && large).then(|| Onset {
        run: run.label.clone(),
        at,
        what,
        before: Seconds(before),
        after: Seconds(after),
        p: change.p,
        source: Source::Requests { run: run.info.id.clone(), count: rows.len() as u64, rows: Vec::new() },
    })
}

/// Most that two levels may leave unexplained of what a straight line does. A clean step leaves 0.57 (¼ against 7⁄16 of the
/// ranks' variance), a clean ramp far above 1.
const STEP: f64 = 0.9;

/// Whether two levels with a step at `at` leave clearly less of the ranks unexplained than a straight line.
fn is_step(values: &[f64], at: usize) -> Option<bool> {
    let ranks = ranks(values).ok()?;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let about = |part: &[f64]| part.iter().map(|r| (r - mean(part)).powi(2)).sum::<f64>();
    let places: Vec<f64> = (0..ranks.len()).map(|place| place as f64).collect();
    let (middle, centre) = (mean(&places), mean(&ranks));
    let product: f64 = places.iter().zip(&ranks).map(|(x, y)| (x - middle) * (y - centre)).sum();
    let line = about(&ranks) - product * product / about(&places);
    let (before, after) = ranks.split_at(at);
    Some(about(before) + about(after) < STEP * line)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    Sample::new(values.collect()).ok()?.quantile(0.5)
}
