//! The page: lines to samples, with types, parts, and a count of what could not be read.

use super::line::{self, number};
use crate::Limits;
use firstcheck_model::signal::{Labels, Part, SeriesKind};
use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

/// A metrics page taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Its samples in page order.
    pub samples: Vec<Sample>,
    /// The first lines that could not be read, as many as the limits keep.
    pub unread: Vec<Unreadable>,
    /// All lines that could not be read.
    pub unread_total: u64,
    /// Whether it ends with OpenMetrics' `# EOF` (text 0.0.4 has no such mark: `false` says nothing there).
    pub complete: bool,
}

/// One line of a page that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, counted from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Name as the page writes it, suffix included.
    pub name: String,
    /// Labels, without a bucket's `le` and a quantile's `quantile`.
    pub labels: Labels,
    /// Which part of its family.
    pub part: Part,
    /// Counter or gauge, as the page's `# TYPE` says.
    pub kind: SeriesKind,
    /// The value; may be NaN or infinite.
    pub value: f64,
    /// The page's own timestamp, milliseconds of Unix time; most pages have none.
    pub at_unix_ms: Option<f64>,
    /// The line, counted from 1.
    pub line: u32,
}

impl Page {
    /// Samples of that raw name.
    pub fn get<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| sample.name == name)
    }

    fn refuse(&mut self, line: usize, reason: impl Into<String>, limits: &Limits) {
        self.unread_total += 1;
        if self.unread.len() < limits.unread {
            self.unread.push(Unreadable { line: line as u64 + 1, reason: reason.into() });
        }
    }
}

/// A family's type as `# TYPE` states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Counter,
    Gauge,
    Histogram,
    GaugeHistogram,
    Summary,
    Info,
    Untyped,
}

impl Type {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "counter" => Self::Counter,
            "gauge" => Self::Gauge,
            "histogram" => Self::Histogram,
            "gaugehistogram" => Self::GaugeHistogram,
            "summary" => Self::Summary,
            "info" | "stateset" => Self::Info,
            "untyped" | "unknown" => Self::Untyped,
            _ => return None,
        })
    }
}

/// Parses a page within the default limits. Never fails: what cannot be read is in [`Page::unread`].
///
/// # Example: a counter, and a line that is none
/// ```
/// let page = firstcheck_ingest::prometheus::parse(b"# TYPE hits_total counter\nhits_total{engine=\"0\"} 3\nhits_total 1 2 3\n");
/// assert_eq!(page.get("hits_total").map(|s| s.value).collect::<Vec<_>>(), [3.0]);
/// assert_eq!((page.unread_total, page.unread[0].line), (1, 3));
/// ```
pub fn parse(bytes: &[u8]) -> Page {
    parse_within(bytes, &Limits::default())
}

/// Parses a page within `limits`.
pub fn parse_within(bytes: &[u8], limits: &Limits) -> Page {
    let mut page = Page::default();
    let mut types = Types::default();
    let mut seen: HashSet<u64> = HashSet::new();
    let within = &bytes[..bytes.len().min(limits.page_bytes)];
    for (number, raw) in within.split(|b| *b == b'\n').enumerate() {
        if page.complete {
            if !raw.trim_ascii().is_empty() {
                page.refuse(number, "something follows # EOF", limits);
            }
            continue;
        }
        if raw.len() > limits.line_bytes {
            page.refuse(number, format!("the line is longer than {} bytes", limits.line_bytes), limits);
            continue;
        }
        let Ok(text) = std::str::from_utf8(raw) else {
            page.refuse(number, "not UTF-8", limits);
            continue;
        };
        let text = text.trim();
        if let Some(comment) = text.strip_prefix('#') {
            if let Err(reason) = comment_line(comment, &mut types, &mut page.complete) {
                page.refuse(number, reason, limits);
            }
        } else if !text.is_empty() {
            match sample_of(text, number, &types) {
                Ok(sample) if seen.insert(identity(&sample)) => page.samples.push(sample),
                Ok(_) => page.refuse(number, "the same series a second time", limits),
                Err(reason) => page.refuse(number, reason, limits),
            }
        }
    }
    if bytes.len() > within.len() {
        let line = within.iter().filter(|b| **b == b'\n').count();
        page.refuse(line, beyond(limits), limits);
    }
    if page.complete {
        // OpenMetrics writes seconds where text 0.0.4 writes milliseconds; only the end tells which it was.
        for sample in &mut page.samples {
            sample.at_unix_ms = sample.at_unix_ms.map(|seconds| seconds * 1e3);
        }
    }
    page
}

/// Why the rest of a page is unread.
pub(super) fn beyond(limits: &Limits) -> String {
    format!("the page goes on beyond the limit of {} bytes", limits.page_bytes)
}

fn comment_line(comment: &str, types: &mut Types, complete: &mut bool) -> Result<(), String> {
    let mut words = comment.split_ascii_whitespace();
    match words.next() {
        Some("EOF") => *complete = true,
        Some("TYPE") => types.state(&words.collect::<Vec<_>>())?,
        _ => {}
    }
    Ok(())
}

/// Takes a sample line apart with the types that were stated before it.
///
/// # Errors
/// Why it is no sample.
pub(super) fn sample_of(text: &str, number_of_line: usize, types: &Types) -> Result<Sample, String> {
    let mut line = line::parse(text)?;
    let (part, kind) = role(&line.name, &mut line.labels, types)?;
    Ok(Sample {
        name: line.name.into_owned(),
        labels: Labels::new(line.labels),
        part,
        kind,
        value: line.value,
        at_unix_ms: line.timestamp,
        line: u32::try_from(number_of_line + 1).unwrap_or(u32::MAX),
    })
}

/// Which part of its family a series is, and how its values behave; a bucket's `le` and a quantile's `quantile` are taken
/// out of the labels.
///
/// # Errors
/// A bound that is no number.
pub(super) fn role(
    name: &str,
    labels: &mut Vec<(String, String)>,
    types: &Types,
) -> Result<(Part, SeriesKind), String> {
    let (family, suffix) = types.family(name);
    let mut bound = |name: &str| -> Result<Option<f64>, String> {
        let Some(at) = labels.iter().position(|(label, _)| label == name) else { return Ok(None) };
        let (_, value) = labels.remove(at);
        number(&value).filter(|b| !b.is_nan()).map(Some).ok_or_else(|| format!("{name} `{value:.40}` is no number"))
    };
    let cumulative = if family == Some(Type::GaugeHistogram) { SeriesKind::Gauge } else { SeriesKind::Counter };
    Ok(match (family, suffix) {
        (Some(Type::Histogram | Type::GaugeHistogram), "_bucket") => {
            let le = bound("le")?.ok_or("a bucket without le")?;
            (Part::Bucket(le), cumulative)
        }
        (Some(Type::Histogram | Type::GaugeHistogram | Type::Summary), "_sum" | "_gsum") => (Part::Sum, cumulative),
        (Some(Type::Histogram | Type::GaugeHistogram | Type::Summary), "_count" | "_gcount") => {
            (Part::Count, cumulative)
        }
        (Some(Type::Summary), "") => match bound("quantile")? {
            Some(q) => (Part::Quantile(q), SeriesKind::Gauge),
            None => (Part::Value, SeriesKind::Untyped),
        },
        (Some(Type::Counter), "" | "_total") => (Part::Value, SeriesKind::Counter),
        (Some(Type::Gauge | Type::Info), _) | (Some(_), "_created") => (Part::Value, SeriesKind::Gauge),
        (None, _) if name.ends_with("_bucket") => match bound("le")? {
            Some(le) => (Part::Bucket(le), SeriesKind::Untyped),
            None => (Part::Value, SeriesKind::Untyped),
        },
        _ => (Part::Value, SeriesKind::Untyped),
    })
}

/// Types of families, as `# TYPE` lines stated them.
#[derive(Debug, Default)]
pub(super) struct Types(HashMap<String, Type>);

impl Types {
    /// Takes the words after `# TYPE`.
    ///
    /// # Errors
    /// Where they state no type.
    pub(super) fn state(&mut self, words: &[&str]) -> Result<(), String> {
        let [name, word, ..] = words else { return Err("# TYPE without a name and a type".into()) };
        let kind = Type::named(word).ok_or_else(|| format!("unknown type `{word:.40}`"))?;
        self.0.insert(name.trim_matches('"').to_owned(), kind);
        Ok(())
    }

    /// The type of the family that a sample belongs to, and the sample's suffix within it.
    fn family<'n>(&self, name: &'n str) -> (Option<Type>, &'n str) {
        const SUFFIXES: [&str; 8] = ["_bucket", "_sum", "_count", "_total", "_created", "_info", "_gsum", "_gcount"];
        if let Some(kind) = self.0.get(name) {
            return (Some(*kind), "");
        }
        for suffix in SUFFIXES {
            if let Some(kind) = name.strip_suffix(suffix).and_then(|stem| self.0.get(stem)) {
                return (Some(*kind), &name[name.len() - suffix.len()..]);
            }
        }
        (None, "")
    }
}

fn identity(sample: &Sample) -> u64 {
    let mut hash = DefaultHasher::new();
    (&sample.name, &sample.labels).hash(&mut hash);
    part_key(sample.part).hash(&mut hash);
    hash.finish()
}

/// A part as something that can be hashed and ordered.
pub(super) fn part_key(part: Part) -> (u8, u64) {
    match part {
        Part::Value => (0, 0),
        Part::Sum => (1, 0),
        Part::Count => (2, 0),
        Part::Bucket(le) => (3, le.to_bits()),
        Part::Quantile(q) => (4, q.to_bits()),
    }
}
