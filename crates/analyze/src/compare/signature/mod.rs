//! Signatures: patterns of change that regressions are known by, each with the checks that split its causes.
//!
//! A signature is read off the comparison and nothing else. It says where to look, not what the cause is: that is what its
//! checks tell.

mod changes;
mod hit_rate_down;
mod itl_up;
mod memory_up;
mod newer_gpu_slower;
mod preemptions_up;
mod start_up_slower;
mod ttft_up_queue_stable;
mod ttft_up_queue_up;

use super::policy::Policy;
use changes::Changes;
use firstcheck_model::report::{Lead, Report, SignatureRow, SignatureState};

/// One named pattern.
struct Rule {
    /// Its name in files.
    name: &'static str,
    /// The pattern in words.
    means: &'static str,
    /// Checks that split its causes: code, and what that check tells.
    leads: &'static [(&'static str, &'static str)],
    /// Reads it off the changes.
    read: fn(&Changes<'_>) -> Reading,
}

/// Where a pattern stands.
enum Reading {
    /// It is there, shown by these facts.
    Present(Vec<String>),
    /// It is not there, shown by these facts.
    Absent(Vec<String>),
    /// This would have to be known.
    Unknown(Vec<String>),
}

/// All signatures, in the order of a report.
static RULES: [&Rule; 8] = [
    &ttft_up_queue_up::RULE,
    &ttft_up_queue_stable::RULE,
    &itl_up::RULE,
    &memory_up::RULE,
    &hit_rate_down::RULE,
    &preemptions_up::RULE,
    &newer_gpu_slower::RULE,
    &start_up_slower::RULE,
];

/// Every signature with where it stands in a comparison, those that are there first. None of a report that compares
/// nothing.
pub fn signatures(report: &Report, policy: &Policy) -> Vec<SignatureRow> {
    if report.sides.base.is_none() || report.sides.candidate.is_none() {
        return Vec::new();
    }
    let changes = Changes::of(report, policy);
    let mut rows: Vec<SignatureRow> = RULES.iter().map(|rule| row(rule, &changes)).collect();
    rows.sort_by_key(|row| match row.state {
        SignatureState::Present => 0,
        SignatureState::Unknown => 1,
        SignatureState::Absent => 2,
    });
    rows
}

fn row(rule: &Rule, changes: &Changes<'_>) -> SignatureRow {
    let (state, facts, missing) = match (rule.read)(changes) {
        Reading::Present(facts) => (SignatureState::Present, facts, Vec::new()),
        Reading::Absent(facts) => (SignatureState::Absent, facts, Vec::new()),
        Reading::Unknown(missing) => (SignatureState::Unknown, Vec::new(), missing),
    };
    let lead = |(code, tells): &(&str, &str)| Lead { code: (*code).into(), tells: (*tells).into() };
    SignatureRow {
        name: rule.name.into(),
        means: rule.means.into(),
        state,
        exploratory: changes.exploratory(),
        facts,
        missing,
        checks: rule.leads.iter().map(lead).collect(),
    }
}
