//! How loud a thing is said.

use firstcheck_model::{
    finding::Severity,
    report::{Claim, Verdict},
};

/// How loud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Wrong.
    Bad,
    /// Fine.
    Good,
    /// To be looked at.
    Warn,
    /// Nothing to say.
    Plain,
    /// Of less interest.
    Dim,
    /// A heading.
    Bold,
}

/// The tone of a verdict.
pub(crate) fn of_verdict(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Pass => Tone::Good,
        Verdict::Fail => Tone::Bad,
        Verdict::Inconclusive | Verdict::NotComparable => Tone::Warn,
        Verdict::None => Tone::Bold,
    }
}

/// The tone of a metric's claim.
pub(crate) fn of_claim(claim: Claim) -> Tone {
    match claim {
        Claim::Regressed => Tone::Bad,
        Claim::Improved | Claim::NonInferior => Tone::Good,
        Claim::RegressedWithinMargin | Claim::NotComparable => Tone::Warn,
        Claim::Inconclusive | Claim::Shown => Tone::Plain,
        Claim::NotClaimable => Tone::Dim,
    }
}

/// The tone of a symptom that is present.
pub(crate) fn of_severity(severity: Severity) -> Tone {
    match severity {
        Severity::Critical | Severity::Major => Tone::Bad,
        Severity::Minor => Tone::Warn,
        Severity::Info => Tone::Plain,
    }
}
