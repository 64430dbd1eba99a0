//! Two spans of what a deployment said of itself while others used it: the server's own counters side by side.

use super::{
    plan::{Key, plan},
    policy::Policy,
    reading::{Cell, Reading},
    rows::shown,
    told::Told,
};
use firstcheck_model::{evidence::RunEvidence, report::MetricRow, run::Origin};

/// Rows of every metric that the counters of either side give; they claim nothing.
pub(crate) fn side_by_side(base: &[RunEvidence], candidate: &[RunEvidence], policy: &Policy) -> Vec<MetricRow> {
    let keys = plan(policy);
    let readings = |runs: &[RunEvidence]| -> Vec<Reading> {
        let observed = runs.iter().filter(|run| run.info.origin == Origin::Observed);
        observed.map(|run| Reading::of(run, Told::default(), &keys, policy).0).collect()
    };
    let (base, candidate) = (readings(base), readings(candidate));
    let row = |(at, key): (usize, Key)| {
        let cells = |readings: &[Reading]| -> Vec<Cell> { readings.iter().map(|r| r.cells[at].clone()).collect() };
        let (base, candidate) = (cells(&base), cells(&candidate));
        let row = shown(key, &base.iter().collect::<Vec<_>>(), &candidate.iter().collect::<Vec<_>>());
        (row.base.is_some() || row.candidate.is_some()).then_some(row)
    };
    keys.iter().copied().enumerate().filter_map(row).collect()
}
