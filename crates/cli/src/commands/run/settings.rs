//! Arguments and configuration become what a run is told.

use super::{
    levels::{Level, levels},
    unread,
};
use crate::{
    app::TOOL,
    args::{ApiArg, PeriodArgs, RecordArgs, RunArgs, SaltArg, TargetArgs, WorkloadArgs},
    commands::free_folder,
    config::Config,
};
use anyhow::{Context as _, bail};
use firstcheck_load::{Api, Key, Limits, Options, Scrape, Target};
use firstcheck_model::{
    report::Unread,
    run::{CacheState, RunId},
    slo::Slo,
};
use firstcheck_workload::{
    arrivals::ArrivalProcess,
    distribution::Distribution,
    spec::{Source, Spec},
    trace::Trace,
};
use std::{
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    time::Duration,
};

/// Window of a run that says neither how long nor how many.
const DEFAULT_WINDOW: Duration = Duration::from_secs(60);
/// Warm-up of a run that is bounded by time.
const DEFAULT_WARM_UP: Duration = Duration::from_secs(30);
/// Prompt and output tokens of a synthetic workload that says nothing of them.
const DEFAULT_TOKENS: (u32, u32) = (512, 128);
/// Requests a second that no stream of a closed loop exceeds: its rows have to be laid out before the run.
const FASTEST_STREAM: f64 = 20.0;

/// What a run is told.
pub(super) struct Settings {
    pub(super) target: Target,
    pub(super) levels: Vec<Level>,
    pub(super) seed: u64,
    pub(super) slo: Option<Slo>,
    spec: Spec,
    window: Option<Duration>,
    warm_up: Duration,
    cache: CacheState,
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
        let seed = workload.seed.unwrap_or_else(|| random() & 0xffff_ffff);
        let cache = match (workload.cache, &workload.salt) {
            (Some(state), _) => state.into(),
            (None, SaltArg::Auto) => CacheState::Cold,
            (None, _) => CacheState::Unknown,
        };
        let spec = spec(workload, &period, &config.workload)?;
        let by_time = period.duration.is_some() || spec.duration_s.is_some();
        let counted = spec.requests.is_some() || spec.source != Source::Synthetic;
        let window = match (period.duration, spec.duration_s) {
            (Some(window), _) => Some(window),
            (None, Some(seconds)) => {
                let window = Duration::try_from_secs_f64(seconds);
                Some(window.with_context(|| format!("[workload] duration_s is {seconds}: it must be positive"))?)
            }
            (None, None) if counted => None,
            (None, None) => Some(DEFAULT_WINDOW),
        };
        let default = if by_time || !counted { DEFAULT_WARM_UP } else { Duration::ZERO };
        let warm_up = period.warm_up.unwrap_or(default);
        let slo = record.slo.or_else(|| config.slo()).or(config.compare.slo);
        let mut base = Options::new(RunId(String::new()));
        TOOL.clone_into(&mut base.tool);
        base.seed = Some(seed);
        base.slo = slo;
        base.cache = cache;
        base.warm_up = warm_up;
        base.duration = window;
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
        let out = out(&record)?;
        base.scrape = Scrape { metrics: !record.no_metrics, interval: record.scrape_interval, pages: record.scrape };
        Ok(Self { target: self::target(target)?, levels, seed, slo, spec, window, warm_up, cache, out, base })
    }

    /// The trace of a level, and rows of its file that were left out.
    ///
    /// # Errors
    /// A workload that cannot be made, with its file.
    pub(super) fn trace(&self, level: &Level) -> anyhow::Result<(Trace, Vec<Unread>)> {
        let mut spec = self.spec.clone();
        spec.arrivals = level.arrivals;
        // The trace covers the warm-up as well.
        spec.duration_s = self.window.map(|window| (self.warm_up + window).as_secs_f64());
        if let (Some(ArrivalProcess::Closed { concurrency }), Some(seconds), None) =
            (spec.arrivals, spec.duration_s, spec.requests)
            && spec.source == Source::Synthetic
        {
            spec.requests = Some((f64::from(concurrency) * seconds * FASTEST_STREAM).ceil() as u32);
        }
        let Some(path) = spec.file.clone() else {
            let generated = spec.generate(self.seed, None).context("cannot make the workload")?;
            return Ok((generated.trace, Vec::new()));
        };
        let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut reader: Box<dyn BufRead> = Box::new(BufReader::new(file));
        let generated = spec.generate(self.seed, Some(&mut *reader));
        let generated = generated.with_context(|| format!("cannot make the workload of {}", path.display()))?;
        let skipped = generated.skipped.iter().map(|skipped| unread(&path, skipped)).collect();
        Ok((generated.trace, skipped))
    }

    /// What the client is told of a level.
    pub(super) fn options(&self, level: &Level) -> Options {
        let name = self.folder(level).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Options { run: RunId(format!("{name}-{:08x}", random() as u32)), cache: self.cache, ..self.base.clone() }
    }

    /// Where the bundle of a level goes.
    pub(super) fn folder(&self, level: &Level) -> PathBuf {
        level.folder.as_ref().map_or_else(|| self.out.clone(), |name| self.out.join(name))
    }
}

/// A number from the operating system's randomness, for a seed that is then printed.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn out(record: &RecordArgs) -> anyhow::Result<PathBuf> {
    let Some(out) = &record.out else { return free_folder(Path::new(""), "firstcheck-run") };
    let used = std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
    if used {
        bail!("{} is not empty: name a new folder with --out", out.display());
    }
    Ok(out.clone())
}

fn target(args: TargetArgs) -> anyhow::Result<Target> {
    if args.url.has_query() {
        bail!("--url {} has a query, which would not be sent: leave it out", args.url);
    }
    let mut target = Target::new(args.url);
    target.api = match args.endpoint {
        ApiArg::Chat => Api::Chat,
        ApiArg::Completions => Api::Completions,
    };
    target.model = args.model;
    target.streaming = !args.no_stream;
    target.extra_body = args.extra_body.unwrap_or_default();
    target.headers = args.header;
    target.key = args.key_env.as_deref().map(Key::from_env).transpose()?;
    target.authorities = args.ca;
    Ok(target)
}

/// The workload: what the arguments say, else what the configuration says, else a synthetic one.
fn spec(args: WorkloadArgs, period: &PeriodArgs, configured: &Spec) -> anyhow::Result<Spec> {
    let mut spec = configured.clone();
    if let Some(source) = args.workload {
        spec.source = source.source;
        spec.file = source.file;
    }
    spec.input = args.input_tokens.or(spec.input);
    spec.output = args.output_tokens.or(spec.output);
    if spec.source == Source::Synthetic {
        let (input, output) = DEFAULT_TOKENS;
        spec.input = spec.input.or_else(|| Some(Distribution::fixed(input)));
        spec.output = spec.output.or_else(|| Some(Distribution::fixed(output)));
    }
    spec.prefix = args.prefix.or(spec.prefix);
    spec.turns = args.turns.or(spec.turns);
    spec.think_ms = args.think_ms.or(spec.think_ms);
    spec.all_turns |= args.all_turns;
    spec.skip_bad |= args.skip_bad;
    spec.offset = args.offset.unwrap_or(spec.offset);
    spec.requests = period.requests.or(spec.requests);
    spec.salt = match args.salt {
        SaltArg::Auto => Some(spec.salt.unwrap_or_else(|| format!("{:016x}", random()))),
        SaltArg::None => None,
        SaltArg::Text(text) => Some(text),
    };
    Ok(spec)
}
