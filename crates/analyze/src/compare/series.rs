//! Series that a run should have and has not: a run with a missing series never passes.

use super::{pair::Pair, reading::Reading};
use firstcheck_model::{fingerprint::field, signal::Signal};
use std::collections::BTreeSet;

/// What is missing where, in words.
///
/// Within a side, what any run exposes all have to. A candidate of the same engine has to expose what base does; another
/// engine exposes what it exposes.
pub(super) fn missing(pairs: &[&Pair]) -> Vec<String> {
    let base: Vec<&Reading> = pairs.iter().map(|pair| &pair.base).collect();
    let candidate: Vec<&Reading> = pairs.iter().map(|pair| &pair.candidate).collect();
    let (of_base, of_candidate) = (exposed(&base), exposed(&candidate));
    let same_engine = engine(&base) == engine(&candidate);
    let expected: BTreeSet<Signal> =
        if same_engine { of_base.union(&of_candidate).copied().collect() } else { of_candidate };
    let of_server = lacking("base", &base, &of_base).chain(lacking("the candidate", &candidate, &expected));
    events(&[base.as_slice(), candidate.as_slice()].concat()).into_iter().chain(of_server).collect()
}

/// The streams of a run that has lost its events: no gap between tokens is known of it.
fn events(runs: &[&Reading]) -> Option<String> {
    let without = runs.iter().filter(|run| !run.events).count();
    let first = runs.iter().find(|run| !run.events)?;
    (without < runs.len()).then(|| format!("events are missing in {without} of {} runs ({})", runs.len(), first.label))
}

fn exposed(runs: &[&Reading]) -> BTreeSet<Signal> {
    runs.iter().flat_map(|run| &run.signals).copied().collect()
}

fn engine<'r>(runs: &[&'r Reading]) -> Option<&'r str> {
    runs.iter().find_map(|run| run.info.fingerprint.get(field::ENGINE))
}

fn lacking<'a>(
    side: &'a str,
    runs: &'a [&Reading],
    expected: &'a BTreeSet<Signal>,
) -> impl Iterator<Item = String> + 'a {
    expected.iter().filter_map(move |signal| {
        let without = runs.iter().filter(|run| !run.signals.contains(signal)).count();
        let first = runs.iter().find(|run| !run.signals.contains(signal))?;
        let name = signal.name();
        Some(format!("series {name} is missing in {without} of {} runs of {side} ({})", runs.len(), first.label))
    })
}
