//! One report structure for every verb; renderers only lay it out.

use crate::{
    comparability::Ruling,
    figure::Figures,
    finding::Finding,
    fingerprint::{Fingerprint, Group, Impact},
    first_look::{Began, Change, Settles},
    isolation::Isolation,
    metric::{Metric, Stat},
    run::{ClientHealth, Origin, Role, RunId, RunState},
    sweep::Sweep,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::collections::BTreeMap;

/// Version of the JSON report.
pub const SCHEMA: &str = "firstcheck.report/1";

/// What a comparison or gate concludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every gated metric is shown to be no worse than its margin.
    Pass,
    /// A gated metric is shown to be worse than its margin.
    Fail,
    /// The data cannot decide.
    Inconclusive,
    /// The two sides may not be compared.
    NotComparable,
    /// Nothing was judged.
    None,
}

/// A number, or the quantile that reaches unanswered requests.
///
/// In JSON a number or `{"unbounded": true}`; never null, which is missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    /// A finite number.
    Finite(f64),
    /// It reaches requests that were never answered.
    Unbounded,
}

impl Quantity {
    /// `value` as a quantity: `+∞` is unbounded; NaN has no quantity.
    pub fn of(value: f64) -> Option<Self> {
        if value.is_nan() {
            None
        } else if value.is_finite() {
            Some(Self::Finite(value))
        } else {
            Some(Self::Unbounded)
        }
    }

    /// The number, if finite.
    pub fn finite(self) -> Option<f64> {
        match self {
            Self::Finite(value) => Some(value),
            Self::Unbounded => None,
        }
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Finite(value) => serializer.serialize_f64(*value),
            Self::Unbounded => BTreeMap::from([("unbounded", true)]).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        match (&value, value.get("unbounded")) {
            (serde_json::Value::Number(number), _) => {
                number.as_f64().map(Self::Finite).ok_or_else(|| D::Error::custom("number out of range"))
            }
            (_, Some(serde_json::Value::Bool(true))) => Ok(Self::Unbounded),
            _ => Err(D::Error::custom("expected a number or {\"unbounded\": true}")),
        }
    }
}

/// What a metric's comparison may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Worse, beyond the margin.
    Regressed,
    /// Worse, but within the margin.
    RegressedWithinMargin,
    /// Better.
    Improved,
    /// Not worse than the margin.
    NonInferior,
    /// Cannot be told.
    Inconclusive,
    /// Both values are shown; nothing is claimed.
    Shown,
    /// Too few requests for this quantile, or a client that cannot speak of it.
    NotClaimable,
    /// The two sides differ in what was offered.
    NotComparable,
}

/// One metric of a comparison (or of a single run, which fills `candidate` alone).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricRow {
    /// Which metric.
    pub metric: Metric,
    /// Its quantile; null for a mean or a total.
    pub quantile: Option<f64>,
    /// Which statistic, in words (`p95`, `mean`, `total`).
    pub stat: String,
    /// Unit of `base` and `candidate`.
    pub unit: String,
    /// The slice of requests; null for all.
    pub slice: Option<String>,
    /// The cell it was measured under; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// Base's value; null when missing.
    pub base: Option<Quantity>,
    /// Candidate's value; null when missing.
    pub candidate: Option<Quantity>,
    /// candidate / base.
    pub ratio: Option<Quantity>,
    /// Interval of the ratio.
    pub interval: Option<[Quantity; 2]>,
    /// Confidence of the interval (0.95).
    pub confidence: Option<f64>,
    /// Samples behind base's and candidate's value.
    pub n: [Option<u64>; 2],
    /// Pairs behind the interval; 0 without pairs.
    pub pairs: u64,
    /// Smallest relative difference that would be found four times in five.
    pub mde: Option<f64>,
    /// Margin in force for this metric, relative; of the failed share in points, as its MDE.
    pub margin: Option<f64>,
    /// Whether the design only allows to show effects.
    pub exploratory: bool,
    /// What may be claimed.
    pub claim: Claim,
    /// Why not more, in words.
    pub note: Option<String>,
}

impl MetricRow {
    /// A row that shows values and claims nothing.
    pub fn shown(
        metric: Metric,
        stat: Stat,
        base: Option<Quantity>,
        candidate: Option<Quantity>,
        n: [Option<u64>; 2],
    ) -> Self {
        let ratio = match (base, candidate) {
            (Some(Quantity::Finite(b)), Some(Quantity::Finite(c))) if b != 0.0 => Quantity::of(c / b),
            (Some(Quantity::Finite(_)), Some(Quantity::Unbounded)) => Some(Quantity::Unbounded),
            _ => None,
        };
        let quantile = match stat {
            Stat::Quantile(p) => Some(p),
            _ => None,
        };
        Self {
            metric,
            quantile,
            stat: stat.to_string(),
            unit: metric.unit().into(),
            slice: None,
            cell: None,
            base,
            candidate,
            ratio,
            interval: None,
            confidence: None,
            n,
            pairs: 0,
            mde: None,
            margin: None,
            exploratory: true,
            claim: Claim::Shown,
            note: None,
        }
    }
}

/// One cell of a gate: a condition that is judged by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRow {
    /// Its name.
    pub cell: String,
    /// Whether a pass needs it.
    pub required: bool,
    /// What its pairs say.
    pub verdict: Verdict,
    /// Pairs measured under it.
    pub pairs: u64,
    /// Why, the most important first.
    pub why: Vec<String>,
}

/// Where time was gained or lost. The rows of one total (same `of`, same `basis`) add up to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageRow {
    /// The stage by what it contains; `unexplained` is what the others leave of the total.
    pub stage: String,
    /// Names of the stages in it that nothing tells apart; empty for what is not explained.
    #[serde(default)]
    pub contains: Vec<String>,
    /// What is split (`ttft p95`, `ttft mean`).
    pub of: String,
    /// Base's part.
    pub base: Option<f64>,
    /// Candidate's part.
    pub candidate: Option<f64>,
    /// candidate − base.
    pub delta: f64,
    /// Interval of the delta.
    pub interval: Option<[f64; 2]>,
    /// Unit of the delta.
    pub unit: String,
    /// Share of the total delta; null where the total did not change for certain.
    pub share: Option<f64>,
    /// `spans`, `histogram means`, or `not observable`: then the row is the total.
    pub basis: String,
    /// What would make it observable.
    #[serde(default)]
    pub note: Option<String>,
}

/// Where a signature stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignatureState {
    /// The comparison shows it.
    Present,
    /// The comparison shows that it is not there.
    Absent,
    /// What it would take to tell is missing.
    Unknown,
}

/// A check that splits a signature's causes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lead {
    /// Its code (`S15`).
    pub code: String,
    /// What it tells.
    pub tells: String,
}

/// A pattern of change that regressions are known by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignatureRow {
    /// Its name (`ttft-up-queue-up`).
    pub name: String,
    /// The pattern in words.
    pub means: String,
    /// Where it stands.
    pub state: SignatureState,
    /// Whether it is read off a design that only shows effects.
    pub exploratory: bool,
    /// What shows where it stands; empty while unknown.
    pub facts: Vec<String>,
    /// What it would take to tell; empty otherwise.
    pub missing: Vec<String>,
    /// The checks that split its causes.
    pub checks: Vec<Lead>,
}

/// One run of a side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Identity.
    pub id: RunId,
    /// Path or address.
    pub label: String,
    /// Where its rows come from.
    pub origin: Origin,
    /// Whether it ended as planned.
    pub state: RunState,
    /// Pair it belongs to.
    pub pair: Option<u32>,
    /// Workload in words.
    pub workload: String,
    /// Length of the window, seconds.
    pub window_s: Option<f64>,
    /// Requests in the window.
    pub requests: u64,
    /// Requests of the window by fate.
    pub fates: BTreeMap<String, u64>,
    /// Failures by reason, most frequent first in the order of the map's counts.
    pub errors: BTreeMap<String, u64>,
    /// What the client found out about itself.
    pub client: Option<ClientHealth>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// One side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SideReport {
    /// What the deployment is (of its first run).
    pub fingerprint: Fingerprint,
    /// Its runs.
    pub runs: Vec<RunRow>,
}

/// Both sides; a single run or deployment is the candidate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sides {
    /// What is known to be good.
    pub base: Option<SideReport>,
    /// What is in question.
    pub candidate: Option<SideReport>,
}

/// Something that was given and could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The file.
    pub path: String,
    /// The line, counted from 1, where there is one.
    pub line: Option<u64>,
    /// Why.
    pub reason: String,
}

/// Something that was given and read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadRow {
    /// The file; `archive!path` inside an archive, `-` for standard input.
    pub path: String,
    /// What it is, for programs.
    pub format: String,
    /// What it is, in words.
    pub what: String,
    /// How much was read.
    pub rows: u64,
    /// Of what (`lines`, `samples`, `requests`).
    pub unit: String,
    /// Start of what it covers, Unix seconds; null where it does not tell.
    pub from_unix_s: Option<f64>,
    /// End of what it covers, Unix seconds; null where it does not tell.
    pub to_unix_s: Option<f64>,
    /// Length of what it covers, seconds; null where it does not tell.
    pub length_s: Option<f64>,
    /// The engine it speaks of.
    pub engine: Option<String>,
    /// The engine's version.
    pub version: Option<String>,
    /// The replicas and ranks it tells apart.
    pub replicas: Vec<String>,
    /// What a reader should know of it.
    pub notes: Vec<String>,
}

/// Something well-formed that says nothing to firstcheck: a line of a log, a series of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotUnderstood {
    /// The file.
    pub path: String,
    /// `line` or `series`.
    pub what: String,
    /// What groups them: a metric's name, the module that wrote a line.
    pub kind: String,
    /// How many there are.
    pub count: u64,
    /// The first one's line, counted from 1, where there is one.
    pub line: Option<u64>,
    /// The first one, as far as it is kept.
    pub example: String,
}

/// Lines of a file that a finding rests on, without secrets and without texts of requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// The file, as sources name it.
    pub path: String,
    /// The first line, counted from 1.
    pub line: u32,
    /// The lines.
    pub quote: String,
}

/// A threshold in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// What it does.
    pub meaning: String,
}

/// How a difference between two deployments came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// Somebody set it: an option, an environment variable, another version, another model.
    Given,
    /// Nobody set it on either side: the two versions have different defaults.
    DefaultChanged,
    /// Hardware, driver, libraries, host, network.
    Environment,
    /// The engine computed it from everything else (KV blocks from the memory that was left).
    Computed,
    /// Whether somebody set it is not known: a side's options are not.
    Untold,
}

impl Came {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::DefaultChanged => "default changed",
            Self::Environment => "environment",
            Self::Computed => "computed",
            Self::Untold => "given or default, not told",
        }
    }
}

/// A difference between the two sides' fingerprints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Field.
    pub field: String,
    /// What it speaks of.
    pub group: Group,
    /// Base's value.
    pub base: String,
    /// Candidate's value.
    pub candidate: String,
    /// Where base's value was read.
    pub base_from: String,
    /// Where the candidate's value was read.
    pub candidate_from: String,
    /// How it came about.
    pub came: Came,
    /// What the field is known to do to serving.
    pub impact: Impact,
    /// That in words; null where nothing is known.
    pub effect: Option<String>,
    /// Between which versions the default is known to have changed, in words; null where it is not.
    pub since: Option<String>,
}

/// A field that one side states and the other does not: whether it differs is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneSided {
    /// Field.
    pub field: String,
    /// What it speaks of.
    pub group: Group,
    /// The side that states it.
    pub side: Role,
    /// Its value.
    pub value: String,
    /// Where it was read.
    pub from: String,
}

/// What a verb found: the one structure that every renderer and the exit code read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The verb that made it.
    pub verb: String,
    /// The conclusion.
    pub verdict: Verdict,
    /// Why, in words, the most important first.
    pub why: Vec<String>,
    /// Why the data as a whole may not be believed (invalid client, interrupted run); empty otherwise.
    pub invalid: Vec<String>,
    /// Both sides.
    pub sides: Sides,
    /// Whether the sides may be compared: what stands in the way, the weightiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparability: Vec<Ruling>,
    /// What differs between the deployments, the most telling first.
    pub differences: Vec<Difference>,
    /// What only one of the deployments states, the most telling first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_sided: Vec<OneSided>,
    /// Cells of the gate; empty where all pairs were judged as one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellRow>,
    /// Metrics.
    pub metrics: Vec<MetricRow>,
    /// Where time was gained or lost.
    pub stages: Vec<StageRow>,
    /// Signatures of a comparison, those that are there first; empty where nothing is compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<SignatureRow>,
    /// What got worse against the base or since the onset, the most first; empty where nothing is compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// When it began, where a run got worse by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Began>,
    /// Codes of the checks that were asked about alone; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// Which factor or version makes it worse; absent where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// At which rate the objective breaks; absent where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// Distributions and series, for drawing.
    #[serde(default, skip_serializing_if = "Figures::is_empty")]
    pub figures: Figures,
    /// What the checks found.
    pub findings: Vec<Finding>,
    /// What is missing, what would settle most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settles: Vec<Settles>,
    /// What was given and read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<ReadRow>,
    /// What was given and could not be read.
    pub unread: Vec<Unread>,
    /// What was read and not understood, by file and kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_understood: Vec<NotUnderstood>,
    /// Lines that findings rest on, as far as they may be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<Quote>,
    /// The call that made it, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// How long it took to read and to ask, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_s: Option<f64>,
    /// Seed of everything random behind it.
    pub seed: Option<u64>,
    /// The tool with its version.
    pub tool: String,
    /// Every threshold in force.
    pub parameters: BTreeMap<String, Parameter>,
}

impl Report {
    /// An empty report of `verb`.
    pub fn new(verb: impl Into<String>, tool: impl Into<String>) -> Self {
        Self {
            schema: SCHEMA.into(),
            verb: verb.into(),
            verdict: Verdict::None,
            why: Vec::new(),
            invalid: Vec::new(),
            sides: Sides::default(),
            comparability: Vec::new(),
            differences: Vec::new(),
            one_sided: Vec::new(),
            cells: Vec::new(),
            metrics: Vec::new(),
            stages: Vec::new(),
            signatures: Vec::new(),
            changes: Vec::new(),
            began: None,
            asked: Vec::new(),
            isolation: None,
            sweep: None,
            figures: Figures::default(),
            findings: Vec::new(),
            settles: Vec::new(),
            read: Vec::new(),
            unread: Vec::new(),
            not_understood: Vec::new(),
            quotes: Vec::new(),
            command: None,
            notes: Vec::new(),
            took_s: None,
            seed: None,
            tool: tool.into(),
            parameters: BTreeMap::new(),
        }
    }

    /// The row of that metric and statistic over all requests.
    pub fn metric(&self, metric: Metric, stat: &str) -> Option<&MetricRow> {
        self.metrics.iter().find(|row| row.metric == metric && row.stat == stat && row.slice.is_none())
    }
}
