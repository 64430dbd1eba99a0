//! `firstcheck compare`: two sides, the checks, one report.

use super::{case, reading};
use crate::{app::Context, args::CompareArgs, output::Output};
use firstcheck_analyze::judge::judge;
use firstcheck_experiment::{
    ab::side,
    calibration::{Calibrations, annotate, mix},
    prediction::{is_one_trace, predict},
};
use firstcheck_model::exit_code::exit_code;

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
    let code = exit_code(&report, args.fail_on.map(Into::into));
    output.write(&report)?;
    Ok(code)
}
