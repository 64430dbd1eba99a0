//! One deployment by itself: its runs, and what the checks find.

use crate::{
    case::Case,
    changes::changes,
    compare::{Differences, Policy, compare, mixed, run_row, side_by_side, unanswered},
    diagnose::diagnose,
    figures::figures,
    fingerprint,
    judge::parameters,
    onset::{Onset, before_and_after, onset},
    settings::Settings,
    settling::settles,
    side::Side,
};
use firstcheck_model::{
    TOOL,
    comparability::Ruling,
    evidence::{Evidence, RunEvidence},
    finding::Outcome,
    first_look::Began,
    report::{Claim, MetricRow, Report, SideReport},
};
use std::borrow::Cow;

/// The rule of the comparison that one run does not stand on both sides.
const ONE_RUN: &str = "one-run-on-both-sides";

/// What `evidence` says by itself: its runs stand as `candidate`, and every check is asked. A run that got worse by itself
/// is compared with what it was before.
pub fn examine(evidence: &Evidence, policy: &Policy, settings: &Settings) -> Report {
    let mut report = described(evidence, settings);
    match onset(evidence, settings) {
        Some(onset) => {
            report.notes.push(onset.to_string());
            report.began = began(&onset, evidence);
            let (before, after) = before_and_after(evidence, &onset);
            // Other runs are the same on both sides.
            let own = |evidence: &Evidence| -> Vec<RunEvidence> {
                evidence.runs.iter().filter(|run| run.label == onset.run).cloned().collect()
            };
            let (old, new) = (Evidence::of(own(&before)), Evidence::of(own(&after)));
            compared(&mut report, &old, &new, policy);
            let (base, side) = (Side::with(&before, settings), Side::with(&after, settings));
            report.findings = diagnose(&Case { side: &side, base: Some(&base), settings });
        }
        None => {
            report.figures = figures(&[], &evidence.runs);
            report.findings = diagnose(&Case { side: &Side::with(evidence, settings), base: None, settings });
        }
    }
    report.settles = settles(&report.findings);
    say_unanswered(&mut report, evidence);
    report
}

/// What `evidence` says beside that of another deployment or of another span of the same one: metrics stand side by side,
/// and every check is asked about the difference. Nothing is judged: the two had traffic of their own.
pub fn examine_against(evidence: &Evidence, base: &Evidence, policy: &Policy, settings: &Settings) -> Report {
    let mut report = described(evidence, settings);
    let (before, mixed) = described_side(base, "the base");
    report.notes.extend(mixed);
    if let Some(after) = &report.sides.candidate {
        Differences::between(&before.fingerprint, &after.fingerprint).put(&mut report);
    }
    report.sides.base = Some(before);
    compared(&mut report, base, evidence, policy);
    let (side, base) = (Side::with(evidence, settings), Side::with(base, settings));
    report.findings = diagnose(&Case { side: &side, base: Some(&base), settings });
    report.settles = settles(&report.findings);
    say_unanswered(&mut report, evidence);
    report
}

/// Says of runs that none of their requests was answered. Where nothing else was found that is no clean bill: nothing could
/// be looked at.
fn say_unanswered(report: &mut Report, evidence: &Evidence) {
    let Some(side) = &report.sides.candidate else { return };
    let said: Vec<String> =
        evidence.runs.iter().zip(&side.runs).filter_map(|(run, row)| unanswered(&run.info, row)).collect();
    let found = report.findings.iter().any(|finding| matches!(finding.outcome, Outcome::Present { .. }));
    if found { report.notes.extend(said) } else { report.invalid.extend(said) }
}

/// Metrics of both sides, where the time went, and what got worse.
fn compared(report: &mut Report, base: &Evidence, side: &Evidence, policy: &Policy) {
    let (before, now) = (measured(base), measured(side));
    if before.is_empty() || now.is_empty() {
        report.metrics = side_by_side(&base.runs, &side.runs, policy);
    } else {
        let judged = compare(&before, &now, policy);
        report.invalid.extend(judged.comparability.into_iter().filter(is_of_twins).map(|ruling| ruling.reason));
        report.metrics = judged.metrics.into_iter().map(shown).collect();
        report.stages = judged.stages;
    }
    report.figures = figures(&base.runs, &side.runs);
    report.changes = changes(&report.metrics, &report.stages, base, side);
}

/// Whether one run stands on both sides: whatever differs between them, nothing of it can be seen.
fn is_of_twins(ruling: &Ruling) -> bool {
    ruling.rule == ONE_RUN
}

/// Runs that have requests.
fn measured(evidence: &Evidence) -> Cow<'_, [RunEvidence]> {
    let has = |run: &&RunEvidence| !run.requests.is_empty();
    match evidence.runs.iter().all(|run| has(&run)) {
        true => Cow::Borrowed(&evidence.runs),
        false => Cow::Owned(evidence.runs.iter().filter(has).cloned().collect()),
    }
}

/// A row that shows what it would claim in a comparison that was designed as one.
fn shown(row: MetricRow) -> MetricRow {
    let claim = match row.claim {
        Claim::NotClaimable | Claim::NotComparable => row.claim,
        _ => Claim::Shown,
    };
    MetricRow { claim, exploratory: true, margin: None, ..row }
}

fn began(onset: &Onset, evidence: &Evidence) -> Option<Began> {
    let at_s = onset.at.seconds()?;
    let run = evidence.runs.iter().find(|run| run.label == onset.run)?;
    let unix_s = run.info.clock.started_unix_ns.map(|started| started as f64 * 1e-9 + at_s);
    Some(Began { run: onset.run.clone(), at_s, unix_s })
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
