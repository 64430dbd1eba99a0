//! What a run is told: which deployment, for how long, within which limits.

use crate::wire::bounds::Bounds;
use firstcheck_model::{
    run::{CacheState, PairPlace, RunId},
    slo::Slo,
};
use firstcheck_observe::{Address, otlp::Receiver};
use serde_json::{Map, Value};
use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

/// Which interface of the deployment is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Api {
    /// `/v1/chat/completions`
    #[default]
    Chat,
    /// `/v1/completions`
    Completions,
}

impl Api {
    /// The path behind the deployment's base.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
        }
    }
}

/// A key to be sent as bearer token. It is never shown and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// A key that cannot be used. The key itself is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The environment variable is not set.
    #[error("the environment variable {0} holds no key: set it, or leave out the option")]
    Unset(String),
    /// Not all of it can stand in a header.
    #[error("the key in {0} is empty or holds characters that cannot be sent in a header")]
    Characters(String),
}

impl Key {
    /// The key in the environment variable `name`.
    ///
    /// # Errors
    /// [`KeyError`] when it is not set or cannot be sent.
    pub fn from_env(name: &str) -> Result<Self, KeyError> {
        let key = std::env::var(name).map_err(|_| KeyError::Unset(name.to_owned()))?;
        Self::new(key.trim(), name)
    }

    /// `key`, which comes from `source` (named in errors).
    ///
    /// # Errors
    /// [`KeyError::Characters`].
    pub fn new(key: &str, source: &str) -> Result<Self, KeyError> {
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(KeyError::Characters(source.to_owned()));
        }
        Ok(Self(key.to_owned()))
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

/// Which deployment is asked, and how.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its address; a `/v1` at the end is taken off.
    pub address: Address,
    /// Chat or plain completions.
    pub api: Api,
    /// Model to ask for; `None`: the first that `/v1/models` names.
    pub model: Option<String>,
    /// Whether answers are streamed.
    pub streaming: bool,
    /// Whether a stream is asked to end with token counts (`stream_options.include_usage`).
    pub include_usage: bool,
    /// Further fields of each request's body; they win over those that the workload sets.
    pub extra_body: Map<String, Value>,
    /// Further headers of each request. Not stored: they may hold secrets.
    pub headers: Vec<(String, String)>,
    /// Key to send.
    pub key: Option<Key>,
    /// PEM file with certificate authorities to accept besides the system's.
    pub authorities: Option<PathBuf>,
}

impl Target {
    /// A deployment that is asked for streamed chat answers with token counts.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            api: Api::Chat,
            model: None,
            streaming: true,
            include_usage: true,
            extra_body: Map::new(),
            headers: Vec::new(),
            key: None,
            authorities: None,
        }
    }
}

/// Where a run gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests in flight at a time; an open loop waits for a place, which shows as send lag.
    pub in_flight: usize,
    /// Failed and timed-out requests after which the run ends as interrupted; `None`: never.
    pub errors: Option<u64>,
    /// Longest time from the send of a request to its end.
    pub request: Duration,
    /// Longest time without a byte while an answer is awaited.
    pub stall: Duration,
    /// Longest time to open a connection.
    pub connect: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 8192,
            errors: Some(1000),
            request: Duration::from_secs(600),
            stall: Duration::from_secs(120),
            connect: Duration::from_secs(10),
        }
    }
}

/// What is read of the deployment besides its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrape {
    /// Whether `/metrics` is read at all.
    pub metrics: bool,
    /// Time between two scrapes.
    pub interval: Duration,
    /// Further pages, by name and URL (DCGM, node exporter).
    pub pages: Vec<(String, String)>,
}

impl Default for Scrape {
    fn default() -> Self {
        Self { metrics: true, interval: Duration::from_secs(5), pages: Vec::new() }
    }
}

/// Spans that the deployment's services export while the run goes on.
#[derive(Debug, Clone)]
pub struct Spans {
    /// Takes them. One may serve several runs, one after the other.
    pub receiver: Arc<Receiver>,
    /// How long they are awaited after the last answer: exporters send what they have each few seconds.
    pub late: Duration,
}

/// Beyond which values the client does not believe itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Smallest share of the planned load that must have been driven; below it the run is invalid.
    pub driven_share: f64,
    /// Largest 99th percentile of the send lag, seconds; above it TTFT and E2E hold the client's own delay.
    pub send_lag_p99_s: f64,
    /// Largest share of event gaps that arrived together; above it nothing can be said of single gaps.
    pub coalesced_share: f64,
    /// Largest delay between kernel and client as a share of the median event gap, at the median.
    pub delay_share: f64,
    /// Longest stall of the client's own loop, seconds; above it the longest gap may be the client's.
    pub stall_s: f64,
    /// Largest CPU share of one core; above it the client is the bottleneck and the run invalid.
    pub cpu_share: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            driven_share: 0.95,
            send_lag_p99_s: 0.05,
            coalesced_share: 0.05,
            delay_share: 0.1,
            stall_s: 0.1,
            cpu_share: 0.95,
        }
    }
}

/// How a run goes.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its identity.
    pub run: RunId,
    /// The tool that writes it, with its version.
    pub tool: String,
    /// Seed of the workload, to be noted.
    pub seed: Option<u64>,
    /// Its place in an experiment, to be noted.
    pub place: Option<PairPlace>,
    /// The SLO it is measured under, to be noted.
    pub slo: Option<Slo>,
    /// Offered rate over the highest rate without a growing queue, to be noted where it is known.
    pub load: Option<f64>,
    /// Files to keep with the run as they are when it ends: the log of a server that was started for it.
    pub attach: Vec<PathBuf>,
    /// State of the prefix cache, to be noted.
    pub cache: CacheState,
    /// Time before the window, from the first request on.
    pub warm_up: Duration,
    /// Length of the window; `None`: to the end of the trace.
    pub duration: Option<Duration>,
    /// Closed loop: the streams start spread evenly over this time, so that they do not march in step.
    pub ramp: Duration,
    /// How long answers are awaited after the last send; what is then still in flight is cancelled.
    pub drain: Duration,
    /// Event loops, each a thread of its own.
    pub shards: usize,
    /// Where it gives up.
    pub limits: Limits,
    /// What one answer may make the client hold.
    pub bounds: Bounds,
    /// What is read besides answers.
    pub scrape: Scrape,
    /// Where spans come from.
    pub spans: Option<Spans>,
    /// When the client does not believe itself.
    pub thresholds: Thresholds,
}

impl Options {
    /// A run to the end of its trace, without warm-up.
    pub fn new(run: RunId) -> Self {
        Self {
            run,
            tool: concat!("firstcheck ", env!("CARGO_PKG_VERSION")).to_owned(),
            seed: None,
            place: None,
            slo: None,
            load: None,
            attach: Vec::new(),
            cache: CacheState::Unknown,
            warm_up: Duration::ZERO,
            duration: None,
            ramp: Duration::ZERO,
            drain: Duration::from_secs(60),
            shards: 1,
            limits: Limits::default(),
            bounds: Bounds::default(),
            scrape: Scrape::default(),
            spans: None,
            thresholds: Thresholds::default(),
        }
    }
}
