//! Runs the checks on a case and ranks what they find.

use crate::{case::Case, registry};
use firstcheck_model::finding::{Finding, Outcome};
use std::cmp::Reverse;

/// Runs every check. Present findings come first, ranked by the share of the difference they explain, then by severity.
pub fn diagnose(case: &Case<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = registry::CHECKS
        .iter()
        .map(|check| Finding {
            code: check.code.into(),
            slug: check.slug.into(),
            symptom: check.symptom.into(),
            severity: check.severity,
            outcome: (check.run)(case),
        })
        .collect();
    findings.sort_by(|a, b| {
        place(&a.outcome)
            .cmp(&place(&b.outcome))
            .then(explained(&b.outcome).total_cmp(&explained(&a.outcome)))
            .then(Reverse(a.severity).cmp(&Reverse(b.severity)))
            .then(a.code.cmp(&b.code))
    });
    findings
}

fn place(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Present { .. } => 0,
        Outcome::Undecided { .. } => 1,
        Outcome::Absent { .. } => 2,
        Outcome::NotApplicable { .. } => 3,
    }
}

/// Share of the difference explained; a finding that cannot say ranks below any that can.
fn explained(outcome: &Outcome) -> f64 {
    match outcome {
        Outcome::Present { explains: Some(e), .. } if e.delta != 0.0 => (e.explained / e.delta).clamp(0.0, 1.0),
        _ => -1.0,
    }
}
