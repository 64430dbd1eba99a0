//! Reads a log line by line into what it says.

use super::{
    clock::LogClock,
    failure::Traceback,
    prefix::{self, Entry},
    samples::Samples,
    scan::{clipped, cut},
    telling,
    wrapper::{Unwrapped, unwrap},
};
use crate::Limits;
use firstcheck_model::{
    engine_log::{Choice, ChoiceOf, EngineLog, MemoryTerm, Phase, Remark, Setting, StartPhase, Term},
    moment::Moment,
    signal::Signal,
    unit::{Bytes, Seconds},
};
use memchr::memmem;
use std::{collections::HashMap, sync::LazyLock};

/// Characters of a remark that are kept.
const TEXT: usize = 300;

/// Costly remarks of one kind that are kept each for themselves.
const COSTLY: usize = 20;

/// Choices that are kept: an engine makes some dozens.
const CHOICES: usize = 1_000;

/// Events of one kind that are kept each for themselves.
const EVENTS: usize = 1000;

/// Longest run of partial lines that is put together, bytes.
const PARTIAL: usize = 1 << 20;

/// Steps, terms, choices and settings that are kept of each kind: a log of many starts repeats them.
const KEPT: usize = 5_000;

/// Processes whose tracebacks are told apart; those of more are read as of one.
const PROCESSES: usize = 10_000;

/// What every line of the web server has that tells of a request.
static REQUEST: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b" HTTP/1.1\" "));

/// Where a message stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'l> {
    pub(super) line: u64,
    pub(super) moment: Option<Moment>,
    pub(super) process: Option<&'l str>,
    pub(super) site: Option<&'l str>,
}

/// Reads a log line by line.
///
/// # Example: a start that failed
/// ```
/// use firstcheck_ingest::log::LogReader;
/// use firstcheck_model::engine_log::FailureKind;
/// let mut reader = LogReader::new("server.log");
/// for (number, line) in (1..).zip([
///     "(Worker pid=7) INFO 01-02 03:04:05 [gpu_model_runner.py:9] Model loading took 14.25 GiB memory and 3.5 seconds",
///     "(EngineCore pid=6) ERROR 01-02 03:04:06 [core.py:1] Traceback (most recent call last):",
///     "(EngineCore pid=6) ERROR 01-02 03:04:06 [core.py:1] ValueError: No available memory for the cache blocks.",
///     "RuntimeError: Engine core initialization failed. See root cause above.",
/// ]) {
///     reader.line(number, line);
/// }
/// let log = reader.finish();
/// assert_eq!(log.root_cause().map(|failure| (failure.kind, failure.line)), Some((FailureKind::NoKvMemory, 3)));
/// ```
#[derive(Debug)]
pub struct LogReader {
    pub(super) log: EngineLog,
    traces: HashMap<String, Traceback>,
    /// Tracebacks that are being read.
    pub(super) tracing: usize,
    /// The process whose traceback goes on in lines without a prefix.
    pub(super) spilled: Option<String>,
    /// Messages read: a message that a collector cut into pieces counts once.
    pub(super) messages: u64,
    /// The message that told the last failure.
    pub(super) last_failure: Option<u64>,
    samples: Samples,
    /// The last event of a kind, and how many are kept.
    events: HashMap<&'static str, (usize, usize)>,
    /// The start of a line that goes on in the next one.
    partial: String,
    /// The last line of it, and when the collector saw it.
    partial_at: (u64, Option<i64>),
    clock: LogClock,
}

impl LogReader {
    /// A reader; `label` is how reports name the log.
    pub fn new(label: impl Into<String>) -> Self {
        Self::within(label, &Limits::default())
    }

    /// A reader that holds as many samples of statistics lines as `limits` say.
    pub fn within(label: impl Into<String>, limits: &Limits) -> Self {
        Self {
            log: EngineLog { label: label.into(), ..EngineLog::default() },
            traces: HashMap::new(),
            tracing: 0,
            spilled: None,
            messages: 0,
            last_failure: None,
            samples: Samples::new(limits.samples),
            events: HashMap::new(),
            partial: String::new(),
            partial_at: (0, None),
            clock: LogClock::default(),
        }
    }

    /// Takes a line, without its line break. Returns whether anything was understood of it; a line that an engine's
    /// logger did not write (of the framework, of the program's output) counts as understood where it is part of a
    /// traceback only.
    pub fn line(&mut self, number: u64, line: &str) -> bool {
        self.line_or(number, line, &mut |_, _| {})
    }

    /// As [`Self::line`]; `unknown` is called for a line of the engine's logger that nothing was understood of, with the
    /// file that wrote it and its message.
    pub fn line_or(&mut self, number: u64, line: &str, unknown: &mut dyn FnMut(Option<&str>, &str)) -> bool {
        self.log.lines += 1;
        if self.tracing == 0 && self.partial.is_empty() && is_bare_request(line) {
            self.messages += 1;
            return true;
        }
        let Unwrapped { text, at_unix_ns, partial, .. } = unwrap(line);
        if partial && self.partial.len() + text.len() <= PARTIAL {
            self.partial.push_str(&text);
            self.partial_at = (number, at_unix_ns);
            return true;
        }
        if self.partial.is_empty() {
            return self.whole(number, at_unix_ns, &text, unknown);
        }
        let whole = std::mem::take(&mut self.partial) + &text;
        self.whole(number, at_unix_ns, &whole, unknown)
    }

    /// Takes a message that no collector cuts.
    fn whole(
        &mut self,
        number: u64,
        at_unix_ns: Option<i64>,
        text: &str,
        unknown: &mut dyn FnMut(Option<&str>, &str),
    ) -> bool {
        let text = after_progress(text);
        let entry = prefix::split(text);
        let moment = self.clock.moment(at_unix_ns, entry.stated);
        let understood = self.entry(&entry, At { line: number, moment, process: entry.process, site: entry.site });
        if !understood && entry.level.is_some() {
            unknown(entry.site, entry.message);
        }
        understood
    }

    fn entry(&mut self, entry: &Entry<'_>, at: At<'_>) -> bool {
        let message = entry.message;
        self.messages += 1;
        let in_failure = self.tracing > 0 || self.follows_failure();
        let understood = (!in_failure && is_bare_request(message))
            || telling::take(self, message, in_failure, &at)
            || is_of_the_web_server(message);
        if !understood && entry.level.is_some() {
            self.log.not_understood += 1;
        }
        understood
    }

    /// Whether a failure was told just before: what is wrong may stand in the lines after it.
    pub(super) fn follows_failure(&self) -> bool {
        self.last_failure.is_some_and(|last| self.messages <= last + 8)
    }

    /// What the log said. A message whose end is missing counts as it stands.
    pub fn finish(mut self) -> EngineLog {
        let (number, at_unix_ns) = self.partial_at;
        let partial = std::mem::take(&mut self.partial);
        if !partial.is_empty() {
            self.whole(number, at_unix_ns, &partial, &mut |_, _| {});
        }
        self.log.series = self.samples.finish();
        self.log
    }

    /// Of how many statistics lines one is held: 1, but of a log that has very many.
    pub fn stride(&self) -> u64 {
        self.samples.stride()
    }

    /// Unix time of the log's moment 0, nanoseconds, where a collector dated its lines.
    pub fn started_unix_ns(&self) -> Option<i64> {
        self.clock.started_unix_ns()
    }

    /// The last moment of the log.
    pub fn latest(&self) -> Option<Moment> {
        self.clock.latest()
    }

    pub(super) fn engine(&mut self, engine: &str, version: Option<&str>) {
        self.log.engine.get_or_insert_with(|| engine.to_owned());
        if let Some(version) = version.map(str::trim).filter(|version| !version.is_empty()) {
            self.log.version.get_or_insert_with(|| version.trim_start_matches('v').to_owned());
        }
    }

    /// Notes that a start begins: where another came further before, this is a new one.
    pub(super) fn begins(&mut self, at: &At<'_>) {
        let log = &mut self.log;
        let failed = log.failures.last().is_some_and(|failure| failure.line >= log.began);
        if failed || log.last_start().any(|phase| phase.phase > StartPhase::Configuration) {
            log.began = at.line;
            log.stopped = None;
        }
    }

    /// Notes a step of the start. The same step of one process is noted once, with its length where a later line has it.
    pub(super) fn phase(&mut self, phase: StartPhase, length: Option<Seconds>, at: &At<'_>) {
        let process = at.process.map(str::to_owned);
        let (full, began) = (self.log.phases.len() >= KEPT, self.log.began);
        let mut phases = self.log.phases.iter_mut().filter(|known| known.line >= began);
        let known = phases.find(|known| known.phase == phase && known.process == process);
        match known {
            Some(known) if length.is_some() => known.length = length,
            Some(_) => {}
            None if full => {}
            None => self.log.phases.push(Phase { phase, process, length, at: at.moment, line: at.line }),
        }
    }

    pub(super) fn term(&mut self, term: Term, bytes: Option<Bytes>, at: &At<'_>) {
        if let Some(bytes) = bytes.filter(|_| self.log.memory.len() < KEPT) {
            self.log.memory.push(MemoryTerm { term, bytes, process: at.process.map(str::to_owned), line: at.line });
        }
    }

    pub(super) fn choice(&mut self, of: ChoiceOf, value: &str, at: &At<'_>) {
        let known = &self.log.choices;
        if known.len() < CHOICES && !known.iter().any(|known| known.of == of && known.value == value) {
            self.log.choices.push(Choice { of, value: clipped(value, TEXT), line: at.line });
        }
    }

    /// Notes what costs speed: remarks of one kind and text are one, counted.
    pub(super) fn costly(&mut self, kind: &'static str, text: &str, at: &At<'_>) {
        let text = clipped(text, TEXT);
        let mut same = self.log.costly.iter_mut().filter(|known| known.kind == kind).peekable();
        let mut kept = 0;
        while let Some(known) = same.next() {
            kept += 1;
            if known.text == text || (kept == COSTLY && same.peek().is_none()) {
                known.times += 1;
                return;
            }
        }
        let figures = Vec::new();
        self.log.costly.push(Remark { kind, text, figures, at: at.moment, line: at.line, times: 1 });
    }

    /// Notes an event. Of a kind that comes very often the later ones are only counted.
    pub(super) fn event(&mut self, kind: &'static str, text: &str, figures: Vec<(&'static str, f64)>, at: &At<'_>) {
        let (last, kept) = self.events.entry(kind).or_insert((0, 0));
        if *kept == EVENTS {
            self.log.events[*last].times += 1;
            return;
        }
        (*last, *kept) = (self.log.events.len(), *kept + 1);
        let text = clipped(text, TEXT);
        self.log.events.push(Remark { kind, text, figures, at: at.moment, line: at.line, times: 1 });
    }

    /// Adds a sample to the series of that name and place; `meaning` tells the signal that a name stands for.
    pub(super) fn sample(
        &mut self,
        name: &str,
        meaning: fn(&str) -> Option<Signal>,
        value: f64,
        place: Option<&str>,
        at: &At<'_>,
    ) {
        if let Some(moment) = at.moment {
            self.samples.add(name, meaning, value, place, moment);
        }
    }

    /// Adds settings that a line states.
    pub(super) fn settings(&mut self, given: bool, settings: Vec<Setting>) {
        let list = if given { &mut self.log.given } else { &mut self.log.resolved };
        let room = KEPT.saturating_sub(list.len());
        list.extend(settings.into_iter().take(room));
    }

    /// What keeps the tracebacks of a process.
    pub(super) fn trace(&mut self, process: Option<&str>) -> &mut Traceback {
        let known = process.filter(|process| self.traces.len() < PROCESSES || self.traces.contains_key(*process));
        self.traces.entry(known.unwrap_or_default().to_owned()).or_default()
    }
}

/// What stands behind a progress bar. One returns to the line's start, and the last one is not always ended before the
/// next message: `22/23 [00:13<00:00, 2.05it/s]INFO …`.
fn after_progress(text: &str) -> &str {
    let text = match memchr::memchr(b'\r', text.as_bytes()) {
        Some(_) => text.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or(text),
        None => text,
    };
    // A bar is not ASCII, or has a share: few other lines have a percent sign.
    if memchr::memchr(b'%', text.as_bytes()).is_none() {
        return text;
    }
    let is_end = |at: &usize| ["it/s", "s/it"].iter().any(|rate| text.as_bytes()[..*at].ends_with(rate.as_bytes()));
    let end = memchr::memrchr_iter(b']', text.as_bytes()).find(is_end);
    let after = end.map(|end| text[end + 1..].trim_start());
    after.filter(|after| !after.is_empty()).unwrap_or(text)
}

/// Lines of the web server, which tell of a request each, or of its own start.
fn is_of_the_web_server(message: &str) -> bool {
    const OWN: [&str; 4] =
        ["Started server process", "Waiting for application", "Uvicorn running on", "Finished server process"];
    let message = message.trim_start();
    REQUEST.find(message.as_bytes()).is_some() || OWN.iter().any(|own| message.starts_with(own))
}

/// A line of the web server that nothing stands around and that states no time, `INFO:     10.0.0.1:40000 - "POST …" 200 OK`,
/// behind the engine's tag of a process or not. Half of a long log are such.
fn is_bare_request(line: &str) -> bool {
    let bare = match line.strip_prefix('(') {
        Some(tagged) => cut(tagged, b')').map_or(line, |(_, rest)| rest.trim_start()),
        None => line,
    };
    bare.starts_with("INFO:     ") && REQUEST.find(bare.as_bytes()).is_some()
}
