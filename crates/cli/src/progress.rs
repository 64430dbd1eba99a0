//! Progress on standard error, where that is a terminal.

use crate::output;
use firstcheck_experiment::event::{Event, RatioSoFar};
use firstcheck_ingest::Watch;
use firstcheck_model::{report::Quantity, unit::Seconds};
use firstcheck_report::number;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    collections::BTreeMap,
    io::IsTerminal,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Work that ends sooner shows no progress.
const SOON: Duration = Duration::from_millis(500);

/// Between two plain lines of one run: often enough that a job's log shows life, and no more.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// A line that says what goes on; where standard error is no terminal experiments say so in plain lines now and then.
/// Nothing with `--quiet`.
#[derive(Debug, Clone)]
pub struct Progress {
    shown: bool,
    /// Whether lines without escapes are written instead.
    plain: bool,
}

impl Progress {
    /// Progress as asked.
    pub fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { shown: !quiet && terminal, plain: !quiet && !terminal }
    }

    /// A bar of `length` steps.
    pub fn bar(&self, length: u64) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(length), self.target());
        style(bar, "{spinner} [{bar:10}] {wide_msg}")
    }

    /// A spinner for work of unknown length.
    pub fn spinner(&self) -> ProgressBar {
        let bar = style(ProgressBar::with_draw_target(None, self.target()), "{spinner} {wide_msg}");
        if self.shown {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        bar
    }

    /// A spinner that shows itself once the work has taken half a second.
    pub fn late(&self) -> Late {
        Late { progress: self.clone(), shown: Arc::default(), began: Instant::now() }
    }

    fn target(&self) -> ProgressDrawTarget {
        if self.shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
    }
}

fn style(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        // A template that indicatif refuses costs the looks, not the run.
        Err(_) => bar,
    }
}

/// Progress of reading, shown once it takes long.
pub struct Late {
    progress: Progress,
    shown: Arc<Mutex<Option<ProgressBar>>>,
    began: Instant,
}

impl Late {
    /// What is called while files are read: which one, and how much of it.
    pub fn watch(&self) -> Watch {
        let (progress, shown, began) = (self.progress.clone(), Arc::clone(&self.shown), self.began);
        Arc::new(move |path, bytes| {
            if began.elapsed() >= SOON {
                let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                let bar = shown.get_or_insert_with(|| progress.spinner());
                bar.set_message(format!("{}: {} MB read", path.display(), bytes / 1_000_000));
            }
        })
    }

    /// Takes the line away.
    pub fn finish(&self) {
        if let Some(bar) = self.shown.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }
}

/// Progress of an experiment: what runs now, and what the pairs say so far.
pub struct Experiment {
    bar: ProgressBar,
    so_far: String,
    /// Runs that are there.
    done: u64,
    /// What each side of a live pair is at; both run at the same time.
    live: BTreeMap<&'static str, String>,
    plain: bool,
    /// When the last plain line was written.
    told: Instant,
}

impl Experiment {
    /// Nothing has happened yet.
    pub fn new(progress: &Progress) -> Self {
        Self {
            bar: progress.bar(0),
            so_far: String::new(),
            done: 0,
            live: BTreeMap::new(),
            plain: progress.plain,
            told: Instant::now(),
        }
    }

    /// A line without escapes, where there is no terminal for a bar.
    fn line(&mut self, text: &str) {
        if self.plain {
            output::tell(text);
            self.told = Instant::now();
        }
    }

    /// Shows an event.
    pub fn tell(&mut self, event: &Event) {
        match event {
            Event::Phase { title } => {
                self.bar.println(title);
                self.line(title);
                self.bar.set_position(0);
                self.bar.set_message("");
                self.so_far.clear();
                self.done = 0;
                self.live.clear();
            }
            Event::Live { warm_up, role, elapsed, of, sent, done, failed, ttft, itl, stall } => {
                if self.live.is_empty() {
                    self.bar.set_position(0);
                }
                self.bar.set_length(of.as_secs());
                // Of two sides the later report counts: the bar never runs backwards.
                self.bar.set_position(elapsed.as_secs().max(self.bar.position()).min(of.as_secs()));
                let waiting = sent.saturating_sub(*done);
                let failed = if *failed > 0 { format!(" {failed} failed") } else { String::new() };
                let so_far = so_far(*ttft, *itl, *stall);
                self.live.insert(role.name(), format!("{} {done} done {waiting} waiting{failed}{so_far}", role.name()));
                let sides: Vec<&str> = self.live.values().map(String::as_str).collect();
                let warming = if *warm_up { " warm-up" } else { "" };
                let left = of.as_secs().saturating_sub(self.bar.position());
                let message = format!("{left} s left{warming} · {}{}", sides.join(" · "), self.so_far);
                if self.told.elapsed() >= PLAIN_EVERY {
                    self.line(&message);
                }
                self.bar.set_message(message);
            }
            Event::RunDone { pair, pairs, name, runs, .. } => {
                self.bar.set_length(u64::from(*runs));
                self.done += 1;
                self.bar.set_position(self.done);
                self.live.clear();
                self.bar.set_message(format!("{} of {pairs}, {name} done{}", pair + 1, self.so_far));
            }
            Event::PairDone { pair, pairs, ratio } => {
                if let Some(RatioSoFar { ratio, interval }) = ratio {
                    let interval = interval.map_or(String::new(), |bounds| {
                        format!(" ({})", number::change_interval(bounds.map(Quantity::Finite)))
                    });
                    self.so_far = format!(", so far TTFT p95 {}{interval}", number::change(*ratio));
                }
                let done = format!("{} of {pairs} done{}", pair + 1, self.so_far);
                self.line(&done);
            }
        }
    }

    /// Takes the line away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// The latencies so far, and whether the client itself is in the way.
fn so_far(ttft: Option<Seconds>, itl: Option<Seconds>, stall: Seconds) -> String {
    let mean = |name: &str, mean: Option<Seconds>| {
        mean.map_or(String::new(), |seconds| format!(", {name} {}", number::value(seconds.0, "s")))
    };
    let held_up = stall.0 > firstcheck_load::Thresholds::default().stall_s;
    let client =
        if held_up { format!(", the client stood still for {}", number::value(stall.0, "s")) } else { String::new() };
    format!("{}{}{client}", mean("TTFT", ttft), mean("ITL", itl))
}

/// Progress of one live run.
pub struct Run {
    bar: ProgressBar,
    level: String,
}

impl Run {
    /// Nothing was sent yet; `level` names a level of a sweep.
    pub fn new(progress: &Progress, level: Option<&str>) -> Self {
        let level = level.map_or(String::new(), |name| format!("{name}, "));
        Self { bar: progress.bar(0), level }
    }

    /// Shows how far it is.
    pub fn tell(&self, run: &firstcheck_load::Progress) {
        use firstcheck_load::Phase;
        let phase = match run.phase {
            Phase::WarmUp => "warm-up",
            Phase::Window => "window",
            Phase::Drain => "awaiting answers",
        };
        self.bar.set_length(run.planned);
        self.bar.set_position(run.done);
        let failed = if run.failed > 0 { format!(", {} failed", run.failed) } else { String::new() };
        let left = run.until.and_then(|until| until.since(run.at)).filter(|left| left.0 > 0.0);
        let left = left.map_or(String::new(), |left| format!(", {:.0} s left", left.0));
        let message = format!(
            "{}{phase}: {} sent, {} done{failed}, {} in flight{}{left}",
            self.level,
            run.sent,
            run.done,
            run.in_flight(),
            so_far(run.ttft, run.itl, run.stall),
        );
        self.bar.set_message(message);
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
