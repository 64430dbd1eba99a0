//! Workloads that exist already: traces, conversations and request bodies, one module a format.
//!
//! Nothing is left out silently. A line that cannot be read is an error that names it, unless the caller asked to leave
//! bad lines out; then each is returned with its reason. Blank lines are no data. Lines after the last one asked for
//! are not read.

pub(crate) mod access;
pub(crate) mod azure;
pub(crate) mod bodies;
mod lines;
pub(crate) mod mooncake;
pub(crate) mod sharegpt;

use crate::{
    error::{Error, Place},
    prompt::Prompt,
};

/// What a source said at a place that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where.
    pub place: Place,
    /// What is wrong with it.
    pub reason: String,
}

/// Which rows of a source to take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slice {
    /// Rows to leave out at the start.
    pub(crate) offset: u32,
    /// Most rows to take; `None`: all.
    pub(crate) limit: Option<u32>,
    /// Whether to leave out what cannot be read, instead of failing.
    pub(crate) skip_bad: bool,
}

/// A row with its own timestamp.
pub(crate) struct Timed {
    /// When, in nanoseconds since whatever the source counts from.
    pub(crate) at_ns: i64,
    /// What it asks.
    pub(crate) prompt: Prompt,
    /// Output length in the source.
    pub(crate) output_tokens: u32,
}

/// Rows taken so far, and what was left out.
pub(crate) struct Reading<T> {
    slice: Slice,
    /// Good rows before the offset.
    passed: u32,
    /// The rows.
    pub(crate) rows: Vec<T>,
    /// What could not be read.
    pub(crate) skipped: Vec<Skipped>,
}

impl<T> Reading<T> {
    pub(crate) fn new(slice: Slice) -> Self {
        Self { slice, passed: 0, rows: Vec::new(), skipped: Vec::new() }
    }

    /// Whether all rows asked for are there.
    pub(crate) fn full(&self) -> bool {
        self.slice.limit.is_some_and(|limit| self.rows.len() as u64 >= u64::from(limit))
    }

    /// Takes a row, or what is wrong with it.
    pub(crate) fn take(&mut self, place: Place, row: Result<T, String>) -> Result<(), Error> {
        match row {
            Ok(_) if self.passed < self.slice.offset => self.passed += 1,
            Ok(row) => self.rows.push(row),
            Err(reason) if self.slice.skip_bad => self.skipped.push(Skipped { place, reason }),
            Err(reason) => return Err(Error::Malformed { place, reason }),
        }
        Ok(())
    }
}

/// Says what is wrong with a JSON value in words that fit after `line 12: `: without the position inside the line's
/// text, of which the line number is always 1.
fn in_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let column = error.column();
    match text.split_once(" at line ") {
        Some((reason, _)) => format!("no valid JSON: {reason} at column {column}"),
        None => format!("no valid JSON: {text}"),
    }
}

/// A length of at least one token.
fn length(field: &str, value: u64) -> Result<u32, String> {
    match u32::try_from(value) {
        Ok(length) if (1..=crate::distribution::LARGEST).contains(&length) => Ok(length),
        _ => Err(format!("{field} is {value}: expected 1 to {} tokens", crate::distribution::LARGEST)),
    }
}
