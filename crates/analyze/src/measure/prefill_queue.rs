//! The queue in front of the prompts' computation, as one server of a known load.

use super::{
    counters::{growth_in, means_can_be_told, runs_of, watched},
    first_token_waits::FirstTokenWaits,
    prefill_rate::PrefillRate,
    replicas::replicas,
    served::Served,
};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source, Why},
    signal::{Part, Signal},
    unit::{Ratio, Seconds},
};
use firstcheck_stats::queue::Load;

/// Prompts as the work of one server a replica: `ρ = λ E[s]`, and the mean wait that follows from it (M/G/1).
///
/// A step computes several prompts at once and decode takes a part of it, so the model is good to a factor of about two.
#[derive(Debug, Clone, PartialEq)]
pub struct PrefillQueue {
    /// Utilisation by prompts, of one replica.
    pub utilisation: Measurement<Ratio>,
    /// Squared coefficient of variation of what prompts take.
    pub variation: Measurement<Ratio>,
    /// Mean wait that the model predicts; +∞ from a utilisation of 1 on.
    pub wait: Measurement<Seconds>,
    /// The same of one replica, for what follows from it.
    pub load: Load,
}

/// Share of finished requests that may be others' where services are taken from the client's requests.
const MOSTLY_CLIENTS: f64 = 0.1;

impl Measure for PrefillQueue {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let (load, n, source) = match of_histogram(side) {
            Ok(told) => told,
            Err(missing) => of_rows(side).ok_or(missing)?,
        };
        let ratio = |value| Measurement { value: Ratio(value), interval: None, n, source: source.clone() };
        let wait = load.mean_wait().unwrap_or(f64::INFINITY);
        Ok(Self {
            utilisation: ratio(load.utilisation()),
            variation: ratio(load.variation()),
            wait: Measurement { value: Seconds(wait), interval: None, n, source: source.clone() },
            load,
        })
    }
}

/// From the server's histogram of computed prompt tokens, at its prefill rate: all that it served.
fn of_histogram(side: &Side<'_>) -> Result<(Load, u64, Source), Missing> {
    means_can_be_told(side)?;
    let runs = &side.evidence.runs;
    let rate = side.measure::<PrefillRate>()?;
    let tokens = growth_in(runs, Signal::PrefillComputedTokens, Part::Sum)?;
    let (count, squares) = moments(runs, tokens.value)?;
    let per_token = 1.0 / rate.rate.value.0;
    let seconds = watched(runs) * replicas(runs) as f64;
    let load = Load::of(count, tokens.value * per_token, squares * per_token * per_token, seconds);
    let source = Source::Derived {
        by: "prompts at the prefill rate as a queue of one server".into(),
        from: vec![tokens.source, rate.rate.source.clone()],
    };
    load.map(|load| (load, count.round() as u64, source)).ok_or_else(nothing)
}

/// Count of the histogram, and the sum of its squares: observations stand in the middle of their bucket, stretched so that
/// their sum is the histogram's own.
pub(crate) fn moments(runs: &[RunEvidence], sum: f64) -> Result<(f64, f64), Missing> {
    let (mut n, mut middles, mut squares) = (0.0, 0.0, 0.0);
    for (lower, upper, count) in buckets(runs, Signal::PrefillComputedTokens)? {
        let middle = middle(lower, upper);
        n += count;
        middles += count * middle;
        squares += count * middle * middle;
    }
    if n <= 0.0 || middles <= 0.0 {
        return Err(nothing());
    }
    let stretch = sum / middles;
    Ok((n, squares * stretch * stretch))
}

/// Where the observations of a bucket are taken to lie.
pub(crate) fn middle(lower: f64, upper: f64) -> f64 {
    if upper.is_finite() { f64::midpoint(lower, upper) } else { lower }
}

/// Growth of each bucket of a histogram over the windows: from, to, count.
pub(crate) fn buckets(runs: &[RunEvidence], signal: Signal) -> Result<Vec<(f64, f64, f64)>, Missing> {
    let bound = |part| match part {
        Part::Bucket(bound) => Some(bound),
        _ => None,
    };
    let of = runs.iter().flat_map(|run| &run.signals).filter(|series| series.signal == Some(signal));
    let mut bounds: Vec<f64> = of.filter_map(|series| bound(series.part)).collect();
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    let (mut lower, mut below, mut all) = (0.0, 0.0, Vec::new());
    for bound in bounds {
        let growth = growth_in(runs, signal, Part::Bucket(bound))?.value;
        all.push((lower, bound, (growth - below).max(0.0)));
        (lower, below) = (bound, growth);
    }
    if all.is_empty() {
        let what = format!("buckets of the histogram `{}`", signal.name());
        return Err(Missing::not_exposed(what, "firstcheck run --url URL"));
    }
    Ok(all)
}

/// From the client's own requests, where nearly all that was served is theirs: what each takes by itself.
fn of_rows(side: &Side<'_>) -> Option<(Load, u64, Source)> {
    let runs = &side.evidence.runs;
    let others = side.measure::<Served>().map(|served| served.foreign / served.finished.value.max(1.0));
    if others.is_ok_and(|share| share > MOSTLY_CLIENTS) {
        return None;
    }
    let waits = side.measure::<FirstTokenWaits>().ok()?;
    let (sum, squares) =
        waits.rows.iter().fold((0.0, 0.0), |(sum, squares), row| (sum + row.own, squares + row.own * row.own));
    let n = waits.rows.len();
    let load = Load::of(n as f64, sum, squares, watched(runs) * replicas(runs) as f64)?;
    let source = Source::Derived { by: "prompts' own times as a queue of one server".into(), from: runs_of(runs) };
    Some((load, n as u64, source))
}

fn nothing() -> Missing {
    Missing {
        what: "prompts that were computed in the window".into(),
        why: Why::ZeroDenominator,
        obtain: "measure a window with traffic: firstcheck run --url URL".into(),
    }
}
