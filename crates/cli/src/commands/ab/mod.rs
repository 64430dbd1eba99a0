//! `firstcheck ab`: interleaved pairs of runs, and what they say.

mod plan;
mod sides;

use super::{
    free_folder, is_used,
    run::{
        interrupt,
        workload::{Workload, random},
    },
    sim::run::process,
};
use crate::{
    app::Context,
    args::{AbArgs, AbPeriodArgs, CacheArg, PlanArgs, SaltArg, WindowArgs, WorkloadArgs},
    config::Config,
    output::Output,
    progress,
};
use anyhow::bail;
use firstcheck_experiment::{
    ab::{AbOptions, AbOutcome, ab},
    calibration::{Calibrations, annotate},
    drive::LEDGER,
    ledger::{Begun, LedgerFile},
    plan::{Plan, WarmUp},
    rig::Offer,
    target::Target,
};
use firstcheck_load::Stop;
use firstcheck_model::{exit_code::exit_code, report::Unread, unit::Seconds};
use firstcheck_workload::arrivals::ArrivalProcess;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Seed of simulated deployments where none is given: equal arguments give equal bundles.
const DEFAULT_SEED: u64 = 1;
/// Pairs where nothing says how many.
const DEFAULT_PAIRS: u32 = 8;
/// Looks of `--sequential` on one device, and on two.
const LOOKS: [&[u32]; 2] = [&[6, 8, 12, 16], &[8, 12, 16]];

/// Measures both sides and reports.
///
/// # Errors
/// Arguments that do not go together, a workload that cannot be made, a deployment that would not start, a folder that
/// cannot be written or is of another experiment.
pub fn run(args: AbArgs, context: &Context) -> anyhow::Result<u8> {
    let output = Output::open(&args.output, &[], context.terminal)?;
    let fail_on = args.fail_on;
    let (file, only_plan) = (args.plan.calibration.clone(), args.plan.plan);
    let mut known = Calibrations::read(&file)?;
    let (options, unread) = options(args, &context.config)?;
    if only_plan {
        return plan::say(&options, &known);
    }
    let out = options.out.clone();
    interrupt::watch(options.stop.clone());
    let mut shown = progress::Experiment::new(&context.progress);
    let outcome = ab(options, &mut |event| shown.tell(&event));
    shown.finish();
    let AbOutcome { mut report, calibration, mix, .. } = outcome?;
    report.unread.extend(unread);
    if let Some(calibration) = calibration {
        known.add(calibration);
        known.write(&file)?;
        report.notes.push(format!("how much base differs from itself is kept in {}", file.display()));
    }
    if let Some(mix) = &mix {
        annotate(&mut report, &known, mix);
    }
    report.notes.push(format!(
        "bundles in {0}: firstcheck compare --base {0}/*-base --candidate {0}/*-candidate says the same again",
        out.display()
    ));
    let code = exit_code(&report, fail_on.map(Into::into));
    output.write(&report)?;
    Ok(code)
}

fn options(args: AbArgs, config: &Config) -> anyhow::Result<(AbOptions, Vec<Unread>)> {
    let out = folder(args.record.out)?;
    let aa = args.plan.aa;
    let (base, candidate, devices) = sides::sides(args.sides, args.asked, aa, &config.ab)?;
    let earlier = LedgerFile::peek(&out.join(LEDGER))?;
    let simulated = base.simulated().is_some() && candidate.simulated().is_some();
    let fresh_seed = || if simulated { DEFAULT_SEED } else { random() & 0xffff_ffff };
    let seed = args.workload.seed.or(earlier.as_ref().map(|begun| begun.plan.seed)).unwrap_or_else(fresh_seed);
    let nonce = match &args.workload.salt {
        SaltArg::Auto if simulated => None,
        SaltArg::Auto => {
            earlier.and_then(|begun| begun.nonce).or_else(|| Some(format!("{:012x}", random() & 0xffff_ffff_ffff)))
        }
        SaltArg::None => None,
        SaltArg::Text(text) => Some(text.clone()),
    };
    let period = period(&args.period);
    let workload = Workload::new(offered(args.workload, seed), &period, &config.workload)?;
    let process = process(&args.arrivals, &workload, &config.workload)?;
    // Made once before anything is started: what is wrong with it is said now.
    let (_, unread) = workload.trace(process)?;
    let mut policy = config.policy(args.record.slo);
    let slo = policy.slo;
    let plan = plan(&args.plan, &period, devices, seed, config);
    policy.looks.clone_from(&plan.looks);
    let subject = subject(&base, &candidate, &workload, process, &slo.map_or("none".into(), |slo| slo.to_string()))?;
    let (window, cache) = (workload.window, workload.cache);
    let offer = Offer {
        trace: Box::new(move |warm_up| {
            let length = std::time::Duration::try_from_secs_f64(warm_up.0)?;
            Ok(workload.trace_after(length, process)?.0)
        }),
        window,
        slo,
        load: args.record.load,
        cache,
        drain: args.period.drain,
        scrape_interval: args.record.scrape_interval,
    };
    let begun = Begun { plan, subject, nonce };
    let settings = config.check.clone();
    Ok((AbOptions { begun, base, candidate, offer, policy, settings, out, stop: Stop::default() }, unread))
}

fn plan(args: &PlanArgs, period: &WindowArgs, devices: Vec<String>, seed: u64, config: &Config) -> Plan {
    let looks = match (args.sequential, args.looks.is_empty()) {
        (true, _) => LOOKS[usize::from(!devices.is_empty())].to_vec(),
        (false, false) => args.looks.clone(),
        (false, true) if args.pairs.is_none() && !args.aa => config.compare.looks.clone(),
        (false, true) => Vec::new(),
    };
    let pairs = looks.last().copied().or(args.pairs).or(config.ab.pairs).unwrap_or(DEFAULT_PAIRS);
    let warm_up = period.warm_up.map_or(WarmUp::Learnt, |length| WarmUp::Fixed(Seconds(length.as_secs_f64())));
    Plan { looks, devices, warm_up, same_sides: args.aa, ..Plan::of_pairs(pairs, seed) }
}

/// What tells the experiment from another, in words.
fn subject(
    base: &Target,
    candidate: &Target,
    workload: &Workload,
    process: Option<ArrivalProcess>,
    slo: &str,
) -> anyhow::Result<BTreeMap<String, String>> {
    let window = workload.window.map_or_else(|| "to the end".into(), |window| format!("{window:?}"));
    let arrivals = process.map_or_else(|| "as the workload says".into(), |process| process.to_string());
    let all = [
        ("base", base.to_string()),
        ("candidate", candidate.to_string()),
        ("workload", workload.described()?),
        ("arrivals", arrivals),
        ("window", window),
        ("slo", slo.to_owned()),
    ];
    Ok(all.map(|(name, value)| (name.to_owned(), value)).into())
}

fn period(args: &AbPeriodArgs) -> WindowArgs {
    WindowArgs { duration: args.duration, requests: args.requests, warm_up: args.warm_up }
}

/// A new folder, or one with a ledger, which then goes on.
fn folder(out: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let Some(out) = out else { return free_folder(Path::new(""), "firstcheck-ab") };
    if is_used(&out) && !out.join(LEDGER).exists() {
        bail!("{} is neither empty nor of an earlier ab: name a new folder with --out", out.display());
    }
    Ok(out)
}

/// What is offered. Prompts are salted a run where servers outlive it, not here.
fn offered(mut args: WorkloadArgs, seed: u64) -> WorkloadArgs {
    if args.salt != SaltArg::None {
        args.cache = args.cache.or(Some(CacheArg::Cold));
    }
    args.salt = SaltArg::None;
    args.seed = Some(seed);
    args
}
