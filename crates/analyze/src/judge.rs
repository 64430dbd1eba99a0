//! Compares two sides and asks every check about the difference.

use crate::{
    case::Case,
    compare::{Policy, Told, compare_told},
    diagnose::diagnose,
    figures::figures,
    settings::{self, Settings},
    side::Side,
};
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    report::{Parameter, Report},
    run::Role,
};
use std::path::Path;

/// The comparison of `base` and `candidate`, with what the checks find on the candidate against the base.
pub fn judge(base: &Evidence, candidate: &Evidence, policy: &Policy, settings: &Settings) -> Report {
    let told = |role, run: &RunEvidence| {
        let side = if role == Role::Base { base } else { candidate };
        // What is saved beside a run's tables is told by its path.
        Told::of(side.logs.iter().filter(|log| Path::new(&log.label).starts_with(&run.label)))
    };
    let mut report = compare_told(&base.runs, &candidate.runs, &told, policy);
    report.figures = figures(&base.runs, &candidate.runs);
    let (base, candidate) = (Side::with(base, settings), Side::with(candidate, settings));
    report.findings = diagnose(&Case { side: &candidate, base: Some(&base), settings });
    report.parameters.extend(parameters(settings));
    report
}

/// Every threshold as it is in force, under `check.<section>.<parameter>`.
pub fn parameters(settings: &Settings) -> impl Iterator<Item = (String, Parameter)> {
    settings::parameters().map(move |(section, p)| {
        let value = settings.value(section, p.name, p.default);
        let parameter = Parameter { value, unit: p.unit.into(), meaning: p.meaning.into() };
        (format!("check.{section}.{}", p.name), parameter)
    })
}
