//! What a check concludes.

use crate::measurement::{Fact, Missing};
use serde::{Deserialize, Serialize};

/// How bad a symptom is; decides the exit code under `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Costs something.
    Minor,
    /// Users notice.
    Major,
    /// Users are not served.
    Critical,
}

/// The six families of symptoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// The first token is late.
    FirstToken,
    /// The stream stutters after the first token.
    Stream,
    /// Memory, preemption and start-up.
    Memory,
    /// Slower than the arithmetic says.
    Arithmetic,
    /// The outputs changed.
    Outputs,
    /// Two numbers that cannot both be right.
    Numbers,
}

/// The next measurement, and the command that takes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FollowUp {
    /// What to measure and what its outcome would mean.
    pub measure: String,
    /// The command.
    pub command: String,
    /// Requests it would send; 0 = it only reads.
    pub requests: u32,
    /// A reversible mitigation, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mitigation: Option<String>,
}

/// Where a cause stands. Support and exclusion carry their facts, open carries what is missing: a bare status does not
/// compile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum Cause {
    /// The evidence speaks for it.
    Supported {
        /// Its name within the check.
        id: String,
        /// What it means.
        means: String,
        /// For it.
        facts: Vec<Fact>,
        /// What to measure next.
        follow_up: FollowUp,
    },
    /// The evidence speaks against it.
    Excluded {
        /// Its name within the check.
        id: String,
        /// What it means.
        means: String,
        /// Against it.
        facts: Vec<Fact>,
    },
    /// Not told by the evidence there is.
    Open {
        /// Its name within the check.
        id: String,
        /// What it means.
        means: String,
        /// What is missing.
        missing: Vec<Missing>,
        /// What to measure next.
        follow_up: FollowUp,
    },
}

impl Cause {
    /// Its name within the check.
    pub fn id(&self) -> &str {
        match self {
            Self::Supported { id, .. } | Self::Excluded { id, .. } | Self::Open { id, .. } => id,
        }
    }

    /// Whether the evidence speaks for it.
    pub fn is_supported(&self) -> bool {
        matches!(self, Self::Supported { .. })
    }
}

/// How much of a difference a finding explains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// Of which metric.
    pub metric: String,
    /// The whole difference.
    pub delta: f64,
    /// The part this finding explains.
    pub explained: f64,
    /// Unit of both.
    pub unit: String,
    /// How the part was computed.
    pub basis: String,
}

/// A check's conclusion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// The symptom is there.
    Present {
        /// What shows it.
        facts: Vec<Fact>,
        /// Each cause with where it stands.
        causes: Vec<Cause>,
        /// How much of the difference it explains, where that can be computed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explains: Option<Explained>,
    },
    /// The symptom is not there.
    Absent {
        /// What shows that.
        why: Vec<Fact>,
    },
    /// The evidence does not tell.
    Undecided {
        /// What is missing.
        missing: Vec<Missing>,
    },
    /// The check does not apply to this deployment.
    NotApplicable {
        /// Why not.
        why: String,
    },
}

/// A check's outcome with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The check's code (`S15`).
    pub code: String,
    /// The check's slug.
    pub slug: String,
    /// The symptom in words.
    pub symptom: String,
    /// How bad it is when present.
    pub severity: Severity,
    /// Code of the finding that brought it about, where one did: it is shown under that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consequence_of: Option<String>,
    /// The conclusion.
    #[serde(flatten)]
    pub outcome: Outcome,
}
