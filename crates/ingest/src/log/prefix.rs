//! What an engine puts before each message: process, level, time, place in its source.

/// A line taken apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry<'l> {
    /// The process, as the log names it: `EngineCore`, `Worker_TP0`, `TP3`.
    pub process: Option<&'l str>,
    /// Level; none for lines that are not of the engine's logger.
    pub level: Option<Level>,
    /// Seconds since the year's start, or since 1970 where the log has years; with the log's own zone.
    pub seconds: Option<f64>,
    /// The file in which the message is written, without its line: `gpu_worker.py`.
    pub site: Option<&'l str>,
    /// The message.
    pub message: &'l str,
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

/// Takes a line of vLLM or SGLang apart. Of a line that is neither only the process is taken off, if it has one.
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
    let plain = Entry { process, level: None, seconds: None, site: None, message: rest };
    let Some((level, after)) = rest.split_once(' ').and_then(|(word, after)| Some((Level::of(word)?, after))) else {
        return plain;
    };
    let Some((seconds, after)) = month_time(after) else { return plain };
    // Before 0.7.0 the bracket was closed but never opened.
    let site = Some(after.strip_prefix('[').unwrap_or(after)).and_then(|inner| {
        let (site, message) = inner.split_once(']').filter(|(site, _)| !site.contains(' '))?;
        let (file, number) = site.rsplit_once(':')?;
        number.bytes().all(|b| b.is_ascii_digit()).then_some((file, message))
    });
    let (site, message) = site.map_or((None, after), |(site, message)| (Some(site), message));
    let message = message.strip_prefix(' ').unwrap_or(message);
    Entry { process, level: Some(level), seconds: Some(seconds), site, message }
}

/// `(EngineCore_DP0 pid=77) `, `(VllmWorker TP0 pid=77) `, `(VllmWorker rank=0 pid=77) `
fn process(line: &str) -> (Option<&str>, &str) {
    let tagged = line.strip_prefix('(').and_then(|inner| {
        let (tag, rest) = inner.split_once(')')?;
        let (name, pid) = tag.rsplit_once(" pid=")?;
        pid.bytes().all(|b| b.is_ascii_digit()).then_some((name, rest))
    });
    match tagged {
        Some((name, rest)) => (Some(name), rest.strip_prefix(' ').unwrap_or(rest)),
        None => (None, line),
    }
}

/// `MM-DD HH:MM:SS ` or `YYYY-MM-DD HH:MM:SS ` as seconds, and what follows.
fn month_time(text: &str) -> Option<(f64, &str)> {
    let (date, after) = text.split_once(' ')?;
    let (time, after) = after.split_once(' ').unwrap_or((after, ""));
    let days = match date.split('-').map(str::parse::<u32>).collect::<Result<Vec<_>, _>>().ok()?.as_slice() {
        [month, day] => days_before(*month)? + Some(*day).filter(|day| (1..=31).contains(day))?,
        [year, month, day] => return Some((absolute(*year, *month, *day, time)?, after)),
        _ => return None,
    };
    Some((f64::from(days) * 86_400.0 + of_day(time)?, after))
}

/// Days of the year before a month, of a year without a leap day: a log that runs over one is a day off.
fn days_before(month: u32) -> Option<u32> {
    const DAYS: [u32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    DAYS.get(usize::try_from(month).ok()?.checked_sub(1)?).copied()
}

fn absolute(year: u32, month: u32, day: u32, time: &str) -> Option<f64> {
    let (year, month, day) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    let date = jiff::civil::Date::new(year, month, day).ok()?;
    let start = jiff::tz::Offset::UTC.to_timestamp(date.to_datetime(jiff::civil::Time::midnight())).ok()?;
    Some(start.as_second() as f64 + of_day(time)?)
}

/// `HH:MM:SS`, with a fraction after a point or a comma.
fn of_day(time: &str) -> Option<f64> {
    let mut parts = time.splitn(3, ':');
    let (hours, minutes): (u32, u32) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let seconds: f64 = parts.next()?.replace(',', ".").parse().ok()?;
    (hours < 24 && minutes < 60 && (0.0..61.0).contains(&seconds))
        .then(|| f64::from(hours * 3600 + minutes * 60) + seconds)
}

/// SGLang: `[2026-01-02 03:04:05] message`, with ranks and a fraction of a second or without.
fn bracketed(line: &str) -> Option<Entry<'_>> {
    let (head, message) = line.strip_prefix('[')?.split_once(']')?;
    let (seconds, after) = month_time(head)?;
    if !head.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let process = Some(after.trim()).filter(|ranks| !ranks.is_empty());
    let message = message.strip_prefix(' ').unwrap_or(message);
    let (level, message) = match message.split_once(": ") {
        Some((word, rest)) if Level::of(word).is_some() => (Level::of(word), rest),
        _ => (Some(Level::Info), message),
    };
    Some(Entry { process, level, seconds: Some(seconds), site: None, message })
}
