//! Per-request stage spans.

use crate::moment::Moment;
use serde::{Deserialize, Serialize};

/// A stage of a request's life. Stages of one request do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Between the client and the engine's front.
    Network,
    /// Tokenising the prompt.
    Tokenize,
    /// Waiting to be taken in by the engine's core.
    EngineInput,
    /// Waiting to be scheduled for the first time.
    Queue,
    /// First scheduled to first token.
    Prefill,
    /// Transfer of KV between pools.
    KvTransfer,
    /// First to last token.
    Decode,
    /// Waiting after a preemption, where spans tell it apart.
    Preempted,
    /// From the engine's last token to the client.
    Flush,
}

impl Stage {
    /// All stages, in the order of a request's life.
    pub const ALL: [Self; 9] = [
        Self::Network,
        Self::Tokenize,
        Self::EngineInput,
        Self::Queue,
        Self::Prefill,
        Self::KvTransfer,
        Self::Decode,
        Self::Preempted,
        Self::Flush,
    ];

    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Tokenize => "tokenize",
            Self::EngineInput => "engine_input",
            Self::Queue => "queue",
            Self::Prefill => "prefill",
            Self::KvTransfer => "kv_transfer",
            Self::Decode => "decode",
            Self::Preempted => "preempted",
            Self::Flush => "flush",
        }
    }

    /// The stage of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

/// One stage of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct StageSpan {
    /// Row of its request.
    pub request: u32,
    /// Which stage.
    pub stage: Stage,
    /// Its start.
    pub start: Moment,
    /// Its end.
    pub end: Moment,
    /// Replica that ran it, where it is known.
    pub replica: Option<String>,
}
