//! Growth of counters over the measured windows of a side.

use super::{served::Served, trusted_counters::TrustedCounters};
use crate::side::Side;
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source, Why},
    signal::{Part, Series, Signal},
    unit::Seconds,
};

/// Growth summed over a side's runs and replicas.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// The sum, in the unit of the signal whatever that of its series; a lower bound when `resets > 0`.
    pub value: f64,
    /// How often a counter restarted inside a window.
    pub resets: u32,
    /// The series behind it.
    pub source: Source,
}

/// Growth of `part` of `signal`, over all runs of the side that expose it. Deltas first, then the sum: replicas count
/// from different starts.
///
/// # Errors
/// A counter that no page shows, or counters that cannot be believed ([`TrustedCounters`]).
pub fn growth(side: &Side<'_>, signal: Signal, part: Part) -> Result<Growth, Missing> {
    side.measure::<TrustedCounters>()?;
    growth_in(&side.evidence.runs, signal, part)
}

/// Growth of `part` of `signal` over `runs`: missing as a whole where one of their series cannot be told.
pub(crate) fn growth_in(runs: &[RunEvidence], signal: Signal, part: Part) -> Result<Growth, Missing> {
    let (mut value, mut resets, mut from) = (0.0, 0, Vec::new());
    let mut problem = None;
    for run in runs {
        for series in run.series(signal, part) {
            match series.delta(run.info.window) {
                Ok(delta) => {
                    value += delta.value * unit(series);
                    resets += delta.resets;
                    from.push(Source::Series {
                        run: run.info.id.clone(),
                        name: series.name.clone(),
                        labels: series.labels.render(),
                        from_ns: delta.from,
                        to_ns: delta.to,
                    });
                }
                Err(missing) => problem = Some(missing),
            }
        }
    }
    match (problem, from.len()) {
        // A sum over some of the replicas would be taken for the whole.
        (Some(missing), _) => Err(missing),
        (None, 0) => Err(Missing::not_exposed(
            format!("counter `{}`", signal.name()),
            "firstcheck run --url URL scrapes it where the engine exposes it",
        )),
        (None, _) => {
            let source = Source::Derived { by: format!("sum of growth of `{}`", signal.name()), from };
            Ok(Growth { value, resets, source })
        }
    }
}

/// What growth of a series is multiplied by. In a bucket lie counts: the unit is that of its bound.
fn unit(series: &Series) -> f64 {
    if matches!(series.part, Part::Bucket(_)) { 1.0 } else { series.unit_factor() }
}

/// How long the runs were watched together, seconds: one that is not placed in time adds nothing, to this as to growth.
pub(crate) fn watched(runs: &[RunEvidence]) -> f64 {
    runs.iter().filter_map(|run| Some(run.span()?.length()?.0)).sum()
}

/// A quotient over something that the window saw none of.
pub(crate) fn no_traffic(what: impl Into<String>) -> Missing {
    Missing {
        what: what.into(),
        why: Why::ZeroDenominator,
        obtain: "measure a window with traffic: firstcheck run --url URL".into(),
    }
}

/// Whether means of the server's histograms, and hit rates, over the windows of a side say anything of those windows.
///
/// # Errors
/// Counters that cannot be believed ([`TrustedCounters`]), or a warm-up inside ([`Served::are_the_windows`]): its first
/// requests are not like the others.
pub(crate) fn means_can_be_told(side: &Side<'_>) -> Result<(), Missing> {
    side.measure::<TrustedCounters>()?;
    match side.measure::<Served>() {
        Ok(served) => served.are_the_windows(),
        // A page that counts no finished requests cannot be held against the client.
        Err(_) => Ok(()),
    }
}

/// Mean of a histogram of durations over the windows of `runs`: growth of `_sum` over growth of `_count`.
pub(crate) fn mean_in(runs: &[RunEvidence], signal: Signal) -> Result<Measurement<Seconds>, Missing> {
    let sum = growth_in(runs, signal, Part::Sum)?;
    let count = growth_in(runs, signal, Part::Count)?;
    if count.value <= 0.0 {
        return Err(no_traffic(format!("observations of `{}` in the window", signal.name())));
    }
    let source = Source::Derived { by: format!("mean of `{}`", signal.name()), from: vec![sum.source, count.source] };
    let (value, n) = (Seconds(sum.value / count.value), count.value.round() as u64);
    Ok(Measurement { value, interval: None, n, source })
}

/// The requests of the windows of `runs` as a source.
pub(crate) fn runs_of(runs: &[RunEvidence]) -> Vec<Source> {
    let rows = |run: &RunEvidence| {
        let count = run.window().count() as u64;
        Source::Requests { run: run.info.id.clone(), count, rows: Vec::new() }
    };
    runs.iter().map(rows).collect()
}
