//! `firstcheck ab`: interleaved pairs of runs, and what they say.

use super::{
    free_folder,
    run::{interrupt, workload::Workload},
    sim::{
        deployment::{deployment, faults},
        run::process,
    },
};
use crate::{
    app::Context,
    args::{AbArgs, CacheArg, PeriodArgs, SaltArg, SideArg, WorkloadArgs},
    config::Config,
    output::Output,
    progress,
};
use anyhow::{Context as _, bail};
use firstcheck_experiment::{
    ab::{AbOptions, Offer, ab},
    drive::LEDGER,
    ledger::{Begun, LedgerFile},
    plan::{Plan, WarmUp},
    target::{SimulatedTarget, Target},
};
use firstcheck_load::Stop;
use firstcheck_model::{exit_code::exit_code, unit::Seconds};
use std::path::{Path, PathBuf};

/// Seed of simulated deployments where none is given: equal arguments give equal bundles.
const DEFAULT_SEED: u64 = 1;

/// Measures both sides and reports.
///
/// # Errors
/// Arguments that do not go together, a workload that cannot be made, a deployment that would not start, a folder that
/// cannot be written or is of another experiment.
pub fn run(args: AbArgs, context: &Context) -> anyhow::Result<u8> {
    let output = Output::open(&args.output, &[], context.terminal)?;
    let fail_on = args.fail_on;
    let (options, unread) = options(args, &context.config)?;
    let out = options.out.clone();
    interrupt::watch(options.stop.clone());
    let mut shown = progress::Experiment::new(&context.progress);
    let outcome = ab(options, &mut |event| shown.tell(&event));
    shown.finish();
    let mut report = outcome?.report;
    report.unread.extend(unread);
    report.notes.push(format!(
        "bundles in {0}: firstcheck compare --base {0}/*-base --candidate {0}/*-candidate says the same again",
        out.display()
    ));
    let code = exit_code(&report, fail_on.map(Into::into));
    output.write(&report)?;
    Ok(code)
}

fn options(args: AbArgs, config: &Config) -> anyhow::Result<(AbOptions, Vec<firstcheck_model::report::Unread>)> {
    let out = folder(args.record.out)?;
    let (base, candidate) = (target(args.sides.base)?, target(args.sides.candidate)?);
    let period = PeriodArgs {
        duration: args.period.duration,
        requests: args.period.requests,
        warm_up: args.period.warm_up,
        drain: args.period.drain,
    };
    let earlier = LedgerFile::peek(&out.join(LEDGER))?;
    let seed = args.workload.seed.or(earlier.map(|begun| begun.plan.seed)).unwrap_or(DEFAULT_SEED);
    let workload = Workload::new(offered(args.workload, seed), &period, &config.workload)?;
    let process = process(&args.arrivals, &workload, &config.workload)?;
    // Made once before anything is started: what is wrong with it is said now.
    let (_, unread) = workload.trace(process)?;
    let warm_up = period.warm_up.map_or(WarmUp::Learnt, |length| WarmUp::Fixed(Seconds(length.as_secs_f64())));
    let slo = args.record.slo.or_else(|| config.slo()).or(config.compare.slo);
    let mut begun = Begun::by(Plan { warm_up, ..Plan::of_pairs(args.plan.pairs, seed) });
    begun.subject = [
        ("base", base.to_string()),
        ("candidate", candidate.to_string()),
        ("workload", workload.described()?),
        ("arrivals", process.map_or_else(|| "as the workload says".into(), |process| process.to_string())),
        ("window", workload.window.map_or_else(|| "to the end".into(), |window| format!("{window:?}"))),
        ("slo", slo.map_or_else(|| "none".into(), |slo| slo.to_string())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let window = workload.window;
    let offer = Offer {
        trace: Box::new(move |warm_up| {
            let length = std::time::Duration::try_from_secs_f64(warm_up.0)?;
            Ok(workload.trace_after(length, process)?.0)
        }),
        window,
        slo,
        load: args.record.load,
        scrape_interval: args.record.scrape_interval,
    };
    let policy = config.policy(args.record.slo);
    let settings = config.check.clone();
    Ok((AbOptions { begun, base, candidate, offer, policy, settings, out, stop: Stop::default() }, unread))
}

/// A new folder, or one with a ledger, which then goes on.
fn folder(out: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let Some(out) = out else { return free_folder(Path::new(""), "firstcheck-ab") };
    let used = std::fs::read_dir(&out).is_ok_and(|mut entries| entries.next().is_some());
    if used && !out.join(LEDGER).exists() {
        bail!("{} is neither empty nor of an earlier ab: name a new folder with --out", out.display());
    }
    Ok(out)
}

fn target(side: SideArg) -> anyhow::Result<Target> {
    match side {
        SideArg::Simulated(text, args) => {
            let context = || format!("cannot simulate sim:{text}");
            let deployment = deployment(&args.deployment).with_context(context)?;
            let faults = faults(&args.faults()).with_context(context)?;
            Ok(Target::Simulated(SimulatedTarget { text, deployment, faults }))
        }
    }
}

/// What is offered. Prompts are salted a run where servers outlive it, not here.
fn offered(mut args: WorkloadArgs, seed: u64) -> WorkloadArgs {
    if args.salt == SaltArg::Auto {
        args.salt = SaltArg::None;
        args.cache = args.cache.or(Some(CacheArg::Cold));
    }
    args.seed = Some(seed);
    args
}
