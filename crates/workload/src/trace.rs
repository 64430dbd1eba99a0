//! The offered trace: what every run of an experiment replays.

use crate::{body, prompt::Prompt};
use firstcheck_model::{moment::Moment, run::Arrivals};

/// When a request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// At this moment of the run, whatever the server does.
    At(Moment),
    /// As soon as one of the closed loop's streams is free; rows are taken in order.
    WhenFree,
    /// `think_ns` after the request of that row ended (turns of a session).
    After {
        /// Row of the turn before; always a smaller row.
        row: u32,
        /// Think time in nanoseconds.
        think_ns: i64,
    },
}

/// One request of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// When it is due.
    pub due: Due,
    /// What it asks.
    pub prompt: Prompt,
    /// Output length to force (`max_tokens` with `ignore_eos`), where the workload fixes one.
    pub output_tokens: Option<u32>,
    /// Session it belongs to.
    pub session: Option<u32>,
}

/// A whole trace: equal traces make runs comparable.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// In words.
    pub description: String,
    /// How its requests arrive.
    pub arrivals: Arrivals,
    /// The requests; row *i* keeps its number in every run.
    pub items: Vec<Offered>,
    /// Salt put in front of each prompt: keeps the prefix structure, shares nothing with a run under another salt.
    pub salt: Option<String>,
}

impl Offered {
    /// Longest output that the request asks for: the forced length, or else the limit of a body as given.
    pub fn max_tokens(&self) -> Option<u32> {
        self.output_tokens.or_else(|| match &self.prompt {
            Prompt::Messages(_) => None,
            Prompt::Body(map) => body::max_tokens(map),
        })
    }
}

impl Trace {
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no request.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Tokens of all prompts, without the salt.
    pub fn prompt_tokens(&self) -> u64 {
        self.items.iter().map(|item| item.prompt.prompt_tokens()).sum()
    }

    /// The same trace under another salt; its hash stays.
    pub fn with_salt(self, salt: Option<String>) -> Self {
        Self { salt, ..self }
    }
}
