//! One deployment by itself: its runs, and what the checks find.

use crate::{
    case::Case,
    compare::{Differences, Policy, mixed, run_row, side_by_side},
    diagnose::diagnose,
    fingerprint,
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
    let (before, mixed) = described_side(base, "the base");
    report.notes.extend(mixed);
    if let Some(after) = &report.sides.candidate {
        Differences::between(&before.fingerprint, &after.fingerprint).put(&mut report);
    }
    report.sides.base = Some(before);
    report.metrics = side_by_side(&base.runs, &evidence.runs, policy);
    let (side, base) = (Side::with(evidence, settings), Side::with(base, settings));
    report.findings = diagnose(&Case { side: &side, base: Some(&base), settings });
    report
}

/// A report that says what the evidence is of, before any check was asked.
fn described(evidence: &Evidence, settings: &Settings) -> Report {
    let mut report = Report::new("diagnose", TOOL);
    let (side, mixed) = described_side(evidence, "what was read");
    report.notes.extend(mixed);
    report.sides.candidate = Some(side);
    report.parameters.extend(parameters(settings));
    report
}

/// The side that `evidence` is, and a note where its runs are of several deployments.
fn described_side(evidence: &Evidence, name: &str) -> (SideReport, Option<String>) {
    let fingerprint = fingerprint::of(evidence);
    let mixed = mixed(name, evidence.runs.iter().map(|run| &run.info.fingerprint));
    (SideReport { fingerprint, runs: evidence.runs.iter().map(run_row).collect() }, mixed)
}
