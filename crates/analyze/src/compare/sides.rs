//! Runs and sides as the report lists them.

use super::reading::Reading;
use firstcheck_model::{
    evidence::RunEvidence,
    fingerprint::Fingerprint,
    metric::Metric,
    report::{RunRow, SideReport},
    request::Fate,
    run::{RunInfo, RunState},
};
use std::collections::BTreeMap;

/// Kinds of error that a run's line lists: texts of a server may all differ.
const MOST_ERRORS: usize = 50;

/// The most frequent errors; the others as one entry that counts them.
fn most_frequent(errors: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    if errors.len() <= MOST_ERRORS {
        return errors;
    }
    let kinds = errors.len() - (MOST_ERRORS - 1);
    let mut ranked: Vec<(String, u64)> = errors.into_iter().collect();
    ranked.sort_by(|(_, one), (_, other)| other.cmp(one));
    let rest: u64 = ranked.split_off(MOST_ERRORS - 1).into_iter().map(|(_, times)| times).sum();
    ranked.push((format!("{kinds} other errors"), rest));
    ranked.into_iter().collect()
}

/// A run's line in the report.
pub(crate) fn run_row(run: &RunEvidence) -> RunRow {
    let (mut fates, mut errors) = (BTreeMap::new(), BTreeMap::new());
    let mut requests = 0;
    for (_, request) in run.window() {
        requests += 1;
        *fates.entry(request.fate.name().to_owned()).or_insert(0) += 1;
        if let Some(error) = request.error.as_ref().filter(|_| request.fate != Fate::Completed) {
            *errors.entry(error.clone()).or_insert(0) += 1;
        }
    }
    RunRow {
        id: run.info.id.clone(),
        label: run.label.clone(),
        origin: run.info.origin.clone(),
        state: run.info.state.clone(),
        pair: run.info.place.as_ref().map(|place| place.pair),
        workload: run.info.workload.description.clone(),
        window_s: run.info.window.and_then(|w| w.length()).map(|s| s.0),
        requests,
        fates,
        errors: most_frequent(errors),
        client: run.info.client.clone(),
        warnings: run.info.remarks().cloned().collect(),
    }
}

/// A side with its runs; `None` without any.
pub(super) fn side<'a>(readings: impl Iterator<Item = &'a Reading>) -> Option<SideReport> {
    let mut side: Option<SideReport> = None;
    for reading in readings {
        let fingerprint = &reading.info.fingerprint;
        let side = side.get_or_insert_with(|| SideReport { fingerprint: fingerprint.clone(), runs: Vec::new() });
        side.runs.push(reading.row.clone());
    }
    side
}

/// A note where the runs of a side are of different deployments: then the side is none, and what differs between the
/// sides is told of their first runs alone.
pub(crate) fn mixed<'a>(side: &str, mut fingerprints: impl Iterator<Item = &'a Fingerprint>) -> Option<String> {
    let first = fingerprints.next()?;
    let mut fields: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for other in fingerprints {
        for (field, ours, theirs) in first.differences(other) {
            let values = fields.entry(field).or_insert_with(|| vec![&ours.stated.value]);
            if !values.contains(&theirs.stated.value.as_str()) {
                values.push(&theirs.stated.value);
            }
        }
    }
    let list: Vec<String> = fields.iter().map(|(field, values)| format!("{field} {}", values.join(" and "))).collect();
    (!list.is_empty()).then(|| format!("the runs of {side} are not of one deployment: {}", list.join(", ")))
}

/// Why a run as a whole may not be believed.
pub(super) fn invalid(reading: &Reading) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(reason) = reading.info.client.as_ref().and_then(|c| c.invalid()) {
        reasons.push(format!("{}: invalid client: {reason}", reading.label));
    }
    if let RunState::Interrupted { reason } = &reading.info.state {
        reasons.push(format!("{}: interrupted: {reason}", reading.label));
    }
    reasons
}

/// Why a run by itself measured nothing: it has neither requests (in its window) nor figures, or none was answered.
pub(super) fn empty(reading: &Reading) -> Option<String> {
    if reading.row.requests == 0 && reading.info.reported.is_empty() {
        return Some(format!("{}: it holds no request and no figure", reading.row.label));
    }
    unanswered(&reading.info, &reading.row)
}

/// That none of a run's requests was answered, by its rows or by what its file prints.
pub(crate) fn unanswered(info: &RunInfo, row: &RunRow) -> Option<String> {
    let completed = row.fates.get(Fate::Completed.name()).copied().unwrap_or(0);
    let offered = match row.requests {
        0 => {
            let failed = info.reported.iter().find(|r| r.metric == Metric::FailedShare)?;
            failed.n.filter(|n| *n > 0 && failed.value >= 1.0)?
        }
        requests => requests,
    };
    if completed > 0 {
        return None;
    }
    let most = row.errors.iter().max_by_key(|(_, times)| **times);
    let most = most.map_or(String::new(), |(error, times)| format!("; {times} × {error}"));
    Some(format!("{}: none of {offered} requests was answered in full{most}", row.label))
}
