//! `firstcheck ab`: interleaved pairs of runs, and what they say.

pub(super) mod plan;
pub(super) mod sides;

use super::{
    compare::warn_of_no_gate,
    prepared::{Asked, Prepared, folder, prepare},
    run::interrupt,
};
use crate::{
    app::Context,
    args::{AbArgs, PlanArgs},
    config::Config,
    output::Output,
    progress,
};
use firstcheck_experiment::{
    ab::{AbOptions, AbOutcome, ab},
    calibration::{Calibrations, annotate},
    ledger::Begun,
    plan::Plan,
};
use firstcheck_load::Stop;
use firstcheck_model::{exit_code::exit_code, report::Unread};

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
    let aa = args.plan.aa;
    let (file, only_plan) = (args.plan.calibration.clone(), args.plan.plan);
    let mut known = Calibrations::read(&file)?;
    let (options, unread) = options(args, &context.config)?;
    if only_plan {
        return plan::say(&options, &known);
    }
    let (out, policy) = (options.out.clone(), options.policy.clone());
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
    // Base against itself is not judged in any case.
    if !aa {
        warn_of_no_gate(&mut report, &policy);
    }
    let code = exit_code(&report, fail_on.map(Into::into));
    output.write(&report)?;
    Ok(code)
}

fn options(args: AbArgs, config: &Config) -> anyhow::Result<(AbOptions, Vec<Unread>)> {
    let out = folder(args.record.out.clone(), "ab")?;
    let aa = args.plan.aa;
    let (base, candidate, devices) = sides::sides(args.sides, args.asked, aa, &config.ab)?;
    let simulated = base.simulated().is_some() && candidate.simulated().is_some();
    let asked = Asked { workload: args.workload, arrivals: args.arrivals, period: args.period, record: args.record };
    let Prepared { seed, nonce, warm_up, offer, mut policy, mut subject, unread, .. } =
        prepare(asked, &out, simulated, config)?;
    let plan = Plan { warm_up, ..plan(&args.plan, devices, seed, config) };
    policy.looks.clone_from(&plan.looks);
    for (name, side) in [("base", &base), ("candidate", &candidate)] {
        subject.insert(name.into(), side.to_string());
    }
    let begun = Begun { plan, subject, nonce };
    let settings = config.check.clone();
    Ok((AbOptions { begun, base, candidate, offer, policy, settings, out, stop: Stop::default() }, unread))
}

fn plan(args: &PlanArgs, devices: Vec<String>, seed: u64, config: &Config) -> Plan {
    let looks = match (args.sequential, args.looks.is_empty()) {
        (true, _) => LOOKS[usize::from(!devices.is_empty())].to_vec(),
        (false, false) => args.looks.clone(),
        (false, true) if args.pairs.is_none() && !args.aa => config.compare.looks.clone(),
        (false, true) => Vec::new(),
    };
    let pairs = looks.last().copied().or(args.pairs).or(config.ab.pairs).unwrap_or(DEFAULT_PAIRS);
    Plan { looks, devices, same_sides: args.aa, ..Plan::of_pairs(pairs, seed) }
}
