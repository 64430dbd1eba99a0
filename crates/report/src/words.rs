//! Names of things as a reader says them.

use crate::number;
use firstcheck_model::{
    figure::Figures,
    finding::{Cause, Explained, Finding, Outcome, Severity},
    measurement::{Missing, Why},
    metric::Metric,
    report::{Claim, MetricRow, Verdict},
    run::{Origin, Role, RunState},
};

/// The verdict in capitals; `None` where nothing was judged.
pub(crate) fn verdict(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Pass => Some("PASS"),
        Verdict::Fail => Some("FAIL"),
        Verdict::Inconclusive => Some("INCONCLUSIVE"),
        Verdict::NotComparable => Some("NOT COMPARABLE"),
        Verdict::None => None,
    }
}

/// What a row claims.
pub(crate) fn claim(claim: Claim) -> &'static str {
    match claim {
        Claim::Regressed => "regressed",
        Claim::RegressedWithinMargin => "regressed, within margin",
        Claim::Improved => "improved",
        Claim::NonInferior => "no worse",
        Claim::Inconclusive => "cannot tell",
        Claim::Shown => "shown only",
        Claim::NotClaimable => "not claimable",
        Claim::NotComparable => "not comparable",
    }
}

/// A row's name: metric, statistic unless it is the total, slice if any. A count over several runs is that of one.
pub(crate) fn row(row: &MetricRow) -> String {
    let mut name = row.metric.label().to_owned();
    if row.metric == Metric::Preemptions && row.n.iter().flatten().any(|runs| *runs > 1) {
        name += " a run";
    }
    if row.stat != "total" {
        name = format!("{name} {}", row.stat.replace('_', " "));
    }
    match (&row.slice, &row.cell) {
        (Some(slice), Some(cell)) => format!("{name} ({slice}, {cell})"),
        (Some(one), None) | (None, Some(one)) => format!("{name} ({one})"),
        (None, None) => name,
    }
}

/// What a split of time is of (`ttft p95`), spelt as the metrics are.
pub(crate) fn split(of: &str) -> String {
    let (name, stat) = of.split_once(' ').unwrap_or((of, ""));
    let known = Metric::ALL.into_iter().find(|known| known.name() == name);
    let name = match known {
        Some(known) => known.label(),
        None => name,
    };
    format!("{name} {stat}").trim_end().to_owned()
}

/// A severity.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Minor => "minor",
        Severity::Major => "major",
        Severity::Critical => "critical",
    }
}

/// What is missing, and why.
pub(crate) fn missing(missing: &Missing) -> String {
    let why = match &missing.why {
        Why::NotGiven => "not given".into(),
        Why::NotExposed => "not exposed by what was given".into(),
        Why::TooFew { have, need } => format!("too few samples: {have} of {need}"),
        Why::Stale => "too old for the window".into(),
        Why::ZeroDenominator => "its denominator did not grow".into(),
        Why::TooShort => "the window is too short".into(),
        Why::Mixed => "other traffic is inside".into(),
        Why::Unreadable => "unreadable".into(),
    };
    format!("{} ({why})", missing.what)
}

/// What a command costs a deployment.
pub(crate) fn cost(requests: u32) -> String {
    match requests {
        0 => "sends nothing".into(),
        n => format!("sends {}", number::counted(u64::from(n), "request")),
    }
}

/// What a side is called in a figure: where there is no other it is no candidate, but the run that was measured.
pub(crate) fn side(figures: &Figures, role: Role) -> &'static str {
    if has_base(figures) { role.name() } else { "run" }
}

/// Whether any figure shows a base.
pub(crate) fn has_base(figures: &Figures) -> bool {
    figures.distributions.iter().any(|row| row.base.is_some())
        || figures.timelines.iter().any(|row| row.side == Role::Base)
}

/// Where a run's rows come from.
pub(crate) fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Measured => "measured".into(),
        Origin::Simulated => "simulated".into(),
        Origin::Observed => "observed".into(),
        Origin::Imported { tool } => format!("read from {tool}"),
    }
}

/// How much of a difference a finding explains.
pub(crate) fn explained(e: &Explained) -> String {
    let (part, whole) = (number::value(e.explained, &e.unit), number::value(e.delta, &e.unit));
    if e.explained.abs() >= e.delta.abs() && e.explained * e.delta > 0.0 {
        return format!("explains all of the {whole} change in {} ({part} by {})", e.metric, e.basis);
    }
    format!("explains {part} of the {whole} change in {} (by {})", e.metric, e.basis)
}

/// What a finding that is there comes to, for the top of a page: its supported causes, else the symptom.
pub(crate) fn found(finding: &Finding) -> Option<(&'static str, String)> {
    let Outcome::Present { causes, .. } = &finding.outcome else { return None };
    let supported: Vec<&str> = causes
        .iter()
        .filter_map(|cause| match cause {
            Cause::Supported { means, .. } => Some(means.as_str()),
            _ => None,
        })
        .collect();
    let name = format!("finding {} {}", finding.code, finding.slug);
    Some(match supported.as_slice() {
        [] => ("found", format!("{} ({name}, cause open)", finding.symptom)),
        _ => ("cause", format!("{} ({name})", supported.join("; "))),
    })
}

/// Why a run did not end as planned, if it did not.
pub(crate) fn interrupted(state: &RunState) -> Option<&str> {
    match state {
        RunState::Complete => None,
        RunState::Interrupted { reason } => Some(reason),
    }
}
