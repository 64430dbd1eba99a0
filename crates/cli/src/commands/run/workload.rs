//! What is offered, and for how long.

use super::unread;
use crate::args::{BytesPerToken, SaltArg, WindowArgs, WorkloadArgs};
use anyhow::Context as _;
use firstcheck_model::{report::Unread, run::CacheState};
use firstcheck_workload::{
    arrivals::ArrivalProcess,
    distribution::Distribution,
    spec::{Source, Spec},
    trace::Trace,
};
use std::{
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    io::{BufRead, BufReader, Cursor},
    path::Path,
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

/// What is offered, and for how long.
pub(in crate::commands) struct Workload {
    pub(in crate::commands) seed: u64,
    /// Length of the window; `None`: to the end of the requests.
    pub(in crate::commands) window: Option<Duration>,
    pub(in crate::commands) warm_up: Duration,
    pub(in crate::commands) cache: CacheState,
    spec: Spec,
}

impl Workload {
    /// What the arguments say, else what the configuration says, else a synthetic one.
    ///
    /// # Errors
    /// A configured duration that is none.
    pub(in crate::commands) fn new(args: WorkloadArgs, period: &WindowArgs, configured: &Spec) -> anyhow::Result<Self> {
        let seed = args.seed.unwrap_or_else(|| random() & 0xffff_ffff);
        let cache = match (args.cache, &args.salt) {
            (Some(state), _) => state.into(),
            (None, SaltArg::Auto) => CacheState::Cold,
            (None, _) => CacheState::Unknown,
        };
        let spec = spec(args, period, configured);
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
        Ok(Self { seed, window, warm_up: period.warm_up.unwrap_or(default), cache, spec })
    }

    /// Whether it is made up, not read from a file: then only the arguments can say when its requests arrive.
    pub(in crate::commands) fn is_synthetic(&self) -> bool {
        self.spec.source == Source::Synthetic
    }

    /// What it is made of, but for the salt and the arrivals: equal descriptions and seeds make equal traces.
    pub(in crate::commands) fn described(&self) -> anyhow::Result<String> {
        let spec = Spec { salt: None, arrivals: None, ..self.spec.clone() };
        serde_json::to_string(&spec).context("cannot describe the workload")
    }

    /// The same drawn with another seed and, where it is given, with lengths that spread by this part of their mean.
    ///
    /// # Errors
    /// Lengths that are not made up, or have no mean.
    pub(in crate::commands) fn varied(&self, seed: u64, length_cv: Option<f64>) -> anyhow::Result<Self> {
        let mut spec = self.spec.clone();
        if let Some(cv) = length_cv {
            for lengths in [&mut spec.input, &mut spec.output] {
                let known = lengths.as_ref().context("a file has its own lengths: leave out --length-cv")?;
                *lengths = Some(Distribution::spread(known.mean(), cv));
            }
        }
        Ok(Self { seed, spec, ..*self })
    }

    /// The trace with `arrivals`, and rows of its file that were left out.
    ///
    /// # Errors
    /// A workload that cannot be made, with its file.
    pub(in crate::commands) fn trace(&self, arrivals: Option<ArrivalProcess>) -> anyhow::Result<(Trace, Vec<Unread>)> {
        self.trace_after(self.warm_up, arrivals)
    }

    /// The same with a warm-up of that length.
    ///
    /// # Errors
    /// As [`Workload::trace`].
    pub(in crate::commands) fn trace_after(
        &self,
        warm_up: Duration,
        arrivals: Option<ArrivalProcess>,
    ) -> anyhow::Result<(Trace, Vec<Unread>)> {
        let mut spec = self.spec.clone();
        spec.arrivals = arrivals;
        // The trace covers the warm-up as well.
        spec.duration_s = self.window.map(|window| (warm_up + window).as_secs_f64());
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
        let mut reader: Box<dyn BufRead> = match spec.source {
            Source::Run if path.is_dir() => Box::new(Cursor::new(of_bundle(&path)?)),
            _ => {
                let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
                Box::new(BufReader::new(file))
            }
        };
        let generated = spec.generate(self.seed, Some(&mut *reader));
        let generated = generated.with_context(|| format!("cannot make the workload of {}", path.display()))?;
        let skipped = generated.skipped.iter().map(|skipped| unread(&path, skipped)).collect();
        Ok((generated.trace, skipped))
    }
}

/// The requests of a bundle as a workload reads them.
fn of_bundle(path: &Path) -> anyhow::Result<String> {
    let runs = firstcheck_ingest::read_runs(path).with_context(|| format!("cannot read {}", path.display()))?;
    let run = runs.first().with_context(|| format!("{} holds no run", path.display()))?;
    Ok(super::recorded::recorded(run)?.0)
}

/// A number from the operating system's randomness, for a seed that is then printed.
pub(in crate::commands) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn spec(args: WorkloadArgs, period: &WindowArgs, configured: &Spec) -> Spec {
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
    if let Some(BytesPerToken { prompt, output }) = args.bytes_per_token {
        spec.prompt_bytes_per_token = Some(prompt);
        spec.output_bytes_per_token = output.or(spec.output_bytes_per_token);
    }
    spec.offset = args.offset.unwrap_or(spec.offset);
    spec.requests = period.requests.or(spec.requests);
    spec.salt = match args.salt {
        SaltArg::Auto => Some(spec.salt.unwrap_or_else(|| format!("{:016x}", random()))),
        SaltArg::None => None,
        SaltArg::Text(text) => Some(text),
    };
    spec
}
