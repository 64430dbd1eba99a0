//! One deployment by itself: its runs, and what the checks find.

use crate::{
    case::Case,
    compare::{mixed, run_row},
    diagnose::diagnose,
    judge::parameters,
    onset::{before_and_after, onset},
    settings::Settings,
    side::Side,
};
use firstcheck_model::{
    TOOL,
    evidence::Evidence,
    report::{Report, SideReport},
};

/// What `evidence` says by itself: its runs stand as `candidate`, and every check is asked.
pub fn examine(evidence: &Evidence, settings: &Settings) -> Report {
    let mut report = Report::new("diagnose", TOOL);
    let mut fingerprint = evidence.stated.clone();
    for run in &evidence.runs {
        fingerprint.merge(&run.info.fingerprint);
    }
    // One field has one value: what the runs do not agree in is said beside it.
    report.notes.extend(mixed("what was read", evidence.runs.iter().map(|run| &run.info.fingerprint)));
    report.sides.candidate = Some(SideReport { fingerprint, runs: evidence.runs.iter().map(run_row).collect() });
    report.findings = match onset(evidence, settings) {
        Some(onset) => {
            report.notes.push(onset.to_string());
            let (before, after) = before_and_after(evidence, &onset);
            let (base, side) = (Side::with(&before, settings), Side::with(&after, settings));
            diagnose(&Case { side: &side, base: Some(&base), settings })
        }
        None => diagnose(&Case { side: &Side::with(evidence, settings), base: None, settings }),
    };
    report.parameters.extend(parameters(settings));
    report
}
