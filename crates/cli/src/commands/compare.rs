//! `firstcheck compare`: two sides, the checks, one report.

use super::reading;
use crate::{app::Context, args::CompareArgs, output::Output};
use firstcheck_analyze::judge::judge;
use firstcheck_experiment::{
    ab::side,
    calibration::{Calibrations, annotate, mix},
};
use firstcheck_model::exit_code::exit_code;

/// Compares and reports.
///
/// # Errors
/// Paths that are not there or hold no run, or a destination that cannot be written.
pub fn run(args: CompareArgs, context: &Context) -> anyhow::Result<u8> {
    let output =
        Output::open(&args.output, &[args.base.as_slice(), args.candidate.as_slice()].concat(), context.terminal)?;
    let spinner = context.progress.spinner();
    spinner.set_message("reading both sides");
    let base = reading::runs(&args.base)?;
    let candidate = reading::runs(&args.candidate)?;
    spinner.set_message("comparing");
    let policy = context.config.policy(args.slo);
    let (mut unread, more) = (base.unread, candidate.unread);
    unread.extend(more);
    let mix = base.runs.first().map(|run| mix(&run.info.workload.description));
    let (base, candidate) = (side(base.runs), side(candidate.runs));
    let mut report = judge(&base, &candidate, &policy, &context.config.check);
    report.unread.extend(unread);
    if let Some(mix) = &mix {
        annotate(&mut report, &Calibrations::read(&args.calibration)?, mix);
    }
    spinner.finish_and_clear();
    let code = exit_code(&report, args.fail_on.map(Into::into));
    output.write(&report)?;
    Ok(code)
}
