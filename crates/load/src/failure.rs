//! Why one request did not end well.

use crate::{
    protocol::answer::AnswerError,
    wire::{error::WireError, peer::ConnectionError},
};
use firstcheck_model::request::Fate;
use std::{borrow::Cow, time::Duration};

/// A failed request: how it counts, a stable name, and what is known beyond the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub fate: Fate,
    pub name: Cow<'static, str>,
    pub detail: String,
}

impl Failure {
    pub fn new(fate: Fate, name: &'static str, detail: impl Into<String>) -> Self {
        Self { fate, name: Cow::Borrowed(name), detail: detail.into() }
    }

    /// An answer with another status than 200; 429 and 503 refuse, the others fail.
    pub fn status(status: u16, text: &str) -> Self {
        let fate = if matches!(status, 429 | 503) { Fate::Rejected } else { Fate::Failed };
        Self { fate, name: Cow::Owned(format!("http {status}")), detail: text.to_owned() }
    }

    /// Nothing came for `limit`.
    pub fn stalled(limit: Duration) -> Self {
        Self::new(Fate::TimedOut, "stalled", format!("nothing came for {} s", limit.as_secs_f64()))
    }

    /// The request took longer than `limit`.
    pub fn timed_out(limit: Duration) -> Self {
        Self::new(Fate::TimedOut, "timed out", format!("no end after {} s", limit.as_secs_f64()))
    }

    /// Whether the connection broke without a word, as it does when the server closes an idle one just then.
    pub fn is_silent_close(&self) -> bool {
        matches!(self.name.as_ref(), "reset" | "closed early")
    }

    /// As a row holds it: `connection refused`, `http 429: too many requests`.
    pub fn text(&self) -> String {
        if self.detail.is_empty() { self.name.clone().into_owned() } else { format!("{}: {}", self.name, self.detail) }
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        let detail = if error == WireError::ClosedEarly { String::new() } else { error.to_string() };
        Self::new(Fate::Failed, error.name(), detail)
    }
}

impl From<AnswerError> for Failure {
    fn from(error: AnswerError) -> Self {
        Self::new(Fate::Failed, error.name(), error.to_string())
    }
}

impl From<ConnectionError> for Failure {
    fn from(error: ConnectionError) -> Self {
        let plain = matches!(error, ConnectionError::Refused | ConnectionError::Reset);
        Self::new(Fate::Failed, error.name(), if plain { String::new() } else { error.to_string() })
    }
}
