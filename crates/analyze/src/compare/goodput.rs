//! Requests that meet the SLO.

use super::columns::Columns;
use firstcheck_model::{evidence::RunEvidence, slo::Slo};
use firstcheck_stats::goodput::Counts;

/// Good requests among the offered; `None` without all requests, or where a bound cannot be told of one of them.
pub(super) fn counts(run: &RunEvidence, columns: &Columns, slo: &Slo) -> Option<Counts> {
    if columns.lines.is_empty() {
        return None;
    }
    let mut good = 0;
    for (row, request) in run.window() {
        good += u64::from(request.meets(slo, run.longest_gap(row))?);
    }
    Counts::new(good, columns.lines.len() as u64).ok()
}
