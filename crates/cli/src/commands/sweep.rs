//! `firstcheck sweep`: the rate at which the objective breaks.

use super::{
    ab::sides::{Named, one, words},
    prepared::{Asked, Prepared, folder, prepare},
    run::interrupt,
};
use crate::{
    app::Context,
    args::SweepArgs,
    config::Config,
    output::{self, Output},
    progress,
};
use anyhow::{Context as _, bail};
use firstcheck_analyze::sweep::CurvePolicy;
use firstcheck_experiment::{
    ab::{START_S, SideSection},
    ledger::Begun,
    plan::{WarmUp, warm_up},
    rig::TraceError,
    sweep::{Search, SweepOptions, plan, sweep},
    target::Target,
};
use firstcheck_load::Stop;
use firstcheck_model::{
    exit_code::{FINE, exit_code},
    unit::Seconds,
};
use firstcheck_workload::arrivals::ArrivalProcess;
use std::{fmt::Write as _, rc::Rc};

/// Fewest runs behind an interval.
const LEAST_RUNS: u32 = 6;
/// Rate of the first run where none is given.
const FIRST_RATE: f64 = 1.0;

/// Sweeps and reports.
///
/// # Errors
/// Arguments that do not go together, a workload that cannot be made, a deployment that would not start, a folder that
/// cannot be written or is of another sweep.
pub fn run(args: SweepArgs, context: &Context) -> anyhow::Result<u8> {
    let output = Output::open(&args.output, &[], context.terminal)?;
    let (only_plan, stop) = (args.what.plan, Stop::default());
    let options = options(args, &context.config, stop.clone())?;
    if only_plan {
        return say(&options);
    }
    interrupt::watch(stop);
    let mut shown = progress::Experiment::new(&context.progress);
    let outcome = sweep(options, &mut |event| shown.tell(&event));
    shown.finish();
    let report = outcome?.report;
    output.write(&report)?;
    Ok(exit_code(&report, None))
}

fn options(args: SweepArgs, config: &Config, stop: Stop) -> anyhow::Result<SweepOptions> {
    let target = target(&args, &config.ab.base)?;
    let SweepArgs { what, workload, arrivals, period, record, .. } = args;
    if arrivals.concurrency.is_some() {
        bail!("a closed loop has no rate that could break: leave out --concurrency");
    }
    if what.lowest >= what.highest {
        bail!("--lowest {} is not below --highest {}", what.lowest, what.highest);
    }
    let start = arrivals.rate.unwrap_or(FIRST_RATE);
    let out = folder(record.out.clone(), "sweep")?;
    let asked = Asked { workload, arrivals, period, record };
    let prepared = prepare(asked, &out, target.simulated().is_some(), config)?;
    let Prepared { seed, nonce, warm_up, offered, offer, mut policy, mut subject, .. } = prepared;
    let Some(slo) = policy.slo else { bail!("a sweep looks where an objective breaks: give --slo ttft=1s,itl=50ms") };
    if offer.window.is_none() {
        bail!("runs at other rates need one length: give --duration");
    }
    policy.gpus = what.gpus.or(policy.gpus);
    policy.cost_per_gpu_hour = what.cost_per_gpu_hour.or(policy.cost_per_gpu_hour);
    let curve = CurvePolicy {
        target_share: what.share,
        gpus: policy.gpus,
        cost_per_gpu_hour: policy.cost_per_gpu_hour,
        ..CurvePolicy::default()
    };
    let search = Search {
        start,
        lowest: what.lowest,
        highest: what.highest,
        precision: what.precision,
        least_runs: LEAST_RUNS.min(what.runs),
        most_runs: what.runs,
        curve,
    };
    let process = offered.process.unwrap_or(ArrivalProcess::Poisson { rate: start });
    if process.with_rate(start).is_none() {
        bail!("requests at times of their own have no rate that could be changed: give --arrivals poisson");
    }
    if let Some(cv) = what.length_cv.first() {
        // What is wrong with it is said now.
        offered.varied(seed, Some(*cv))?;
    }
    for (name, value) in [("target", target.to_string()), ("search", format!("{search:?}"))] {
        subject.insert(name.into(), value);
    }
    let begun = Begun { plan: plan(what.runs, seed, warm_up), subject, nonce };
    let trace = move |warm_up: Seconds, rate: f64, seed: u64, cv: Option<f64>| {
        let process = process.with_rate(rate).ok_or_else(|| TraceError::from(format!("{process} has no rate")))?;
        offered.varied(seed, cv)?.trace(warm_up, Some(process))
    };
    let trace = Rc::new(trace);
    let length_cvs = what.length_cv;
    Ok(SweepOptions { begun, target, offer, trace, slo, search, length_cvs, policy, out, stop })
}

fn target(args: &SweepArgs, section: &SideSection) -> anyhow::Result<Target> {
    let what = &args.what;
    let start = what.start.as_deref().map_or(Ok(section.start.clone()), words)?;
    let ready_timeout_s = what.ready_timeout.map(|time| time.as_secs_f64()).or(section.ready_timeout_s);
    let section = SideSection { start, ready_timeout_s, ..section.clone() };
    let named = Named { option: "target", section: "ab.base" };
    one(named, what.target.clone(), section, args.asked.clone(), &[])
}

/// Says what it will take at most, and does nothing.
fn say(options: &SweepOptions) -> anyhow::Result<u8> {
    let (search, mixes) = (&options.search, options.length_cvs.len().max(1));
    let warm_up = match options.begun.plan.warm_up {
        WarmUp::Fixed(length) => length.0,
        WarmUp::Learnt => warm_up::LEAST_S,
    };
    let starts = options.target.server().is_some_and(|server| server.hooks.is_some());
    let window = options.offer.window.context("runs at other rates need one length: give --duration")?;
    let run = warm_up + window.as_secs_f64() + if starts { START_S } else { 0.0 };
    let runs = search.most_runs as usize * mixes;
    let clock = if options.target.simulated().is_some() { " of virtual time" } else { "" };
    let mut text = format!("target: {}\nobjective: {}\n", options.target, options.slo);
    let _ = writeln!(
        text,
        "looks for the rate up to which {:.0} % of the offered requests meet it, from {} on, between {} and {} a second",
        search.curve.target_share * 100.0,
        search.start,
        search.lowest,
        search.highest
    );
    let mixes = if mixes > 1 { format!(", for {mixes} spreads of lengths") } else { String::new() };
    let _ = writeln!(text, "runs: at most {runs}{mixes}, {:.0} min{clock}", (run * runs as f64 / 60.0).ceil());
    let _ = writeln!(text, "a run: {run:.0} s; answers that are late add to it");
    let _ = writeln!(
        text,
        "ends when the interval of the rate is ±{:.0} % or narrower, from {} runs near it on",
        search.precision * 100.0,
        search.least_runs
    );
    output::print(&text)?;
    Ok(FINE)
}
