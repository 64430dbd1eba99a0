//! The exit code: one function from a report.

use crate::{
    finding::{Outcome, Severity},
    report::{Report, Verdict},
};

/// Nothing wrong was found.
pub const FINE: u8 = 0;
/// A failed gate, or a finding at the asked severity.
pub const FOUND: u8 = 1;
/// Usage error, or firstcheck itself failed.
pub const FAILED: u8 = 2;
/// It cannot be told: not comparable, invalid client, interrupted, inconclusive.
pub const CANNOT_TELL: u8 = 3;

/// The exit code of a report. `fail_on`: the least severity of a present finding that counts.
///
/// In this order: invalid or not comparable → 3; failed gate or finding → 1; inconclusive, or a check that was asked about
/// alone and cannot tell → 3; else 0. A failure of
/// firstcheck itself has no report and is 2.
pub fn exit_code(report: &Report, fail_on: Option<Severity>) -> u8 {
    let found = |least: Severity| {
        report.findings.iter().any(|f| f.severity >= least && matches!(f.outcome, Outcome::Present { .. }))
    };
    if !report.invalid.is_empty() || report.verdict == Verdict::NotComparable {
        CANNOT_TELL
    } else if report.verdict == Verdict::Fail || fail_on.is_some_and(found) {
        FOUND
    } else if report.verdict == Verdict::Inconclusive || asked_in_vain(report) {
        CANNOT_TELL
    } else {
        FINE
    }
}

/// Whether a check that was asked about alone could not tell its symptom.
fn asked_in_vain(report: &Report) -> bool {
    let undecided = |finding: &crate::finding::Finding| matches!(finding.outcome, Outcome::Undecided { .. });
    report.findings.iter().any(|finding| undecided(finding) && report.asked.contains(&finding.code))
}
