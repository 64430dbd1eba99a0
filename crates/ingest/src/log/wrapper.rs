//! What containers and collectors put around a line: Docker's JSON, CRI, journald, `kubectl logs --timestamps`, Docker
//! Compose, Loki, stern.

use super::{prefix, scan::cut};
use crate::terminal_codes;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// A line as its process wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwrapped<'l> {
    /// Its text, without terminal codes.
    pub text: Cow<'l, str>,
    /// When the collector saw it, nanoseconds of Unix time, where it says so with a date.
    pub at_unix_ns: Option<i64>,
    /// Whether the line goes on in the next one of the same collector.
    pub partial: bool,
    /// The container or unit that wrote it, where the collector names it.
    pub origin: Option<String>,
}

/// Takes off whatever stands around a line. A line that nothing stands around comes back as it is.
///
/// # Example: three collectors around one line
/// ```
/// use firstcheck_ingest::log::wrapper::unwrap;
/// for line in [
///     r#"{"log":"INFO ready\n","stream":"stderr","time":"2026-01-02T03:04:05.5Z"}"#,
///     "2026-01-02T03:04:05.500000000Z stderr F INFO ready",
///     "2026-01-02T03:04:05.5Z INFO ready",
/// ] {
///     let line = unwrap(line);
///     assert_eq!((line.text.as_ref(), line.at_unix_ns), ("INFO ready", Some(1_767_323_045_500_000_000)));
/// }
/// ```
pub fn unwrap(line: &str) -> Unwrapped<'_> {
    let inner = json(line)
        .or_else(|| dated(line))
        .or_else(|| journal(line))
        .or_else(|| compose(line))
        .or_else(|| python(line))
        .or_else(|| named(line))
        .or_else(|| stern(line))
        .unwrap_or(Unwrapped { text: Cow::Borrowed(line), at_unix_ns: None, partial: false, origin: None });
    Unwrapped { text: terminal_codes::without(inner.text), ..inner }
}

#[derive(Deserialize)]
struct JsonLine {
    #[serde(alias = "message", alias = "MESSAGE", alias = "msg")]
    log: Option<String>,
    /// Loki's text; elsewhere the number of a line in a source.
    line: Option<Value>,
    #[serde(alias = "timestamp", alias = "@timestamp")]
    time: Option<String>,
    #[serde(rename = "__REALTIME_TIMESTAMP")]
    microseconds: Option<String>,
    #[serde(rename = "_SYSTEMD_UNIT", alias = "container_name", alias = "pod")]
    origin: Option<String>,
    /// Loki's own time, and what it knows a stream by.
    ts: Option<Value>,
    labels: Option<Value>,
}

/// Docker's `json-file`, `journalctl -o json`, Loki's (`logcli -o jsonl`), and structured lines with a message.
fn json(line: &str) -> Option<Unwrapped<'_>> {
    if !line.starts_with('{') {
        return None;
    }
    let parsed: JsonLine = serde_json::from_str(line).ok()?;
    let text = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
    let mut log = parsed.log.or_else(|| text(parsed.line))?;
    let time = parsed.time.or_else(|| text(parsed.ts));
    let pod = parsed.labels.and_then(|labels| text(labels.get("pod").cloned()));
    let partial = !log.ends_with('\n') && parsed.microseconds.is_none() && line.contains("\"stream\"");
    let micro = parsed.microseconds.and_then(|text| text.parse::<i64>().ok()?.checked_mul(1000));
    let at_unix_ns = micro.or_else(|| instant(time.as_deref()?));
    log.truncate(log.trim_end_matches(['\n', '\r']).len());
    Some(Unwrapped { text: Cow::Owned(log), at_unix_ns, partial, origin: parsed.origin.or(pod) })
}

/// CRI (`TIME stdout F text`) and `kubectl logs --timestamps` (`TIME text`), with `[pod/NAME/CONTAINER] ` of
/// `kubectl logs --prefix` before it or not.
fn dated(line: &str) -> Option<Unwrapped<'_>> {
    let prefixed = line.strip_prefix("[pod/").and_then(|rest| rest.split_once("] "));
    let (origin, line) = prefixed.map_or((None, line), |(pod, rest)| (Some(pod.to_owned()), rest));
    let found = cut(line, b' ').and_then(|(time, rest)| Some((instant(time)?, rest)));
    let Some((at, rest)) = found else {
        return origin.map(|origin| Unwrapped {
            text: Cow::Borrowed(line),
            at_unix_ns: None,
            partial: false,
            origin: Some(origin),
        });
    };
    if let Some((name, text)) = unit(rest) {
        let text = Cow::Borrowed(text);
        return Some(Unwrapped { text, at_unix_ns: Some(at), partial: false, origin: Some(name.to_owned()) });
    }
    let stream = rest.strip_prefix("stdout ").or_else(|| rest.strip_prefix("stderr "));
    let (text, partial) = match stream {
        Some(tagged) if tagged == "F" || tagged == "P" => ("", tagged == "P"),
        Some(tagged) => match tagged.split_once(' ') {
            Some(("F", text)) => (text, false),
            Some(("P", text)) => (text, true),
            _ => (rest, false),
        },
        None => (rest, false),
    };
    Some(Unwrapped { text: Cow::Borrowed(text), at_unix_ns: Some(at), partial, origin })
}

/// Longest name of a service with the blanks behind it, bytes.
const LONGEST_SERVICE: usize = 80;

/// Docker Compose: `vllm-1  | text`.
fn compose(line: &str) -> Option<Unwrapped<'_>> {
    let at = memchr::memchr(b'|', &line.as_bytes()[..line.len().min(LONGEST_SERVICE)])?;
    let (name, text) = (&line[..at], &line[at + 1..]);
    let service = name.trim_end();
    let named = !service.is_empty() && service.len() < name.len();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    // A service's name ends in the number of its container.
    (named && service.chars().all(plain) && service.ends_with(|c: char| c.is_ascii_digit())).then(|| Unwrapped {
        text: Cow::Borrowed(text.strip_prefix(' ').unwrap_or(text)),
        at_unix_ns: None,
        partial: false,
        origin: Some(service.to_owned()),
    })
}

/// Whether a name is that of a pod or a container in a row of them: plain, with a hyphen, and a number or hash at its end.
fn of_many(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let last = name.rsplit_once('-').map(|(_, last)| last);
    name.len() < LONGEST_SERVICE
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(plain)
        && last.is_some_and(|last| last.contains(|c: char| c.is_ascii_digit()))
}

/// `[vllm-1] text`
fn named(line: &str) -> Option<Unwrapped<'_>> {
    let (name, text) = cut(line.strip_prefix('[')?, b']')?;
    let text = text.strip_prefix(' ')?;
    of_many(name).then(|| Unwrapped {
        text: Cow::Borrowed(text),
        at_unix_ns: None,
        partial: false,
        origin: Some(name.to_owned()),
    })
}

/// stern: `POD CONTAINER text`. Two words before a line are prose as well, so an engine's prefix, or a part of a traceback,
/// has to follow.
fn stern(line: &str) -> Option<Unwrapped<'_>> {
    let (pod, rest) = cut(line, b' ').filter(|(pod, _)| of_many(pod))?;
    let (container, text) = cut(rest, b' ')?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let entry = prefix::split(text);
    let engine = entry.level.is_some() || entry.process.is_some();
    let traced = text.starts_with("Traceback (") || text.starts_with("  ") || raises(text);
    (container.chars().all(plain) && (engine || traced)).then(|| Unwrapped {
        text: Cow::Borrowed(text),
        at_unix_ns: None,
        partial: false,
        origin: Some(format!("{pod}/{container}")),
    })
}

/// Whether a line ends a traceback: `torch.OutOfMemoryError: CUDA out of memory`.
fn raises(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    name.chars().all(plain) && ["Error", "Exception", "Exit", "Interrupt"].iter().any(|end| name.ends_with(end))
}

/// Python's `logging` of a program that runs the server: `2026-01-02 03:04:05,678 - name - INFO - text`. Its time has no
/// zone, so it dates nothing.
fn python(line: &str) -> Option<Unwrapped<'_>> {
    const LEVELS: [&str; 5] = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];
    (line.starts_with("20") && line.as_bytes().get(19) == Some(&b',')).then_some(())?;
    let mut parts = line.splitn(4, " - ");
    let (time, name, level, text) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    (time.len() == 23 && LEVELS.contains(&level)).then(|| Unwrapped {
        text: Cow::Borrowed(text),
        at_unix_ns: None,
        partial: false,
        origin: Some(name.to_owned()),
    })
}

/// journald's short form: `Jan 02 03:04:05 host unit[77]: text`. It has no year, so it dates nothing.
fn journal(line: &str) -> Option<Unwrapped<'_>> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    (line.as_bytes().first()?.is_ascii_uppercase() && line.as_bytes().get(3) == Some(&b' ')).then_some(())?;
    MONTHS.contains(&line.get(..3)?).then_some(())?;
    let (head, text) = line.split_once("]: ")?;
    let mut words = head.split_ascii_whitespace().skip(1);
    words.next()?.parse::<u8>().ok()?;
    let clock = words.next()?;
    (clock.len() >= 8 && clock.as_bytes().get(2) == Some(&b':')).then_some(())?;
    words.next()?;
    let unit = words.next()?.split('[').next()?.to_owned();
    Some(Unwrapped { text: Cow::Borrowed(text), at_unix_ns: None, partial: false, origin: Some(unit) })
}

/// `HOST UNIT[PID]: text`, which `journalctl -o short-iso` puts behind the time.
fn unit(rest: &str) -> Option<(&str, &str)> {
    let (head, after) = cut(rest, b'[')?;
    let (host, name) = cut(head, b' ')?;
    let (pid, text) = cut(after, b']')?;
    let plain = !host.is_empty() && cut(name, b' ').is_none() && pid.bytes().all(|byte| byte.is_ascii_digit());
    text.strip_prefix(": ").filter(|_| plain).map(|text| (name, text))
}

/// An RFC 3339 time with a zone, nanoseconds of Unix time.
fn instant(text: &str) -> Option<i64> {
    if text.len() < 20 || !text.as_bytes()[0].is_ascii_digit() {
        return None;
    }
    i64::try_from(text.parse::<jiff::Timestamp>().ok()?.as_nanosecond()).ok()
}
