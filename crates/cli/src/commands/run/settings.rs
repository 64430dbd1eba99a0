//! Arguments and configuration become what a run is told.

use super::{
    levels::{Level, levels},
    workload::{Workload, random},
};
use crate::{
    args::{AskArgs, RecordArgs, RunArgs},
    commands::new_folder,
    config::Config,
};
use anyhow::Context as _;
use anyhow::bail;
use firstcheck_load::{Key, Limits, Options, Scrape, Spans, Target};
use firstcheck_model::{TOOL, report::Unread, run::RunId, slo::Slo};
use firstcheck_observe::{
    Address,
    otlp::{self, Receiver},
};
use firstcheck_workload::trace::Trace;
use std::{path::PathBuf, sync::Arc};

/// What a run is told.
pub(super) struct Settings {
    pub(super) target: Target,
    pub(super) levels: Vec<Level>,
    pub(super) seed: u64,
    pub(super) slo: Option<Slo>,
    workload: Workload,
    out: PathBuf,
    base: Options,
}

impl Settings {
    /// Validated settings.
    ///
    /// # Errors
    /// Arguments that do not go together, or an environment variable that holds no key.
    pub(super) fn new(args: RunArgs, config: &Config) -> anyhow::Result<Self> {
        let RunArgs { target, workload, arrivals, period, record, limits, output: _ } = args;
        let levels = levels(&arrivals, &config.workload)?;
        let workload = Workload::new(workload, &period.window, &config.workload)?;
        let seed = workload.seed;
        let slo = config.objective(record.slo);
        let mut base = Options::new(RunId(String::new()));
        TOOL.clone_into(&mut base.tool);
        base.seed = Some(seed);
        base.slo = slo;
        base.cache = workload.cache;
        base.warm_up = workload.warm_up;
        base.duration = workload.window;
        base.ramp = arrivals.ramp;
        base.drain = period.drain;
        base.shards = limits.shards.max(1);
        base.limits = Limits {
            in_flight: limits.max_in_flight,
            errors: Some(limits.max_errors),
            request: limits.timeout,
            stall: limits.stall_timeout,
            ..Limits::default()
        };
        let out = new_folder(record.out.as_deref(), "firstcheck-run")?;
        base.spans = spans(&record)?;
        base.scrape = Scrape { metrics: !record.no_metrics, interval: record.scrape_interval, pages: record.scrape };
        Ok(Self { target: self::target(target.url, target.asked)?, levels, seed, slo, workload, out, base })
    }

    /// The trace of a level, and rows of its file that were left out.
    ///
    /// # Errors
    /// A workload that cannot be made, with its file.
    pub(super) fn trace(&self, level: &Level) -> anyhow::Result<(Trace, Vec<Unread>)> {
        self.workload.trace(level.arrivals)
    }

    /// What the client is told of a level.
    pub(super) fn options(&self, level: &Level) -> Options {
        let name = self.folder(level).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Options { run: RunId(format!("{name}-{:08x}", random() as u32)), ..self.base.clone() }
    }

    /// Where spans are taken.
    pub(super) fn spans_url(&self) -> Option<String> {
        Some(self.base.spans.as_ref()?.receiver.url())
    }

    /// Where the bundle of a level goes.
    pub(super) fn folder(&self, level: &Level) -> PathBuf {
        level.folder.as_ref().map_or_else(|| self.out.clone(), |name| self.out.join(name))
    }
}

/// Listens for spans before anything is offered, so that an address that is taken is known by then.
fn spans(record: &RecordArgs) -> anyhow::Result<Option<Spans>> {
    let Some(addr) = record.otlp else { return Ok(None) };
    let receiver = Receiver::start(addr, otlp::Limits::default()).context("cannot take spans")?;
    Ok(Some(Spans { receiver: Arc::new(receiver), late: record.otlp_wait }))
}

/// A deployment at an address, asked as the arguments say.
///
/// # Errors
/// An address with a query, or an environment variable that holds no key.
pub(in crate::commands) fn target(url: Address, args: AskArgs) -> anyhow::Result<Target> {
    if url.has_query() {
        bail!("{url} has a query, which would not be sent: leave it out");
    }
    let mut target = Target::new(url);
    target.api = args.endpoint.into();
    target.model = args.model;
    target.streaming = !args.no_stream;
    target.extra_body = args.extra_body.unwrap_or_default();
    target.headers = args.header;
    target.key = args.key_env.as_deref().map(Key::from_env).transpose()?;
    target.authorities = args.ca;
    Ok(target)
}
