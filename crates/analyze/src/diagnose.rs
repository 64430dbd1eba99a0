//! Runs the checks on a case and ranks what they find.

use crate::{case::Case, rank::ranked, registry};
use firstcheck_model::finding::Finding;

/// Runs every check; the findings in the order of [`ranked`].
pub fn diagnose(case: &Case<'_>) -> Vec<Finding> {
    let findings = registry::CHECKS.iter().map(|check| Finding {
        code: check.code.into(),
        slug: check.slug.into(),
        symptom: check.symptom.into(),
        severity: check.severity,
        consequence_of: None,
        outcome: (check.run)(case),
    });
    ranked(findings.collect())
}
