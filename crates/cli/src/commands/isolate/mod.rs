//! `firstcheck isolate`: which factor, or which version.

mod factors;
mod plan;
mod versions;

use super::{
    ab::sides::{Named, one, words},
    prepared::{Asked, Prepared, folder, prepare},
    run::interrupt,
};
use crate::{app::Context, args::IsolateArgs, config::Config, output::Output, progress};
use anyhow::{Context as _, bail};
use firstcheck_analyze::isolate::Key;
use firstcheck_experiment::{
    ab::SideSection,
    calibration::Calibrations,
    event::Event,
    isolate::{Value, factors as run_factors, versions as run_versions},
    target::Target,
};
use firstcheck_load::Stop;
use firstcheck_model::exit_code::exit_code;
use std::path::PathBuf;

/// What both ways of isolating have.
struct Common {
    out: PathBuf,
    prepared: Prepared,
    key: Option<Key>,
    stop: Stop,
}

/// Takes it apart and reports.
///
/// # Errors
/// Arguments that do not go together, a workload that cannot be made, a deployment that would not start, a folder that
/// cannot be written or is of another experiment.
pub fn run(args: IsolateArgs, context: &Context) -> anyhow::Result<u8> {
    let output = Output::open(&args.output, &[], context.terminal)?;
    let fail_on = args.fail_on;
    let known = Calibrations::read(&args.what.calibration)?;
    let stop = Stop::default();
    let listed = versions::listed(&args.what, &context.config.isolate)?;
    let only_plan = args.what.plan;
    let isolated = if listed.is_empty() {
        let options = factors::options(args, &context.config, stop.clone())?;
        if only_plan {
            return plan::of_factors(&options, &known);
        }
        watched(context, stop, |tell| Ok(run_factors(options, tell)?))?
    } else {
        let options = versions::options(args, listed, &context.config, stop.clone())?;
        if only_plan {
            return plan::of_versions(&options, &known);
        }
        watched(context, stop, |tell| Ok(run_versions(options, tell)?))?
    };
    let code = exit_code(&isolated.report, fail_on.map(Into::into));
    output.write(&isolated.report)?;
    Ok(code)
}

/// Runs with progress, until a user ends it.
fn watched<T>(
    context: &Context,
    stop: Stop,
    run: impl FnOnce(&mut dyn FnMut(Event)) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    interrupt::watch(stop);
    let mut shown = progress::Experiment::new(&context.progress);
    let outcome = run(&mut |event| shown.tell(&event));
    shown.finish();
    outcome
}

/// The deployment as arguments and configuration describe it, before anything is filled in.
fn template(args: &IsolateArgs, config: &Config) -> anyhow::Result<SideSection> {
    let section = &config.isolate.deployment;
    let start = args.what.start.as_deref().map_or(Ok(section.start.clone()), words)?;
    let target = args.what.target.clone().or_else(|| section.target.clone());
    if target.is_none() {
        bail!(
            "no deployment: give --target an address or sim:, or write target in [isolate.deployment] of firstcheck.toml"
        );
    }
    let ready_timeout_s = args.what.ready_timeout.map(|time| time.as_secs_f64()).or(section.ready_timeout_s);
    Ok(SideSection { target, start, ready_timeout_s, ..section.clone() })
}

/// The deployment with `values` filled in.
fn deployment(template: &SideSection, values: &[Value], args: &IsolateArgs) -> anyhow::Result<Target> {
    let named = Named { option: "target", section: "isolate.deployment" };
    let what = || values.iter().map(|value| format!("{} {}", value.name, value.value)).collect::<Vec<_>>().join(", ");
    let filled = template.filled(values)?;
    one(named, None, filled, args.asked.clone(), &[]).with_context(|| format!("the deployment of {}", what()))
}

/// The rest of the arguments, which both ways of isolating use alike.
fn common(args: IsolateArgs, targets: &[Target], config: &Config, stop: Stop) -> anyhow::Result<Common> {
    let out = folder(args.record.out.clone(), "isolate")?;
    let simulated = targets.iter().all(|target| target.simulated().is_some());
    let IsolateArgs { what, workload, arrivals, period, record, .. } = args;
    let prepared = prepare(Asked { workload, arrivals, period, record }, &out, simulated, config)?;
    let key = what.metric.map(|key| Key { metric: key.metric, stat: key.stat });
    Ok(Common { out, prepared, key, stop })
}
