//! Which way each metric of a comparison went.

use crate::compare::policy::Policy;
use firstcheck_model::{
    fingerprint::Fingerprint,
    metric::Metric,
    report::{Claim, MetricRow, Quantity, Report, Verdict},
};

/// Which way a metric went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    /// It rose.
    Up,
    /// It fell.
    Down,
    /// It stayed, as far as a signature counts.
    Stayed,
    /// The interval allows more than one of these.
    Unclear,
}

/// A comparison as signatures read it: the rows over all requests, of one cell where there are several.
pub(super) struct Changes<'r> {
    report: &'r Report,
    cell: Option<&'r str>,
    pub policy: &'r Policy,
}

impl<'r> Changes<'r> {
    /// The rows of the first cell that fails, else of the first.
    pub fn of(report: &'r Report, policy: &'r Policy) -> Self {
        let failing = report.cells.iter().find(|cell| cell.verdict == Verdict::Fail);
        let cell = failing.or(report.cells.first()).map(|cell| cell.cell.as_str());
        Self { report, cell, policy }
    }

    /// Whether the rows come from a design that only shows effects.
    pub fn exploratory(&self) -> bool {
        self.report.metrics.iter().all(|row| row.exploratory)
    }

    /// The first of these statistics that both sides have.
    pub fn row(&self, wanted: &[(Metric, &str)]) -> Option<&'r MetricRow> {
        wanted.iter().find_map(|(metric, stat)| {
            let is_wanted = |row: &&MetricRow| {
                row.metric == *metric
                    && row.stat == *stat
                    && row.slice.is_none()
                    && row.cell.as_deref() == self.cell
                    && row.claim != Claim::NotComparable
            };
            self.report.metrics.iter().find(is_wanted).filter(|row| row.base.is_some() && row.candidate.is_some())
        })
    }

    /// Which way a row went. With an interval it has to exclude no change; without one the change has to be large.
    pub fn went(&self, row: &MetricRow) -> Went {
        let ratio = match row.ratio {
            Some(Quantity::Finite(ratio)) => ratio,
            Some(Quantity::Unbounded) => return Went::Up,
            None => return self.without_ratio(row),
        };
        let ends = row.interval.and_then(|[lo, hi]| lo.finite().zip(hi.finite()));
        let least = if ends.is_some() { self.policy.signature_change } else { self.policy.signature_shown };
        let (up, down) = (1.0 + least, 1.0 / (1.0 + least));
        match ends {
            _ if ratio < up && ratio > down => Went::Stayed,
            Some((lo, hi)) if lo <= 1.0 && hi >= 1.0 => Went::Unclear,
            _ if ratio >= up => Went::Up,
            _ => Went::Down,
        }
    }

    /// From nothing to something there is no ratio.
    fn without_ratio(&self, row: &MetricRow) -> Went {
        match (row.base.and_then(Quantity::finite), row.candidate.and_then(Quantity::finite)) {
            (Some(b), Some(c)) if b <= 0.0 && c > 0.0 => Went::Up,
            (Some(_), Some(_)) => Went::Stayed,
            _ => Went::Unclear,
        }
    }

    /// candidate − base, in the row's unit.
    pub fn delta(row: &MetricRow) -> Option<f64> {
        Some(row.candidate?.finite()? - row.base?.finite()?)
    }

    /// The fingerprints of base and candidate.
    pub fn deployments(&self) -> Option<(&'r Fingerprint, &'r Fingerprint)> {
        let sides = &self.report.sides;
        Some((&sides.base.as_ref()?.fingerprint, &sides.candidate.as_ref()?.fingerprint))
    }
}

/// `TTFT mean rose by 50 %`, with its interval where there is one.
pub(super) fn said(row: &MetricRow, went: Went) -> String {
    let name = super::super::rows::name(row.metric, &row.stat);
    let change = |quantity: Quantity| quantity.finite().map(super::super::rows::change);
    let by = match (row.ratio.and_then(change), row.interval.and_then(|[lo, hi]| change(lo).zip(change(hi)))) {
        (Some(ratio), Some((lo, hi))) => format!(": {ratio} % ({lo} … {hi})"),
        (Some(ratio), None) => format!(": {ratio} %"),
        (None, _) => String::new(),
    };
    let verb = match went {
        Went::Up => "rose",
        Went::Down => "fell",
        Went::Stayed => "stayed",
        Went::Unclear => "cannot be told",
    };
    format!("{name} {verb}{by}")
}
