//! How many replicas a side's pages show, and what each did.

use firstcheck_model::{
    evidence::RunEvidence,
    signal::{Part, Series, Signal},
};

/// Signals of which each replica has a series of its own.
const ONE_EACH: [Signal; 3] = [Signal::Running, Signal::Waiting, Signal::PromptTokens];

/// How many replicas (or ranks that schedule by themselves) the pages of the runs show; at least 1.
pub(crate) fn replicas(runs: &[RunEvidence]) -> usize {
    let of =
        |run: &RunEvidence| ONE_EACH.iter().map(|signal| run.series(*signal, Part::Value).count()).max().unwrap_or(0);
    runs.iter().map(of).max().unwrap_or(0).max(1)
}

/// Samples of two gauges of one replica at the same moments inside the window.
pub(crate) fn together<'s>(
    run: &'s RunEvidence,
    one: &'s Series,
    other: Signal,
) -> impl Iterator<Item = (f64, f64)> + 's {
    let twin = run.series(other, Part::Value).find(|series| series.page == one.page && same_engine(series, one));
    one.inside(run.info.window).filter_map(move |(at, value)| {
        let twin = twin?;
        let place = twin.at.binary_search(&at).ok()?;
        Some((value, *twin.value.get(place)?))
    })
}

/// Whether two series are of one engine: they agree in every label that both have.
pub(crate) fn same_engine(one: &Series, other: &Series) -> bool {
    one.labels.0.iter().all(|(name, value)| other.labels.get(name).is_none_or(|theirs| theirs == value))
}
