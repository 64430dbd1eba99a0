//! The order of findings: what explains most comes first, and what another brought about stands under it.

use crate::registry;
use firstcheck_model::finding::{Cause, Finding, Outcome, Severity};
use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeMap,
};

/// Findings in the order in which a reader needs them, with consequences marked.
///
/// Present ones first, by the share of the difference that they explain; a finding that cannot say how much it explains
/// comes after those that can. Then what stops a server, those with a cause that evidence speaks for, those that brought
/// more of the others about, and the graver ones. A consequence follows its cause. Then what is undecided, what is not
/// there, and what does not apply.
pub fn ranked(mut findings: Vec<Finding>) -> Vec<Finding> {
    let causes: Vec<Option<String>> = findings.iter().map(|finding| brought_about_by(finding, &findings)).collect();
    for (finding, cause) in findings.iter_mut().zip(causes) {
        finding.consequence_of = cause;
    }
    let mut brought: BTreeMap<String, usize> = BTreeMap::new();
    for cause in findings.iter().filter_map(|finding| finding.consequence_of.clone()) {
        *brought.entry(cause).or_default() += 1;
    }
    findings.sort_by(|a, b| order(a, b, &brought));
    let (consequences, mut ordered): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().partition(|finding| finding.consequence_of.is_some());
    // The last first, each right behind its cause: so they keep their order.
    for finding in consequences.into_iter().rev() {
        let cause = ordered.iter().position(|other| Some(&other.code) == finding.consequence_of.as_ref());
        let at = cause.map_or(ordered.len(), |at| at + 1);
        ordered.insert(at, finding);
    }
    ordered
}

/// The finding that brought this one about, by the relation that its check declares: the evidence speaks for the cause,
/// and the cause's own symptom is there and is no consequence itself. Of two that name each other the graver one comes
/// first.
fn brought_about_by(finding: &Finding, all: &[Finding]) -> Option<String> {
    let candidates = declared(finding).filter(|code| all.iter().any(|other| other.code == *code && is_present(other)));
    let mut roots = candidates.filter(|code| {
        let other = all.iter().find(|other| other.code == *code);
        let is_there = |code: &str| all.iter().any(|one| one.code == code && is_present(one));
        let above =
            |other: &Finding| (Reverse(other.severity), &other.code) < (Reverse(finding.severity), &finding.code);
        let brought = |other: &Finding, code: &str| is_there(code) && !(code == finding.code && above(other));
        other.is_some_and(|other| declared(other).all(|code| !brought(other, code)))
    });
    roots.next().map(str::to_owned)
}

/// Codes of the symptoms that this finding's supported causes stand for; where none is supported, of those that bring it
/// about in another way.
fn declared(finding: &Finding) -> impl Iterator<Item = &'static str> {
    let check = registry::by_slug(&finding.slug);
    let relations = check.map_or(&[][..], |check| check.consequences);
    let supported: Vec<&str> = match &finding.outcome {
        Outcome::Present { causes, .. } => causes.iter().filter(|c| c.is_supported()).map(Cause::id).collect(),
        _ => Vec::new(),
    };
    let unexplained = check.filter(|_| supported.is_empty() && is_present(finding));
    let of_causes = relations.iter().filter(move |(own, _)| supported.contains(own)).map(|(_, code)| *code);
    of_causes.chain(unexplained.map_or(&[][..], |check| check.unexplained_under).iter().copied())
}

fn is_present(finding: &Finding) -> bool {
    matches!(finding.outcome, Outcome::Present { .. })
}

fn order(a: &Finding, b: &Finding, brought: &BTreeMap<String, usize>) -> Ordering {
    let stops = |finding: &Finding| finding.severity == Severity::Critical;
    let brings = |finding: &Finding| brought.get(&finding.code).copied().unwrap_or(0);
    place(&a.outcome)
        .cmp(&place(&b.outcome))
        .then(explained(&b.outcome).total_cmp(&explained(&a.outcome)))
        .then(stops(b).cmp(&stops(a)))
        .then(has_a_cause(&b.outcome).cmp(&has_a_cause(&a.outcome)))
        .then(brings(b).cmp(&brings(a)))
        .then(Reverse(a.severity).cmp(&Reverse(b.severity)))
        .then(a.code.cmp(&b.code))
}

fn place(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Present { .. } => 0,
        Outcome::Undecided { .. } => 1,
        Outcome::Absent { .. } => 2,
        Outcome::NotApplicable { .. } => 3,
    }
}

/// Whether evidence speaks for one of its causes.
fn has_a_cause(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Present { causes, .. } if causes.iter().any(Cause::is_supported))
}

/// Share of the difference explained; a finding that cannot say ranks below any that can.
fn explained(outcome: &Outcome) -> f64 {
    match outcome {
        Outcome::Present { explains: Some(e), .. } if e.delta != 0.0 => (e.explained / e.delta).clamp(0.0, 1.0),
        _ => -1.0,
    }
}
