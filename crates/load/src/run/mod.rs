//! One run: from a trace and a deployment to a finished bundle.

mod finish;
mod host;
mod observation;
mod spans;
mod threads;

use crate::{
    error::Error,
    options::{Options, Target},
    progress::{Control, Counters},
    protocol::request::Renderer,
    record::journal::Journal,
    schedule::plan::Plan,
    secrets::Secrets,
    shard::Common,
    wire::peer::Peer,
};
use firstcheck_bundle::Writer;
use firstcheck_model::{
    fingerprint::field,
    run::{Clock, ClockKind, Origin, RunId, RunInfo, WorkloadInfo},
    unit::Seconds,
};
use firstcheck_observe::{Identity, otlp::Tally};
use firstcheck_workload::{hash::trace_hash, trace::Trace};
use observation::Observation;
use spans::Hearing;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicUsize},
};

/// What a run leaves behind.
#[derive(Debug)]
pub struct Finished {
    /// The bundle.
    pub dir: PathBuf,
    /// Its description, with what the client found out about itself.
    pub info: RunInfo,
    /// How many requests failed, by what failed.
    pub failures: BTreeMap<String, u64>,
    /// What became of exported spans, where they were listened to.
    pub spans: Option<Tally>,
    /// CPU time of the busiest event loop inside the window, and the events that all of them received in it.
    pub cost: Cost,
}

/// What the window cost the client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// CPU time of the busiest event loop.
    pub cpu: Seconds,
    /// Length of the window as that loop saw it.
    pub window: Seconds,
    /// Events received in it.
    pub events: u64,
}

/// Offers `trace` to `target` and writes the bundle into `dir`, which must be new or empty.
///
/// Blocks until the run has ended; its threads are its own. What befalls single requests is recorded with them. A run
/// that ends early (`control`, too many errors, a full disk) is an interrupted bundle, not an error.
///
/// # Errors
/// Any [`Error`]: the run could not be made at all, or its bundle not be finished.
pub fn run(
    trace: &Arc<Trace>,
    target: &Target,
    options: &Options,
    dir: &Path,
    control: &Control,
) -> Result<Finished, Error> {
    let plan = Plan::new(trace)?;
    let host_load = host::load();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let observation = Observation::new(target, options)?;
    let (identity, mut warnings) = runtime.block_on(observation.identify(target));
    let model = model(target, identity.as_ref(), &warnings)?;
    let renderer = Renderer::new(target, &model, &options.run.0, trace.salt.as_deref())?;
    let tls = match target.address.is_tls() {
        true => Some(firstcheck_observe::tls::client_config(target.authorities.as_deref())?),
        false => None,
    };
    let peer = runtime.block_on(Peer::resolve(&target.address, tls))?;

    let mut info = describe(trace, target, options);
    if let Some(identity) = &identity {
        info.fingerprint = identity.fingerprint.clone();
    }
    info.fingerprint.set(field::MODEL, model, "run");
    let mut writer = Writer::create(dir, &info)?;
    for page in identity.iter().flat_map(|identity| &identity.pages) {
        writer.attach(&page.name, page.bytes.as_slice())?;
    }

    let stop = control.stop.clone();
    let journal = Journal::start(
        writer,
        trace.len(),
        threads::window_start(options),
        Box::new(move |reason| stop.interrupt(reason)),
    )?;
    let common = Arc::new(Common {
        trace: Arc::clone(trace),
        plan,
        renderer,
        peer,
        options: options.clone(),
        streaming: target.streaming,
        secrets: Secrets::of(target),
        stop: control.stop.clone(),
        counters: Counters::default(),
        next_when_free: AtomicUsize::new(0),
    });
    let hearing = options.spans.as_ref().map(|spans| Hearing::start(spans, journal.inlet()));
    let outcome = threads::drive(&common, &journal, &observation, &runtime, control, &info);
    let heard = hearing.filter(|_| outcome.is_ok()).map(|hearing| hearing.end(&control.stop));
    let written = journal.finish().ok_or(Error::Panicked { thread: "journal" })?;
    let (driven, clock) = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            written.writer.abort(&error.to_string())?;
            return Err(error);
        }
    };
    warnings.extend(driven.notes.iter().map(|(page, (times, why))| format!("page {page} failed {times} times: {why}")));
    if let (Some(spans), Some(tally)) = (&options.spans, &heard) {
        warnings.extend(spans::warnings(spans, tally));
    }
    info.warnings = warnings;
    info.clock = clock;
    let finished = finish::finish(&common, driven, written, info, host_load)?;
    Ok(Finished { spans: heard, ..finished })
}

/// What the deployment says it is, asked with the target's headers and key.
///
/// # Errors
/// A target that cannot be asked, or that answers nothing.
pub fn identify(target: &Target) -> Result<Identity, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let observation = Observation::new(target, &Options::new(RunId(String::new())))?;
    let (identity, notes) = runtime.block_on(observation.identify(target));
    identity.ok_or_else(|| Error::NoAnswer { address: target.address.to_string(), notes: notes.join("; ") })
}

fn model(target: &Target, identity: Option<&Identity>, notes: &[String]) -> Result<String, Error> {
    let said = || identity?.fingerprint.get(field::MODEL).map(str::to_owned);
    let missing = || {
        let notes = if notes.is_empty() { "/v1/models names none".to_owned() } else { notes.join("; ") };
        Error::NoModel { address: target.address.to_string(), notes }
    };
    target.model.clone().or_else(said).ok_or_else(missing)
}

fn describe(trace: &Trace, target: &Target, options: &Options) -> RunInfo {
    let workload = WorkloadInfo {
        description: trace.description.clone(),
        arrivals: trace.arrivals.clone(),
        trace_hash: Some(trace_hash(trace)),
        salt: trace.salt.clone(),
        streaming: Some(target.streaming),
        warm_up: Some(Seconds(options.warm_up.as_secs_f64())),
        cache: options.cache,
    };
    let clock = Clock { started_unix_ns: None, kind: ClockKind::Real };
    let mut info = RunInfo::new(options.run.clone(), options.tool.clone(), Origin::Measured, clock, workload);
    info.seed = options.seed;
    info.place = options.place.clone();
    info.slo = options.slo;
    info.load = options.load;
    info
}
