//! What the first screen of a diagnosis shows beside its findings: what changed, and what would settle most.

use crate::{
    metric::Metric,
    report::{Claim, Quantity},
};
use serde::{Deserialize, Serialize};

/// A metric that got worse against the base, or since the onset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Which metric.
    pub metric: Metric,
    /// Which statistic (`p95`, `mean`, `total`).
    pub stat: String,
    /// Unit of both values.
    pub unit: String,
    /// Before.
    pub base: Quantity,
    /// Now.
    pub candidate: Quantity,
    /// Samples behind both.
    pub n: [Option<u64>; 2],
    /// What may be claimed of it.
    #[serde(default = "shown")]
    pub claim: Claim,
    /// The stage that took most of the difference; null where nothing splits it.
    pub stage: Option<StagePart>,
    /// On how many replicas; null where nothing tells replicas apart.
    pub replicas: Option<Affected>,
}

fn shown() -> Claim {
    Claim::Shown
}

/// A stage's part of a difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StagePart {
    /// The stage by what it contains.
    pub stage: String,
    /// How much longer it took, seconds.
    pub delta: f64,
    /// Its share of the difference; null where the total did not change for certain.
    pub share: Option<f64>,
    /// `spans` or `histogram means`.
    pub basis: String,
}

/// How many replicas a change is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Affected {
    /// Replicas that got worse by at least half as much as the whole.
    pub worse: Vec<String>,
    /// Replicas that both sides tell of.
    pub of: u64,
}

/// When it began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Began {
    /// The run.
    pub run: String,
    /// Seconds on the run's clock.
    pub at_s: f64,
    /// Unix seconds; null where the run does not tell.
    pub unix_s: Option<f64>,
}

/// Something that is missing, and what it would settle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settles {
    /// What is missing.
    pub what: String,
    /// The command or artefact that supplies it.
    pub obtain: String,
    /// Open causes of symptoms that are there, as `S15 leaked-pages`.
    pub causes: Vec<String>,
    /// Checks that could not tell their symptom, by code.
    pub checks: Vec<String>,
}
