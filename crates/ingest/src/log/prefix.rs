//! What an engine puts before each message: process, level, time, place in its source.

use super::scan::{cut, cut_last};

/// A line taken apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry<'l> {
    /// The process, as the log names it: `EngineCore`, `Worker_TP0`, `TP3`.
    pub process: Option<&'l str>,
    /// Level; none for lines that are not of the engine's logger.
    pub level: Option<Level>,
    /// When, as the line states it.
    pub stated: Option<Stated>,
    /// The file in which the message is written, without its line: `gpu_worker.py`.
    pub site: Option<&'l str>,
    /// The message.
    pub message: &'l str,
}

/// A time as a line states it, in the log's own zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stated {
    /// The year; vLLM states none.
    pub year: Option<i16>,
    /// Month, from 1.
    pub month: i8,
    /// Day of the month, from 1.
    pub day: i8,
    /// Seconds of the day.
    pub seconds: f64,
}

impl Stated {
    /// Seconds since the start of a year without a leap day: a log without years that runs over one is a day off.
    pub(super) fn of_year(self) -> Option<f64> {
        const DAYS: [u32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
        let before = DAYS.get(usize::try_from(self.month).ok()?.checked_sub(1)?)?;
        let days = before + u32::try_from(self.day).ok()?;
        Some(f64::from(days) * 86_400.0 + self.seconds)
    }

    /// Seconds since 1970, as if the log's zone were UTC.
    pub(super) fn in_year(self, year: i16) -> Option<f64> {
        let date = jiff::civil::Date::new(year, self.month, self.day).ok()?;
        let start = jiff::tz::Offset::UTC.to_timestamp(date.to_datetime(jiff::civil::Time::midnight())).ok()?;
        Some(start.as_second() as f64 + self.seconds)
    }
}

/// Level of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `DEBUG`
    Debug,
    /// `INFO`
    Info,
    /// `WARNING`
    Warning,
    /// `ERROR` and `CRITICAL`
    Error,
}

impl Level {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "DEBUG" => Self::Debug,
            "INFO" => Self::Info,
            "WARNING" | "WARN" => Self::Warning,
            "ERROR" | "CRITICAL" => Self::Error,
            _ => return None,
        })
    }
}

/// Takes a line of vLLM, SGLang or LMCache apart. Of a line that is neither only the process is taken off, if it has one.
///
/// # Example: vLLM and SGLang
/// ```
/// use firstcheck_ingest::log::prefix::{Level, split};
/// let entry = split("(Worker_TP1 pid=77) WARNING 01-02 03:04:05 [gpu_worker.py:276] Low memory");
/// assert_eq!((entry.process, entry.level, entry.site), (Some("Worker_TP1"), Some(Level::Warning), Some("gpu_worker.py")));
/// assert_eq!(entry.message, "Low memory");
/// let entry = split("[2026-01-02 03:04:05 TP0] Decode batch, #running-req: 1");
/// assert_eq!((entry.process, entry.message), (Some("TP0"), "Decode batch, #running-req: 1"));
/// ```
pub fn split(line: &str) -> Entry<'_> {
    if let Some(entry) = bracketed(line) {
        return entry;
    }
    let (process, rest) = process(line);
    if let Some(entry) = bracketed(rest).filter(|_| process.is_some()) {
        return Entry { process, ..entry };
    }
    let plain = Entry { process, level: None, stated: None, site: None, message: rest };
    let Some((level, after)) = cut(rest, b' ').and_then(|(word, after)| Some((Level::of(word)?, after))) else {
        return plain;
    };
    let Some((stated, after)) = month_time(after) else { return plain };
    // Before 0.7.0 the bracket was closed but never opened.
    let site = Some(after.strip_prefix('[').unwrap_or(after)).and_then(|inner| {
        let (site, message) = cut(inner, b']').filter(|(site, _)| cut(site, b' ').is_none())?;
        let (file, number) = cut_last(site, b':')?;
        number.bytes().all(|b| b.is_ascii_digit()).then_some((file, message))
    });
    let (site, message) = site.map_or((None, after), |(site, message)| (Some(site), message));
    let message = message.strip_prefix(' ').unwrap_or(message);
    Entry { process, level: Some(level), stated: Some(stated), site, message }
}

/// `(EngineCore_DP0 pid=77) `, `(VllmWorker TP0 pid=77) `, `(VllmWorker rank=0 pid=77) `
fn process(line: &str) -> (Option<&str>, &str) {
    let tagged = line.strip_prefix('(').and_then(|inner| {
        let (tag, rest) = cut(inner, b')')?;
        let (name, pid) = cut_last(tag, b'=')?;
        let name = name.strip_suffix(" pid")?;
        pid.bytes().all(|b| b.is_ascii_digit()).then_some((name, rest))
    });
    match tagged {
        Some((name, rest)) => (Some(name), rest.strip_prefix(' ').unwrap_or(rest)),
        None => (None, line),
    }
}

/// `MM-DD HH:MM:SS ` or `YYYY-MM-DD HH:MM:SS `, and what follows.
fn month_time(text: &str) -> Option<(Stated, &str)> {
    let (first, rest) = whole(text)?;
    let (second, rest) = whole(rest.strip_prefix('-')?)?;
    let (year, month, day, rest) = match rest.strip_prefix('-').and_then(whole) {
        Some((third, rest)) => (Some(i16::try_from(first).ok()?), second, third, rest),
        None => (None, first, second, rest),
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (seconds, rest) = of_day(rest.strip_prefix(' ')?)?;
    let after = if rest.is_empty() { rest } else { rest.strip_prefix(' ')? };
    Some((Stated { year, month: month as i8, day: day as i8, seconds }, after))
}

/// `HH:MM:SS` as seconds of the day, with a fraction after a point or a comma, and what follows.
fn of_day(text: &str) -> Option<(f64, &str)> {
    let (hours, rest) = whole(text)?;
    let (minutes, rest) = whole(rest.strip_prefix(':')?)?;
    let (seconds, rest) = whole(rest.strip_prefix(':')?)?;
    let (part, rest) = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let (part, rest) = whole(fraction)?;
            (f64::from(part) / 10_f64.powi((fraction.len() - rest.len()) as i32), rest)
        }
        None => (0.0, rest),
    };
    (hours < 24 && minutes < 60 && seconds < 61)
        .then(|| (f64::from(hours * 3600 + minutes * 60) + (f64::from(seconds) + part), rest))
}

/// The whole number that a text begins with, and what follows.
fn whole(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits]
        .bytes()
        .try_fold(0_u32, |number, digit| number.checked_mul(10)?.checked_add(u32::from(digit - b'0')));
    number.filter(|_| digits > 0).map(|number| (number, &text[digits..]))
}

/// SGLang: `[2026-01-02 03:04:05] message`, with ranks and a fraction of a second or without. LMCache puts its name before
/// the level, and the place after the message: `[2026-01-02 03:04:05,678] LMCache INFO: message (file.py:12:module)`.
fn bracketed(line: &str) -> Option<Entry<'_>> {
    let (head, message) = cut(line.strip_prefix('[')?, b']')?;
    if !head.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (stated, after) = month_time(head)?;
    let process = Some(after.trim()).filter(|ranks| !ranks.is_empty());
    let message = message.strip_prefix(' ').unwrap_or(message);
    let (level, mut message) = match cut(message, b':').and_then(|(word, rest)| Some((word, rest.strip_prefix(' ')?))) {
        Some((word, rest)) => match Level::of(word.strip_prefix("LMCache ").unwrap_or(word)) {
            None => (Level::Info, message),
            Some(level) => (level, rest),
        },
        None => (Level::Info, message),
    };
    let mut site = None;
    let place = Some(message).filter(|message| message.ends_with(')')).and_then(|message| message.rsplit_once(" ("));
    if let Some((said, (file, _))) = place.and_then(|(said, place)| Some((said, placed(place)?))) {
        (message, site) = (said, Some(file));
    }
    Some(Entry { process, level: Some(level), stated: Some(stated), site, message })
}

/// `file.py:12:module)`
fn placed(place: &str) -> Option<(&str, &str)> {
    let mut parts = place.strip_suffix(')')?.split(':');
    let (file, line, module) = (parts.next()?, parts.next()?, parts.next()?);
    let is_place = file.ends_with(".py") && line.bytes().all(|b| b.is_ascii_digit()) && parts.next().is_none();
    is_place.then_some((file, module))
}
