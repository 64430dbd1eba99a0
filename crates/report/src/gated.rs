//! What a gate judged, in sentences: shared by the renderings for machines that show people a line.

use crate::{number, words};
use firstcheck_model::{
    finding::{Cause, Finding, Outcome, Severity},
    report::{Claim, MetricRow, Report, Verdict},
};

/// How much something matters to whoever decides on a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It stands in the way.
    Fails,
    /// It could not be told.
    Untold,
    /// It should be looked at, and stands in nobody's way.
    Warns,
    /// It is fine.
    Fine,
}

/// Rows that a gate judges.
pub(crate) fn rows(report: &Report) -> impl Iterator<Item = &MetricRow> {
    report.metrics.iter().filter(|row| row.margin.is_some())
}

/// What a row's claim means for the gate.
pub(crate) fn of_claim(claim: Claim) -> Weight {
    match claim {
        Claim::Regressed => Weight::Fails,
        Claim::Improved | Claim::NonInferior => Weight::Fine,
        Claim::RegressedWithinMargin => Weight::Warns,
        Claim::Inconclusive | Claim::Shown | Claim::NotClaimable | Claim::NotComparable => Weight::Untold,
    }
}

/// What a verdict means for the gate; data that may not be believed decide nothing.
pub(crate) fn of_verdict(report: &Report) -> Weight {
    match report.verdict {
        Verdict::Fail => Weight::Fails,
        Verdict::Inconclusive | Verdict::NotComparable => Weight::Untold,
        // A comparison that gates nothing decides nothing.
        Verdict::None if matches!(report.verb.as_str(), "compare" | "ab") => Weight::Untold,
        Verdict::Pass | Verdict::None if !report.invalid.is_empty() => Weight::Untold,
        Verdict::Pass | Verdict::None => Weight::Fine,
    }
}

/// What a finding means: a symptom that users notice stands in the way.
pub(crate) fn of_finding(finding: &Finding) -> Weight {
    match (&finding.outcome, finding.severity) {
        (Outcome::Present { .. }, Severity::Major | Severity::Critical) => Weight::Fails,
        (Outcome::Present { .. }, Severity::Minor) => Weight::Warns,
        (Outcome::Undecided { .. }, _) => Weight::Untold,
        _ => Weight::Fine,
    }
}

/// Reasons that a page shows before it folds the rest: the most important come first, and slices repeat what their whole says.
pub(crate) const MOST_REASONS: usize = 5;

/// The first reasons, and the others.
pub(crate) fn reasons(report: &Report) -> (&[String], &[String]) {
    report.why.split_at(report.why.len().min(MOST_REASONS))
}

/// Judged rows that are of all requests, and how many slices are judged to be worse.
pub(crate) fn whole(report: &Report) -> (Vec<&MetricRow>, usize) {
    let (whole, slices): (Vec<_>, Vec<_>) = rows(report).partition(|row| row.slice.is_none());
    (whole, slices.into_iter().filter(|row| of_claim(row.claim) == Weight::Fails).count())
}

/// How many slices are worse, in words.
pub(crate) fn worse_slices(n: usize) -> Option<String> {
    let are = if n == 1 { "is" } else { "are" };
    (n > 0).then(|| format!("{} of slices {are} worse than their margin as well", number::counted(n as u64, "row")))
}

/// The conclusion with its reasons, a line each.
pub(crate) fn conclusion(report: &Report) -> String {
    let invalid = report.invalid.iter().map(|why| format!("not to be believed: {why}"));
    let lines: Vec<String> = report.why.iter().cloned().chain(invalid).collect();
    lines.join("\n")
}

/// The verdict, or the verb where nothing was judged.
pub(crate) fn title(report: &Report) -> &str {
    words::verdict(report.verdict).unwrap_or(&report.verb)
}

/// A judged row: `800 ms → 1.20 s, +50 % (95 % interval +31 … +72 %), margin 10 %: regressed`.
pub(crate) fn judged(row: &MetricRow) -> String {
    let of = |side| number::quantity(side, &row.unit);
    let mut parts = Vec::new();
    if row.base.is_some() || row.candidate.is_some() {
        parts.push(format!("{} → {}", of(row.base), of(row.candidate)));
    }
    let interval = row.interval.map(|interval| {
        let level = row.confidence.map_or(String::new(), |level| format!("{} ", number::relative(level)));
        format!(" ({level}interval {})", number::change_interval(interval))
    });
    if row.ratio.is_some() || interval.is_some() {
        parts.push(format!("{}{}", number::change_of(row.ratio), interval.unwrap_or_default()));
    }
    parts.extend(row.margin.map(|margin| format!("margin {}", number::relative(margin))));
    parts.extend(row.mde.map(|mde| format!("finds ≥ {}", number::relative(mde))));
    let note = row.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
    format!("{}: {}{note}", parts.join(", "), words::claim(row.claim))
}

/// A finding's causes that are supported or open, or what it is missing, a line each.
pub(crate) fn told(finding: &Finding) -> Vec<String> {
    match &finding.outcome {
        Outcome::Present { facts, causes, explains } => {
            let shown = facts.iter().map(crate::source::sentence);
            let explained = explains.iter().map(words::explained);
            let causes = causes.iter().filter_map(|cause| match cause {
                Cause::Supported { id, means, follow_up, .. } => {
                    Some(format!("cause: {means} ({id}); next: {}: {}", follow_up.measure, follow_up.command))
                }
                Cause::Open { id, means, .. } => Some(format!("open: {means} ({id})")),
                Cause::Excluded { .. } => None,
            });
            explained.chain(shown).chain(causes).collect()
        }
        Outcome::Absent { why } => why.iter().map(crate::source::sentence).collect(),
        Outcome::Undecided { missing } => {
            missing.iter().map(|one| format!("missing: {}; obtain: {}", words::missing(one), one.obtain)).collect()
        }
        Outcome::NotApplicable { why } => vec![why.clone()],
    }
}
