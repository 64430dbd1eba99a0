//! Names of things as a reader says them.

use firstcheck_model::{
    finding::Severity,
    measurement::{Missing, Why},
    metric::Metric,
    report::{Claim, MetricRow, Verdict},
    run::{Origin, RunState},
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

/// A row's name: metric, statistic unless it is the total, slice if any.
pub(crate) fn row(row: &MetricRow) -> String {
    let mut name = row.metric.label().to_owned();
    if row.stat != "total" {
        name = format!("{name} {}", row.stat.replace('_', " "));
    }
    match &row.slice {
        Some(slice) => format!("{name} ({slice})"),
        None => name,
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
        Why::Unreadable => "unreadable".into(),
    };
    format!("{} ({why})", missing.what)
}

/// Where a run's rows come from.
pub(crate) fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Measured => "measured".into(),
        Origin::Simulated => "simulated".into(),
        Origin::Imported { tool } => format!("read from {tool}"),
    }
}

/// Why a run did not end as planned, if it did not.
pub(crate) fn interrupted(state: &RunState) -> Option<&str> {
    match state {
        RunState::Complete => None,
        RunState::Interrupted { reason } => Some(reason),
    }
}
