//! What can be wrong with a workload, where, and how to mend it.

use std::fmt;

/// Where in a source something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// A line, counted from 1.
    Line(u64),
    /// A conversation of a JSON array, counted from 1.
    Conversation(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Conversation(number) => write!(f, "conversation {number}"),
        }
    }
}

/// Why a workload cannot be generated. The caller adds the path, where there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A line or conversation of the source is not what its format says.
    #[error("{place}: {reason}")]
    Malformed {
        /// Where.
        place: Place,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// The source could not be read.
    #[error("{place}: cannot be read: {error}")]
    Unreadable {
        /// Where reading stopped.
        place: Place,
        /// Why.
        error: std::io::Error,
    },
    /// The source was read and holds nothing to offer.
    #[error("{format}: no request between offset {offset} and the end: {hint}")]
    Empty {
        /// Name of the format.
        format: &'static str,
        /// Requests left out at the start, as asked.
        offset: u32,
        /// How to mend it.
        hint: &'static str,
    },
    /// A field of the workload's description is missing, out of range, or does not go with another.
    #[error("{field}: {reason}")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong and how to mend it.
        reason: String,
    },
}

impl Error {
    /// A field that is missing, out of range or in conflict with another.
    pub(crate) fn field(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Field { field, reason: reason.into() }
    }
}

/// A text form (`poisson:8`, `lognormal:512,0.8`) that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {reason}")]
pub struct ParseError {
    /// The text as given.
    pub text: String,
    /// What is wrong and what was expected.
    pub reason: String,
}

impl ParseError {
    /// `text` cannot be read for this reason.
    pub(crate) fn new(text: &str, reason: impl Into<String>) -> Self {
        Self { text: text.to_owned(), reason: reason.into() }
    }
}
