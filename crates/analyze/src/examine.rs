//! One deployment by itself: its runs, and what the checks find.

use crate::{
    case::Case,
    compare::{Differences, Policy, mixed, run_row, side_by_side},
    diagnose::diagnose,
    judge::parameters,
    onset::{before_and_after, onset},
    settings::Settings,
    side::Side,
};
use firstcheck_model::{
    TOOL,
    evidence::Evidence,
    report::{Report, SideReport},
};

/// What `evidence` says by itself: its runs stand as `candidate`, and every check is asked.
pub fn examine(evidence: &Evidence, settings: &Settings) -> Report {
    let mut report = described(evidence, settings);
    report.findings = match onset(evidence, settings) {
        Some(onset) => {
            report.notes.push(onset.to_string());
            let (before, after) = before_and_after(evidence, &onset);
            let (base, side) = (Side::with(&before, settings), Side::with(&after, settings));
            diagnose(&Case { side: &side, base: Some(&base), settings })
        }
        None => diagnose(&Case { side: &Side::with(evidence, settings), base: None, settings }),
    };
    report
}

/// What `evidence` says beside that of another span of the same deployment: what the servers' own counters of both can
/// tell stands side by side, and every check is asked about the difference. Nothing is judged: the two spans had traffic
/// of their own.
pub fn examine_against(evidence: &Evidence, base: &Evidence, policy: &Policy, settings: &Settings) -> Report {
    let mut report = described(evidence, settings);
    report.notes.extend(mixed("the base", base.runs.iter().map(|run| &run.info.fingerprint)));
    let (before, after) = (described_side(base), described_side(evidence));
    Differences::between(&before.fingerprint, &after.fingerprint).put(&mut report);
    report.sides.base = Some(before);
    report.metrics = side_by_side(&base.runs, &evidence.runs, policy);
    let (side, base) = (Side::with(evidence, settings), Side::with(base, settings));
    report.findings = diagnose(&Case { side: &side, base: Some(&base), settings });
    report
}

/// A report that says what the evidence is of, before any check was asked.
fn described(evidence: &Evidence, settings: &Settings) -> Report {
    let mut report = Report::new("diagnose", TOOL);
    // One field has one value: what the runs do not agree in is said beside it.
    report.notes.extend(mixed("what was read", evidence.runs.iter().map(|run| &run.info.fingerprint)));
    report.sides.candidate = Some(described_side(evidence));
    report.parameters.extend(parameters(settings));
    report
}

fn described_side(evidence: &Evidence) -> SideReport {
    let mut fingerprint = evidence.stated.clone();
    for run in &evidence.runs {
        fingerprint.merge(&run.info.fingerprint);
    }
    SideReport { fingerprint, runs: evidence.runs.iter().map(run_row).collect() }
}
