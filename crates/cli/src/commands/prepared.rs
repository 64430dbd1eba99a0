//! What several verbs prepare alike before an experiment: its folder, seed, salt, workload and policy.

use super::{
    free_folder, is_used,
    run::workload::{Workload, random},
    sim::run::process,
};
use crate::{
    args::{AbPeriodArgs, AbRecordArgs, CacheArg, SaltArg, SimArrivalArgs, WindowArgs, WorkloadArgs},
    config::Config,
};
use anyhow::bail;
use firstcheck_analyze::compare::Policy;
use firstcheck_experiment::{
    drive::LEDGER,
    ledger::LedgerFile,
    plan::WarmUp,
    rig::{Offer, TraceError},
};
use firstcheck_model::{report::Unread, slo::Slo, unit::Seconds};
use firstcheck_workload::{arrivals::ArrivalProcess, trace::Trace};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};

/// Seed of simulated deployments where none is given: equal arguments give equal bundles.
const DEFAULT_SEED: u64 = 1;

/// What the arguments of an experiment say, whatever it compares.
pub(super) struct Asked {
    pub workload: WorkloadArgs,
    pub arrivals: SimArrivalArgs,
    pub period: AbPeriodArgs,
    pub record: AbRecordArgs,
}

/// What every experiment has.
pub(super) struct Prepared {
    pub seed: u64,
    pub nonce: Option<String>,
    pub warm_up: WarmUp,
    pub offered: Offered,
    pub offer: Offer,
    pub policy: Policy,
    /// What tells the experiment from another, in words, but for its deployments.
    pub subject: BTreeMap<String, String>,
    pub unread: Vec<Unread>,
}

/// The workload, of which traces can be made.
#[derive(Clone)]
pub(super) struct Offered {
    workload: Rc<Workload>,
    pub process: Option<ArrivalProcess>,
}

impl Offered {
    /// The trace that covers a warm-up of that length, as `process` says.
    ///
    /// # Errors
    /// A workload that cannot be made.
    pub fn trace(&self, warm_up: Seconds, process: Option<ArrivalProcess>) -> Result<Trace, TraceError> {
        let length = Duration::try_from_secs_f64(warm_up.0)?;
        Ok(self.workload.trace_after(length, process)?.0)
    }

    /// The same workload drawn with another seed, and with another spread of its lengths where one is given.
    pub fn varied(&self, seed: u64, length_cv: Option<f64>) -> anyhow::Result<Self> {
        Ok(Self { workload: Rc::new(self.workload.varied(seed, length_cv)?), process: self.process })
    }
}

/// Prepares an experiment in `out`. `simulated`: all of its deployments are.
///
/// # Errors
/// A workload that cannot be made, or a ledger that cannot be read.
pub(super) fn prepare(asked: Asked, out: &Path, simulated: bool, config: &Config) -> anyhow::Result<Prepared> {
    let Asked { workload, arrivals, period: asked_period, record } = asked;
    let earlier = LedgerFile::peek(&out.join(LEDGER))?;
    let fresh_seed = || if simulated { DEFAULT_SEED } else { random() & 0xffff_ffff };
    let seed = workload.seed.or(earlier.as_ref().map(|begun| begun.plan.seed)).unwrap_or_else(fresh_seed);
    let nonce = match &workload.salt {
        SaltArg::Auto if simulated => None,
        SaltArg::Auto => {
            earlier.and_then(|begun| begun.nonce).or_else(|| Some(format!("{:012x}", random() & 0xffff_ffff_ffff)))
        }
        SaltArg::None => None,
        SaltArg::Text(text) => Some(text.clone()),
    };
    let period = period(&asked_period);
    let workload = Workload::new(seeded(workload, seed), &period, &config.workload)?;
    let process = process(&arrivals, &workload, &config.workload)?;
    // Made once before anything is started: what is wrong with it is said now.
    let (_, unread) = workload.trace(process)?;
    let policy = config.policy(record.slo);
    let subject = subject(&workload, process, policy.slo)?;
    let (window, cache) = (workload.window, workload.cache);
    let offered = Offered { workload: Rc::new(workload), process };
    let traced = offered.clone();
    let offer = Offer {
        trace: Rc::new(move |warm_up| traced.trace(warm_up, process)),
        window,
        slo: policy.slo,
        load: record.load,
        cache,
        drain: asked_period.drain,
        scrape_interval: record.scrape_interval,
    };
    let warm_up = period.warm_up.map_or(WarmUp::Learnt, |length| WarmUp::Fixed(Seconds(length.as_secs_f64())));
    Ok(Prepared { seed, nonce, warm_up, offered, offer, policy, subject, unread })
}

/// A new folder, or one with a ledger, which then goes on. Without `out` a free one of that name.
///
/// # Errors
/// A folder of something else.
pub(super) fn folder(out: Option<PathBuf>, verb: &str) -> anyhow::Result<PathBuf> {
    let Some(out) = out else { return free_folder(Path::new(""), &format!("firstcheck-{verb}")) };
    if is_used(&out) && !out.join(LEDGER).exists() {
        bail!("{} is neither empty nor of an earlier {verb}: name a new folder with --out", out.display());
    }
    Ok(out)
}

/// The window that the arguments of an experiment ask for.
pub(super) fn period(args: &AbPeriodArgs) -> WindowArgs {
    WindowArgs { duration: args.duration, requests: args.requests, warm_up: args.warm_up }
}

fn subject(
    workload: &Workload,
    process: Option<ArrivalProcess>,
    slo: Option<Slo>,
) -> anyhow::Result<BTreeMap<String, String>> {
    let window = workload.window.map_or_else(|| "to the end".into(), |window| format!("{window:?}"));
    let arrivals = process.map_or_else(|| "as the workload says".into(), |process| process.to_string());
    let slo = slo.map_or_else(|| "none".into(), |slo| slo.to_string());
    let all = [("workload", workload.described()?), ("arrivals", arrivals), ("window", window), ("slo", slo)];
    Ok(all.map(|(name, value)| (name.to_owned(), value)).into())
}

/// What is offered. Prompts are salted a run where servers outlive it, not here.
fn seeded(mut args: WorkloadArgs, seed: u64) -> WorkloadArgs {
    if args.salt != SaltArg::None {
        args.cache = args.cache.or(Some(CacheArg::Cold));
    }
    args.salt = SaltArg::None;
    args.seed = Some(seed);
    args
}
