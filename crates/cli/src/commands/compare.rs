//! `firstcheck compare`: two sides, the checks, one report.

use super::{case, reading};
use crate::{
    app::Context,
    args::CompareArgs,
    output::{self, Output},
};
use anyhow::bail;
use firstcheck_analyze::{compare::Policy, judge::judge};
use firstcheck_experiment::{
    ab::side,
    calibration::{Calibrations, annotate, mix},
    prediction::{is_one_trace, predict},
};
use firstcheck_model::{evidence::RunEvidence, exit_code::exit_code, report::Report, run::Role};
use std::collections::BTreeSet;

/// Sees that a side is one side of what was measured; a note where it is of several experiments.
///
/// # Errors
/// A side that holds both sides of an experiment, as a folder of pairs does.
fn side_is_one(name: &str, runs: &[RunEvidence]) -> anyhow::Result<Option<String>> {
    let places = || runs.iter().filter_map(|run| Some((run, run.info.place.as_ref()?)));
    let of = |role: Role| places().find(|(_, place)| place.role == role).map(|(run, _)| run.label.as_str());
    if let (Some(base), Some(candidate)) = (of(Role::Base), of(Role::Candidate)) {
        bail!(
            "--{name} holds runs of both sides ({base} was measured as base, {candidate} as candidate): name the runs of \
             one, as --{name} DIR/*-{name}"
        );
    }
    let experiments: BTreeSet<&str> = places().map(|(_, place)| place.experiment.as_str()).collect();
    let list: Vec<&str> = experiments.iter().copied().collect();
    Ok((list.len() > 1).then(|| {
        format!(
            "warning: {name} holds runs of {} experiments ({}): pairs are those within each; name the folders of one to \
             judge it alone",
            list.len(),
            list.join(", ")
        )
    }))
}

/// Says aloud that nothing is gated: an exit code of 0 would be taken for a pass.
pub(super) fn warn_of_no_gate(report: &mut Report, policy: &Policy) {
    if policy.all_gates().next().is_none() {
        let said = "nothing is gated (gates is empty in [compare]): an exit code of 0 is no pass";
        output::tell(&format!("warning: {said}"));
        report.notes.insert(0, format!("warning: {said}"));
    }
}

/// Compares and reports.
///
/// # Errors
/// Paths that are not there or hold no run, or a destination that cannot be written.
pub fn run(args: CompareArgs, context: &Context) -> anyhow::Result<u8> {
    let output =
        Output::open(&args.output, &[args.base.as_slice(), args.candidate.as_slice()].concat(), context.terminal)?;
    let case = args.add_case.as_deref().map(|name| case::folder(&args.cases, name)).transpose()?;
    let spinner = context.progress.spinner();
    spinner.set_message("reading both sides");
    let base = reading::runs(&args.base)?;
    let candidate = reading::runs(&args.candidate)?;
    let mut mixed: Vec<String> = side_is_one("base", &base.runs)?.into_iter().collect();
    mixed.extend(side_is_one("candidate", &candidate.runs)?);
    spinner.set_message("comparing");
    let policy = context.config.policy(args.slo);
    let (mut unread, more) = (base.unread, candidate.unread);
    unread.extend(more);
    let one_trace = match (&base.runs[..], &candidate.runs[..]) {
        ([base], [candidate]) => is_one_trace(base, candidate),
        _ => false,
    };
    let mix = base.runs.first().map(|run| mix(&run.info.workload.description));
    let (base, candidate) = (side(base.runs), side(candidate.runs));
    let mut report = judge(&base, &candidate, &policy, &context.config.check);
    report.unread.extend(unread);
    report.notes.extend(mixed);
    if let Some(mix) = &mix {
        let known = Calibrations::read(&args.calibration)?;
        if one_trace {
            predict(&mut report, &known, mix);
        }
        annotate(&mut report, &known, mix);
    }
    if let (Some(folder), Some(run)) = (case, base.runs.first()) {
        report.notes.push(case::add(&folder, run, &report, &policy)?);
    }
    spinner.finish_and_clear();
    warn_of_no_gate(&mut report, &policy);
    let code = exit_code(&report, args.fail_on.map(Into::into));
    output.write(&report)?;
    Ok(code)
}
