//! `firstcheck sim run`: a whole run in virtual time.

use super::deployment::{deployment, faults};
use crate::{
    app::Context,
    args::{ArrivalArgs, CacheArg, SaltArg, SimArrivalArgs, SimRecordArgs, SimRunArgs, WorkloadArgs},
    commands::{
        new_folder,
        run::{levels::levels, workload::Workload},
    },
    output,
};
use anyhow::{Context as _, bail};
use firstcheck_experiment::simulated;
use firstcheck_model::{exit_code::FINE, request::Fate, unit::Seconds};
use firstcheck_sim::{SimulateOptions, Simulated, fault, simulate::Artefacts};
use firstcheck_workload::{arrivals::ArrivalProcess, spec::Spec, trace::Trace};
use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// Requests a second of a synthetic workload that says nothing of its arrivals.
const DEFAULT_RATE: f64 = 4.0;
/// Seed where none is given: equal arguments give equal bundles.
const DEFAULT_SEED: u64 = 1;

/// Simulates, writes the bundle and the truth, and says what was done.
///
/// # Errors
/// A deployment that would not start, a workload that cannot be made, a folder or file that cannot be written.
pub(super) fn run(args: SimRunArgs, context: &Context) -> anyhow::Result<u8> {
    let SimRunArgs { deployment: of, faults: wrong, workload, arrivals, record } = args;
    let (deployment, faults) = (deployment(&of)?, faults(&wrong)?);
    let out = new_folder(record.out.as_deref(), "firstcheck-sim")?;
    let truth = record.truth.clone().unwrap_or_else(|| beside(&out));
    if truth.exists() {
        bail!("{} is there already: name another file with --truth", truth.display());
    }
    let workload = offered(workload, &record, &context.config.workload)?;
    let process = process(&arrivals, &workload, &context.config.workload)?;
    let (trace, unread) = workload.trace(process)?;
    let slo = context.config.objective(record.slo);
    let options = SimulateOptions { slo, ..options(&workload, &record, &out) };
    let set_up = if wrong.healthy { fault::healthy } else { fault::scenario };
    let scenario = set_up(&deployment, &trace, &faults)?;
    let simulated = simulated::record(&scenario, &trace, &options)?;
    simulated::write(&out, &simulated)?;
    let text = serde_json::to_string_pretty(&simulated.truth).context("cannot write the truth")?;
    fs::write(&truth, text + "\n").with_context(|| format!("cannot write {}", truth.display()))?;
    let mut said = said(&simulated, &trace, deployment.replicas.len());
    for row in &unread {
        let _ = writeln!(said, "left out: {}: {}", row.path, row.reason);
    }
    let _ = writeln!(said, "bundle: {}\ntruth: {}", out.display(), truth.display());
    output::print(&said)?;
    Ok(FINE)
}

fn beside(out: &Path) -> PathBuf {
    let mut name = out.file_name().map_or_else(|| OsString::from("run"), ToOwned::to_owned);
    name.push(".truth.json");
    out.with_file_name(name)
}

/// The workload. A simulated cache is always cold: a salt would only make equal arguments give other prompts.
fn offered(mut args: WorkloadArgs, record: &SimRecordArgs, configured: &Spec) -> anyhow::Result<Workload> {
    if args.salt == SaltArg::Auto {
        args.salt = SaltArg::None;
        args.cache = args.cache.or(Some(CacheArg::Cold));
    }
    args.seed = args.seed.or(Some(DEFAULT_SEED));
    Workload::new(args, &record.window, configured)
}

pub(in crate::commands) fn process(
    args: &SimArrivalArgs,
    workload: &Workload,
    configured: &Spec,
) -> anyhow::Result<Option<ArrivalProcess>> {
    let silent = args.rate.is_none() && args.concurrency.is_none() && configured.arrivals.is_none();
    let arrivals = ArrivalArgs {
        rate: if silent && workload.is_synthetic() { Some(DEFAULT_RATE) } else { args.rate },
        arrivals: args.arrivals,
        concurrency: args.concurrency,
        sweep_rate: Vec::new(),
        sweep_concurrency: Vec::new(),
        ramp: Duration::ZERO,
    };
    Ok(levels(&arrivals, configured)?.into_iter().next().and_then(|level| level.arrivals))
}

fn options(workload: &Workload, record: &SimRecordArgs, out: &Path) -> SimulateOptions {
    let name = out.file_name().map_or_else(|| "sim".into(), |name| name.to_string_lossy().into_owned());
    let mut options = SimulateOptions::new(workload.seed, format!("{name}-{}", workload.seed));
    options.warm_up = Seconds(workload.warm_up.as_secs_f64());
    options.scrape_interval = Seconds(record.scrape_interval.as_secs_f64());
    let end = workload.window.map(|window| workload.warm_up + window);
    options.window_end = end.map(|end| firstcheck_model::moment::Moment::from_seconds(end.as_secs_f64()));
    options.events = !record.no_events;
    // A line a step is much of a file and seldom asked for.
    options.artefacts = Artefacts { steps: false, ..Artefacts::ALL };
    options
}

/// What was done, in a few lines.
fn said(simulated: &Simulated, trace: &Trace, replicas: usize) -> String {
    let (requests, truth) = (&simulated.recording.requests.0, &simulated.truth);
    let prompts: u64 = requests.iter().filter_map(|request| request.prompt_tokens).map(u64::from).sum();
    let mut text = format!(
        "{} requests in {:.1} s of virtual time on {replicas} replica{}: {}\n",
        requests.len(),
        truth.end_ns as f64 * 1e-9,
        if replicas == 1 { "" } else { "s" },
        trace.description,
    );
    let fates = Fate::ALL.map(|fate| (fate, requests.iter().filter(|request| request.fate == fate).count()));
    let fates: Vec<String> =
        fates.iter().filter(|(_, n)| *n > 0).map(|(fate, n)| format!("{n} {}", fate.name())).collect();
    let _ = writeln!(text, "ended: {}", fates.join(", "));
    let _ = writeln!(
        text,
        "tokens: {prompts} prompt, {} generated, {} computed again; {} preemptions; {} steps",
        truth.generation_tokens, truth.recomputed_tokens, truth.preemptions, truth.steps,
    );
    for fault in &truth.faults {
        let _ = writeln!(text, "fault: {} ({}, {})", fault.fault, fault.symptom, fault.cause);
    }
    text
}
