//! Whether two sides may be compared: one ruling for each thing that stands in the way, or that a reader should know.

use serde::{Deserialize, Serialize};

/// How much a ruling weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// What it reaches must not be compared.
    Blocks,
    /// It may be compared; the difference may have another cause than the one in question.
    Warns,
    /// Worth knowing.
    Notes,
}

impl Level {
    /// In words, as a verb.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Warns => "warns",
            Self::Notes => "notes",
        }
    }
}

/// What a ruling is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Every metric.
    Everything,
    /// Latencies that hold the wait in the queue: TTFT, E2E, queue time.
    Queue,
    /// What the engine itself counts: its means, rates of its counters.
    EngineCounters,
}

impl Reach {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Queue => "what holds the wait in the queue",
            Self::EngineCounters => "what the engine counts",
        }
    }
}

/// What one rule found between two sides, or in one run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ruling {
    /// How much it weighs.
    pub level: Level,
    /// What it is about.
    pub reach: Reach,
    /// The rule, for programs.
    pub rule: String,
    /// Why, with the numbers.
    pub reason: String,
    /// What would mend it.
    pub mend: String,
}
