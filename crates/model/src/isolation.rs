//! What isolating a regression has found: which factor, or which version.

use crate::{metric::Metric, report::Quantity};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an experiment over factors or versions has found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Isolation {
    /// How it looked.
    pub method: Method,
    /// What is named as making it worse; empty: nothing is.
    pub culprits: Vec<Culprit>,
    /// Versions among which the first that is worse must be, where it is not known to the one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<String>,
    /// Combinations of levels: what was run and what may not be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub combinations: Vec<CombinationRow>,
    /// Effects of factors, metric by metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectRow>,
    /// Versions in the order in which they were judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRow>,
}

/// How a regression is isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// All combinations of the levels of factors.
    Factorial,
    /// Supported combinations from base to candidate that change one factor at a time.
    Path,
    /// Base against candidate: no supported combination lies between them.
    Whole,
    /// A search in an ordered list of versions.
    Bisection,
}

/// Something that is named as making it worse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Culprit {
    /// The factor or version.
    pub name: String,
    /// What it makes worse, and by how much.
    pub why: Vec<String>,
}

/// Whether a combination was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CombinationState {
    /// It was, or is to be.
    Run,
    /// The compatibility matrix forbids it.
    Forbidden,
    /// It is allowed, and the supported path does not need it.
    NotNeeded,
}

/// One combination of levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CombinationRow {
    /// Its name (`0.11 + 550`).
    pub name: String,
    /// The level of each factor.
    pub levels: BTreeMap<String, String>,
    /// Whether it was run.
    pub state: CombinationState,
    /// Why it is forbidden, where the matrix says.
    pub why: Option<String>,
    /// Runs of it.
    pub runs: u64,
    /// Typical value of each metric over its runs.
    pub values: Vec<TypicalValue>,
}

/// A metric's median over runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TypicalValue {
    /// The metric.
    pub metric: Metric,
    /// Its statistic.
    pub stat: String,
    /// The value.
    pub value: Quantity,
}

/// What an effect is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// One factor, averaged over the levels of the others.
    Main,
    /// How much the effect of one factor depends on another.
    Interaction,
    /// One factor at one level of the others.
    Alone,
    /// One step of a path of supported combinations.
    Step,
    /// From base to candidate.
    Whole,
}

/// What an effect may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClaim {
    /// It makes the metric worse.
    Worse,
    /// It makes the metric better.
    Better,
    /// The factors do not add up: what one does depends on the other.
    Interacts,
    /// Its interval excludes nothing, and it is too weak a sign for a claim over all that was looked at.
    MayInteract,
    /// Nothing is shown.
    Nothing,
    /// It is shown, and nothing is claimed of it.
    Shown,
}

/// One effect on one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectRow {
    /// What it is of, in words (`runtime`, `runtime × driver`, `driver at runtime 0.11`).
    pub effect: String,
    /// What kind.
    pub kind: EffectKind,
    /// The metric.
    pub metric: Metric,
    /// Its statistic.
    pub stat: String,
    /// `ratio` or, of shares, `odds`: what the ratio is one of.
    pub scale: String,
    /// Factor by which it multiplies the metric; of an interaction, by which it multiplies the other's factor.
    pub ratio: Option<f64>,
    /// Interval of the ratio.
    pub interval: Option<[f64; 2]>,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Blocks behind it.
    pub blocks: u64,
    /// Smallest relative change that would be found four times in five.
    pub mde: Option<f64>,
    /// p value over all effects of its family; null where it is in none.
    pub p: Option<f64>,
    /// What may be claimed.
    pub claim: EffectClaim,
    /// Why not more.
    pub note: Option<String>,
}

/// Where a version stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    /// Like the first version.
    Good,
    /// Worse than the first version.
    Bad,
    /// It cannot be told.
    Unknown,
}

/// One version that was judged against the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRow {
    /// The version.
    pub version: String,
    /// Its place in the list, from 1.
    pub place: u64,
    /// Where it stands.
    pub stand: Stand,
    /// Pairs that it took.
    pub pairs: u64,
    /// What was asked of (`ttft p95`).
    pub of: String,
    /// Version / first version.
    pub ratio: Option<Quantity>,
    /// Interval of the ratio.
    pub interval: Option<[Quantity; 2]>,
    /// Ratio that separates good from bad: half of the way to the last version, in log points.
    pub threshold: Option<f64>,
    /// Why, or why it cannot be told and what would tell it.
    pub why: String,
}
