//! Access logs of gateways and servers, a line a request: JSON (nginx, Envoy, logs of OpenAI-style requests) or the common
//! and combined formats of web servers, with `name=value` pairs behind them.
//!
//! Times and sizes are taken, and nothing else: neither paths' parameters nor bodies nor who asked. Tokens stand for
//! themselves where the log counts them; where it has bytes, the caller says how many make a token. Lines of other pages
//! (health checks, metrics, lists of models) are no requests for an answer and are returned as left out.

use super::{Reading, Skipped, Slice, Timed, in_line, length, lines::Lines};
use crate::{
    error::{Error, Place},
    prompt::{Piece, Prompt},
    rng::{PieceKind, piece_seed},
};
use jiff::{Timestamp, civil::DateTime, fmt::strtime, tz::Offset};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, io::BufRead};

/// Bytes that make a token, where a log has bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BytesPerToken {
    /// Of requests.
    pub(crate) prompt: Option<f64>,
    /// Of responses; of a stream every token brings its frame.
    pub(crate) output: Option<f64>,
}

/// Ends of the paths that ask for an answer.
const ASKED: [&str; 8] = [
    "/chat/completions",
    "/completions",
    "/responses",
    "/messages",
    "/generate",
    "/generate_stream",
    "/infer",
    "/invocations",
];
/// Where the moment stands.
const MOMENTS: [&str; 10] = [
    "start_time",
    "started_at",
    "created",
    "created_at",
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "time_iso8601",
    "time_local",
];
/// Where nginx says how long a request took: its moment is then that of the end.
const TOOK: &str = "request_time";
const PROMPT_TOKENS: [&str; 4] = ["prompt_tokens", "input_tokens", "prompt_token_count", "num_prompt_tokens"];
const OUTPUT_TOKENS: [&str; 5] =
    ["completion_tokens", "output_tokens", "generated_tokens", "candidates_token_count", "num_generation_tokens"];
const PROMPT_BYTES: [&str; 5] = ["request_length", "bytes_received", "request_bytes", "content_length", "bytes_in"];
const OUTPUT_BYTES: [&str; 6] =
    ["body_bytes_sent", "bytes_sent", "response_bytes", "response_size", "bytes_out", "response_length"];
const PATHS: [&str; 7] = ["path", "uri", "request_uri", "url", "endpoint", "route", "request"];
/// Objects in which a log of requests nests what it counts.
const NESTED: [&str; 3] = ["usage", "request", "response"];
/// A number from here on is milliseconds since 1970, and a thousand times that microseconds.
const MILLISECONDS_FROM: f64 = 1e11;

/// Reads an access log; the words of each prompt come from `seed` and the number of its row.
pub(crate) fn read(
    source: &mut dyn BufRead,
    slice: Slice,
    bytes: BytesPerToken,
    forced_output: bool,
    seed: u64,
) -> Result<Reading<Timed>, Error> {
    let mut reading = Reading::new(slice);
    let mut lines = Lines::new(source);
    let (mut number, mut others) = (0, Others::default());
    while !reading.full() {
        let Some(line) = lines.next()? else { break };
        let place = line.place;
        number += 1;
        let row = line.text.and_then(|text| row(text, bytes, forced_output, piece_seed(seed, PieceKind::Own, number)));
        match row {
            Ok(Some(row)) => reading.take(place, Ok(row))?,
            Ok(None) => others.add(place),
            Err(reason) => reading.take(place, Err(reason))?,
        }
    }
    reading.skipped.extend(others.said());
    spread(&mut reading.rows);
    Ok(reading)
}

/// Lines that ask for no answer: said once, with how many they are.
#[derive(Default)]
struct Others {
    first: Option<Place>,
    count: u64,
}

impl Others {
    fn add(&mut self, place: Place) {
        self.first.get_or_insert(place);
        self.count += 1;
    }

    fn said(self) -> Option<Skipped> {
        let place = self.first?;
        let further = match self.count.saturating_sub(1) {
            0 => String::new(),
            n => format!(", as are {n} further lines"),
        };
        Some(Skipped { place, reason: format!("asks for no answer, and is left out{further}") })
    }
}

/// Requests of a log in whole seconds lie evenly over theirs: all at its beginning would be a burst that never was.
fn spread(rows: &mut [Timed]) {
    const SECOND: i64 = 1_000_000_000;
    if rows.iter().any(|row| row.at_ns % SECOND != 0) {
        return;
    }
    let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
    rows.iter().for_each(|row| *counts.entry(row.at_ns).or_default() += 1);
    let mut seen: BTreeMap<i64, i64> = BTreeMap::new();
    for row in rows {
        let at = seen.entry(row.at_ns).or_default();
        let all = counts.get(&row.at_ns).copied().unwrap_or(1);
        row.at_ns += SECOND * *at / all;
        *at += 1;
    }
}

fn row(line: &str, bytes: BytesPerToken, forced_output: bool, seed: u64) -> Result<Option<Timed>, String> {
    let fields = if line.starts_with('{') { json(line)? } else { common(line)? };
    if let Some(path) = first(&fields, &PATHS)
        && !asks(path)
    {
        return Ok(None);
    }
    let moment = first(&fields, &MOMENTS).ok_or_else(|| format!("no time: expected one of {}", MOMENTS.join(", ")))?;
    let mut at_ns = nanoseconds(moment)?;
    if let Some(took) =
        fields.get(TOOK).and_then(|text| text.parse::<f64>().ok()).filter(|s| (0.0..=86_400.0).contains(s))
    {
        at_ns -= (took * 1e9) as i64;
    }
    let prompt = tokens(&fields, &PROMPT_TOKENS, (&PROMPT_BYTES, bytes.prompt), "prompt")?;
    let output = tokens(&fields, &OUTPUT_TOKENS, (&OUTPUT_BYTES, bytes.output), "output");
    // A length that is replaced anyway need not be there.
    let output_tokens = if forced_output { output.unwrap_or(1) } else { output? };
    let pieces = vec![Piece::Synthetic { seed, tokens: prompt }];
    Ok(Some(Timed { at_ns, prompt: Prompt::user(pieces), output_tokens }))
}

fn first<'f>(fields: &'f BTreeMap<String, String>, names: &[&str]) -> Option<&'f str> {
    names.iter().find_map(|name| fields.get(*name)).map(String::as_str).filter(|text| !text.is_empty() && *text != "-")
}

/// Whether a path, or a whole request line, asks for an answer.
fn asks(path: &str) -> bool {
    let path = path.split_whitespace().find(|word| word.contains('/') && !word.starts_with("HTTP/")).unwrap_or(path);
    let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
    ASKED.iter().any(|end| path.ends_with(end))
}

fn tokens(
    fields: &BTreeMap<String, String>,
    counted: &[&str],
    (sized, per_token): (&[&str], Option<f64>),
    what: &str,
) -> Result<u32, String> {
    let number = |name: &str, text: &str| {
        text.parse::<f64>().map_err(|_| format!("{name} is no number: expected tokens or bytes of the {what}"))
    };
    if let Some(text) = first(fields, counted) {
        return length(what, number(what, text)?.max(0.0) as u64);
    }
    let Some(text) = first(fields, sized) else {
        return Err(format!(
            "no length of the {what}: expected one of {}, or {}",
            counted.join(", "),
            sized.join(", ")
        ));
    };
    let Some(per_token) = per_token else {
        return Err(format!("the {what} is known in bytes alone: say how many make a token ({what}_bytes_per_token)"));
    };
    let size = number(what, text)?.max(0.0);
    length(what, ((size / per_token).round() as u64).max(1))
}

/// Fields of a JSON line, those of nested objects too where nothing above has their name.
fn json(line: &str) -> Result<BTreeMap<String, String>, String> {
    let map: Map<String, Value> = serde_json::from_str(line).map_err(|error| in_line(&error))?;
    let mut fields = BTreeMap::new();
    flatten(&map, &mut fields, 0);
    Ok(fields)
}

fn flatten(map: &Map<String, Value>, fields: &mut BTreeMap<String, String>, depth: u8) {
    let put = |fields: &mut BTreeMap<String, String>, name: &str, text: String| {
        fields.entry(name.to_owned()).or_insert(text);
    };
    for (name, value) in map {
        match value {
            Value::String(text) => put(fields, name, text.clone()),
            Value::Number(number) => put(fields, name, number.to_string()),
            _ => {}
        }
    }
    for nested in NESTED.iter().filter_map(|name| map.get(*name)?.as_object()) {
        if depth < 2 {
            flatten(nested, fields, depth + 1);
        }
    }
}

/// Fields of the common or combined format: `HOST - USER [TIME] "REQUEST" STATUS BYTES …` and `name=value` behind them.
fn common(line: &str) -> Result<BTreeMap<String, String>, String> {
    let wrong = || "neither JSON nor `HOST - USER [TIME] \"REQUEST\" STATUS BYTES …`".to_owned();
    let (_, rest) = line.split_once('[').ok_or_else(wrong)?;
    let (time, rest) = rest.split_once(']').ok_or_else(wrong)?;
    let (_, rest) = rest.split_once('"').ok_or_else(wrong)?;
    let (request, rest) = rest.split_once('"').ok_or_else(wrong)?;
    let mut fields = BTreeMap::from([("time_local".to_owned(), time.to_owned()), ("request".into(), request.into())]);
    let mut words = rest.split_whitespace();
    words.next().ok_or_else(wrong)?;
    if let Some(size) = words.next() {
        fields.insert("body_bytes_sent".into(), size.into());
    }
    let pairs = words.filter_map(|word| word.trim_matches('"').split_once('='));
    fields.extend(pairs.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned())));
    Ok(fields)
}

/// Nanoseconds since 1970 of a number of seconds (or of milli- or microseconds, by its size), of RFC 3339, or as the common
/// format has it.
fn nanoseconds(text: &str) -> Result<i64, String> {
    if let Ok(number) = text.parse::<f64>() {
        let seconds = match number.abs() {
            size if size >= MILLISECONDS_FROM * 1e3 => number / 1e6,
            size if size >= MILLISECONDS_FROM => number / 1e3,
            _ => number,
        };
        return if seconds.abs() < 9e9 {
            Ok((seconds * 1e9).round() as i64)
        } else {
            Err(format!("the time {text} is none"))
        };
    }
    let zoned = text.parse::<Timestamp>().ok();
    let zoned = zoned.or_else(|| strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?.to_timestamp().ok());
    let at = zoned.or_else(|| Offset::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok());
    at.and_then(|at| i64::try_from(at.as_nanosecond()).ok()).ok_or_else(|| {
        format!(
            "the time is `{text}`: expected seconds since 1970, `2026-11-30T15:49:13Z` or `30/Nov/2026:15:49:13 +0000`"
        )
    })
}
