//! The processes between the network and the engine's core.

use super::error::{ConfigError, seconds, within};
use serde::{Deserialize, Serialize};

/// API servers: each does one thing at a time, tokenising prompts and rendering tokens in the order in which they come.
/// Their work adds to `frontend_seconds`, which takes nobody's time but the request's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Frontend {
    /// Processes; requests go to them in turn.
    pub processes: u32,
    /// Work a request, seconds.
    pub request_seconds: f64,
    /// Work a prompt token, seconds: the tokeniser.
    pub prompt_token_seconds: f64,
    /// Work a generated token, seconds: the detokeniser.
    pub token_seconds: f64,
    /// Work an event, seconds: rendering and writing it.
    pub event_seconds: f64,
    /// Tokens an event; the first token of an answer always goes out by itself, and its end with what there is.
    pub stream_interval: u32,
    /// Tokens at the start of an answer that a parser holds back until it has all of them (a tool call, a reasoning
    /// block); 0: none.
    pub held_tokens: u32,
}

impl Default for Frontend {
    fn default() -> Self {
        Self {
            processes: 1,
            request_seconds: 0.0,
            prompt_token_seconds: 0.0,
            token_seconds: 0.0,
            event_seconds: 0.0,
            stream_interval: 1,
            held_tokens: 0,
        }
    }
}

impl Frontend {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        within("frontend.processes", self.processes, 1, 1024, "1 to 1024")?;
        seconds("frontend.request_seconds", self.request_seconds)?;
        seconds("frontend.prompt_token_seconds", self.prompt_token_seconds)?;
        seconds("frontend.token_seconds", self.token_seconds)?;
        seconds("frontend.event_seconds", self.event_seconds)?;
        within("frontend.stream_interval", self.stream_interval, 1, u32::MAX, "1 or more")
    }
}
