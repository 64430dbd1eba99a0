//! A run: what was measured, of what, with what workload, and whether the client can be trusted.

use crate::{
    fingerprint::Fingerprint,
    metric::{Metric, Stat},
    moment::Window,
    slo::Slo,
    unit::Seconds,
};
use serde::{Deserialize, Serialize};

/// Identity of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

/// Which side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What is known to be good.
    Base,
    /// What is in question.
    Candidate,
}

impl Role {
    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Candidate => "candidate",
        }
    }
}

/// Where a run stands in an experiment of pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairPlace {
    /// The experiment.
    pub experiment: String,
    /// The pair: runs of both roles with the same number replayed the same trace side by side.
    pub pair: u32,
    /// Which side.
    pub role: Role,
    /// 0 when it ran first of its pair, 1 when second.
    pub order: u8,
    /// Device it ran on, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The condition it was measured under, by name (`cold`, `high load`), where the experiment has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// Pairs at which its experiment planned to look, the last included; empty: once, at the end. What was looked at more
    /// than once may spend less of its error at each look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
}

/// The clock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Unix time of the run's moment 0, nanoseconds; `None` in virtual time or where a file does not say.
    pub started_unix_ns: Option<i64>,
    /// Whether time passed for real.
    pub kind: ClockKind,
}

/// Whether time passed for real.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// A monotonic clock of a machine.
    Real,
    /// Simulated time.
    Virtual,
    /// No time is known, only an order: moments say what came before what, and their differences are no durations.
    Order,
}

/// Where a run's rows come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Measured by firstcheck.
    Measured,
    /// Computed by the simulated engine.
    Simulated,
    /// Read from what a deployment said of itself while others used it; nothing was offered and no request is known.
    Observed,
    /// Read from another tool's result file.
    Imported {
        /// The tool (`vllm bench serve`, `aiperf`, …).
        tool: String,
    },
}

/// How much a run knows of each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Every event of every request.
    Events,
    /// Every request, no events.
    Requests,
    /// Some of the requests only: quantiles come from [`RunInfo::reported`].
    Sample {
        /// How many requests there were in all, if the file says so.
        of: Option<u64>,
    },
    /// Summaries only: everything comes from [`RunInfo::reported`].
    Summary,
}

/// A figure that a foreign file reports and that cannot be recomputed from its rows: shown without an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// Which metric.
    pub metric: Metric,
    /// Which statistic.
    pub stat: Stat,
    /// The value in the metric's own unit.
    pub value: f64,
    /// Samples behind it, if the file says so.
    pub n: Option<u64>,
}

/// Whether a run ended as planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum RunState {
    /// Ended as planned, and every file is in place.
    Complete,
    /// Ended early, or was found without its end.
    Interrupted {
        /// Why.
        reason: String,
    },
}

/// How requests arrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "loop")]
pub enum Arrivals {
    /// By a plan, whatever the server does.
    Open {
        /// Offered requests a second.
        rate: f64,
        /// Squared coefficient of variation's root: 1 is Poisson, 0 constant, above 1 bursty; `None` for a trace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cv: Option<f64>,
    },
    /// A fixed number of streams, each sending its next request when the last has ended.
    Closed {
        /// Streams.
        concurrency: u32,
    },
    /// The file does not say.
    Unknown,
}

/// State of the prefix cache when the window began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// Fresh server or salted prompts: nothing shared with an earlier run.
    Cold,
    /// Prompts of an earlier run may be cached.
    Warm,
    /// Not known.
    Unknown,
}

/// What was offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadInfo {
    /// In words.
    pub description: String,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// Hash of the offered trace without its salt (arrival offsets, prompt structure, lengths): equal means same trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_hash: Option<String>,
    /// Salt put in front of each prompt, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// Whether answers were streamed; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Warm-up before the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Seconds>,
    /// State of the prefix cache when the window began.
    pub cache: CacheState,
}

/// Whether a metric may be believed of this client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Doubt {
    /// The metric that may not be believed; `None`: the whole run.
    pub metric: Option<Metric>,
    /// Why, with the numbers.
    pub reason: String,
}

/// What the client found out about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientHealth {
    /// Median of actual minus intended send.
    pub send_lag_p50: Option<Seconds>,
    /// 99th percentile of actual minus intended send.
    pub send_lag_p99: Option<Seconds>,
    /// Longest stall of the client's event loop.
    pub longest_stall: Option<Seconds>,
    /// CPU seconds the client used a second, of one core.
    pub cpu_share: Option<f64>,
    /// Share of event gaps too short to have been paced by a server.
    pub coalesced_share: Option<f64>,
    /// Share of events that carry a kernel receive time.
    pub stamped_share: Option<f64>,
    /// Kernel receive to client read, median.
    pub delay_p50: Option<Seconds>,
    /// Kernel receive to client read, 99th percentile.
    pub delay_p99: Option<Seconds>,
    /// Requests sent of those planned for the time the run took.
    pub driven_share: Option<f64>,
    /// Processes that ran or waited a core of the client's host, over the minute before the run.
    #[serde(default)]
    pub host_load: Option<f64>,
    /// What may not be believed, and why. Empty: everything may.
    pub doubts: Vec<Doubt>,
}

impl ClientHealth {
    /// Why the run as a whole is invalid, if it is.
    pub fn invalid(&self) -> Option<&str> {
        self.doubts.iter().find(|d| d.metric.is_none()).map(|d| d.reason.as_str())
    }

    /// Why `metric` may not be believed, if it may not.
    pub fn doubt(&self, metric: Metric) -> Option<&str> {
        self.doubts.iter().find(|d| d.metric.is_none_or(|m| m == metric)).map(|d| d.reason.as_str())
    }
}

/// Everything about a run but its rows: what `run.json` holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Identity.
    pub id: RunId,
    /// The tool that wrote it, with its version.
    pub tool: String,
    /// Where the rows come from.
    pub origin: Origin,
    /// Its clock.
    pub clock: Clock,
    /// Whether it ended as planned.
    pub state: RunState,
    /// The measured window; `None`: the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Seed of everything random in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Its place in an experiment of pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PairPlace>,
    /// What the deployment is.
    #[serde(default)]
    pub fingerprint: Fingerprint,
    /// What was offered.
    pub workload: WorkloadInfo,
    /// The SLO it was measured under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// Offered rate over the highest rate without a growing queue, where a sweep or calibration established it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// What the client found out about itself; `None`: another tool's client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientHealth>,
    /// How much it knows of each request.
    pub detail: Detail,
    /// Figures of a foreign file that its rows cannot give.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reported: Vec<Reported>,
    /// What a reader should know (`host load 17`, `12 lines unread`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What its file says twice and differently, in so much of it that nothing may be concluded from its numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<String>,
}

impl RunInfo {
    /// A run of which nothing but its origin and workload is known yet.
    pub fn new(id: RunId, tool: impl Into<String>, origin: Origin, clock: Clock, workload: WorkloadInfo) -> Self {
        Self {
            id,
            tool: tool.into(),
            origin,
            clock,
            state: RunState::Complete,
            window: None,
            seed: None,
            place: None,
            fingerprint: Fingerprint::default(),
            workload,
            slo: None,
            load: None,
            client: None,
            detail: Detail::Events,
            reported: Vec::new(),
            warnings: Vec::new(),
            contradictions: Vec::new(),
        }
    }

    /// What a reader should know, the contradictions first.
    pub fn remarks(&self) -> impl Iterator<Item = &String> {
        self.contradictions.iter().chain(&self.warnings)
    }
}
