//! What an engine's log says, typed, each with its line.

use crate::{
    hang::CollectiveTimeout,
    moment::Moment,
    signal::Series,
    unit::{Bytes, Seconds},
};
use serde::{Deserialize, Serialize};

/// A log of one deployment: of one server, with all processes that write into it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EngineLog {
    /// How reports name it: the path it came from.
    pub label: String,
    /// The engine, once a line tells it.
    pub engine: Option<String>,
    /// Its version, once a line tells it.
    pub version: Option<String>,
    /// Lines read.
    pub lines: u64,
    /// Lines of the engine's own format that carry nothing known here.
    pub not_understood: u64,
    /// Options that the user gave.
    pub given: Vec<Setting>,
    /// Values that the engine resolved.
    pub resolved: Vec<Setting>,
    /// Line at which an orderly end began, from 1.
    pub stopped: Option<u64>,
    /// Line at which the last start begins, where the log tells of several; 0: it tells of one.
    pub began: u64,
    /// Steps of the start, in the order of the log.
    pub phases: Vec<Phase>,
    /// Terms of the memory ledger. Terms that the log level leaves out are missing here.
    pub memory: Vec<MemoryTerm>,
    /// Capacity of the KV cache.
    pub kv: KvCapacity,
    /// Kernels and backends that the engine chose.
    pub choices: Vec<Choice>,
    /// Compiled graphs found in a cache, and compiled anew.
    pub compile: CompileCache,
    /// Warnings and changes of defaults that cost speed.
    pub costly: Vec<Remark>,
    /// Events of operation: retractions, resets of a cache, failed transfers.
    pub events: Vec<Remark>,
    /// What connectors did with KV, in the order of the log.
    pub kv_operations: Vec<KvOperation>,
    /// Operations of connectors that are counted and not kept, of a log that has very many.
    pub kv_operations_dropped: u64,
    /// Failures, in the order of the log.
    pub failures: Vec<Failure>,
    /// Failures that are counted and not kept, of a log that has very many.
    pub failures_dropped: u64,
    /// Collectives that ranks gave up waiting for.
    pub collective_timeouts: Vec<CollectiveTimeout>,
    /// Statistics lines as series, under names such as `log:Running`.
    pub series: Vec<Series>,
}

impl EngineLog {
    /// The value that the engine resolved for an option, else the one that was given; of several starts the last one's.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        let of = |list: &'_ [Setting]| {
            let named = |setting: &Setting| setting.name == name;
            let last = list.iter().position(|setting| named(setting) && setting.line >= self.began);
            last.or_else(|| list.iter().position(named))
        };
        of(&self.resolved).map(|at| &self.resolved[at]).or_else(|| of(&self.given).map(|at| &self.given[at]))
    }

    /// Steps of the last start.
    pub fn last_start(&self) -> impl DoubleEndedIterator<Item = &Phase> {
        self.phases.iter().filter(|phase| phase.line >= self.began)
    }

    /// The last step of the last start that was reached.
    pub fn reached(&self) -> Option<StartPhase> {
        self.last_start().map(|phase| phase.phase).max()
    }

    /// The failure behind all others: the first that is no mere consequence, of the last start where that one failed. None
    /// where the server came up and no failure followed; that processes miss each other once they are told to end is none.
    pub fn root_cause(&self) -> Option<&Failure> {
        let ready = self.phases.iter().rev().find(|phase| phase.phase == StartPhase::Ready).map(|phase| phase.line);
        let last = self.failures.iter().any(|failure| failure.line >= self.began);
        let after = self.failures.iter().filter(|failure| ready.is_none_or(|ready| failure.line > ready));
        let after = after.filter(|failure| !last || failure.line >= self.began);
        let after = after.filter(|failure| failure.kind != FailureKind::Request);
        let ends = |failure: &Failure| self.stopped.is_some_and(|line| failure.line > line);
        let mut real = after.filter(|failure| !(failure.kind == FailureKind::Consequence && ends(failure))).peekable();
        let first = real.peek().copied();
        real.find(|failure| failure.kind != FailureKind::Consequence).or(first)
    }
}

/// An option with its value. Values of options that hold secrets are redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its name, as the engine writes it; of a nested one `outer.inner`.
    pub name: String,
    /// Its value, without quotes.
    pub value: String,
    /// Line, from 1.
    pub line: u64,
}

/// Steps of an engine's start, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartPhase {
    /// Options are read and resolved.
    Configuration,
    /// Ranks find each other.
    Distributed,
    /// Weights are loaded.
    Weights,
    /// The model is compiled.
    Compile,
    /// Memory is profiled.
    Profile,
    /// The KV cache is sized.
    KvCache,
    /// Graphs are captured.
    Graphs,
    /// The engine is initialised: warm-up is done.
    Initialised,
    /// The server takes requests.
    Ready,
}

impl StartPhase {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Distributed => "distributed set-up",
            Self::Weights => "loading weights",
            Self::Compile => "compiling the model",
            Self::Profile => "memory profiling",
            Self::KvCache => "sizing the KV cache",
            Self::Graphs => "capturing graphs",
            Self::Initialised => "engine initialised",
            Self::Ready => "server ready",
        }
    }
}

/// A step of the start that was reached, or completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Which.
    pub phase: StartPhase,
    /// The process that tells it, as the log names it.
    pub process: Option<String>,
    /// How long it took, where the line says so.
    pub length: Option<Seconds>,
    /// When, on the log's own clock.
    pub at: Option<Moment>,
    /// Line, from 1.
    pub line: u64,
}

/// Terms of the memory ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// Memory of the device.
    Total,
    /// Free when the engine started.
    FreeAtStart,
    /// What the engine may use: total × utilisation.
    Budget,
    /// Weights.
    Weights,
    /// Peak of activations while profiling.
    ActivationPeak,
    /// Memory outside the framework's allocator.
    NonTorch,
    /// All but the KV cache.
    NonKv,
    /// Captured graphs as estimated before.
    GraphsEstimated,
    /// Captured graphs as they turned out.
    GraphsActual,
    /// What is left for the KV cache.
    KvCache,
    /// KV cache that one sequence of the greatest length needs.
    KvNeeded,
    /// KV cache of a size that was set by hand.
    KvAsked,
}

impl Term {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Total => "memory of the device",
            Self::FreeAtStart => "free when the engine started",
            Self::Budget => "what the engine may use",
            Self::Weights => "weights",
            Self::ActivationPeak => "peak of activations",
            Self::NonTorch => "memory outside the framework",
            Self::NonKv => "everything but the KV cache",
            Self::GraphsEstimated => "estimate for graphs",
            Self::GraphsActual => "captured graphs",
            Self::KvCache => "KV cache",
            Self::KvNeeded => "KV cache of the longest sequence",
            Self::KvAsked => "KV cache set by hand",
        }
    }
}

/// One term of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryTerm {
    /// Which.
    pub term: Term,
    /// How much.
    pub bytes: Bytes,
    /// The process that tells it.
    pub process: Option<String>,
    /// Line, from 1.
    pub line: u64,
}

/// Capacity of the KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct KvCapacity {
    /// Tokens, as stated.
    pub tokens: Option<u64>,
    /// Blocks, as stated; vLLM counts one that is never used.
    pub blocks: Option<u64>,
    /// Sequences of the greatest length that fit at once.
    pub concurrency: Option<f64>,
    /// Line of the tokens, from 1.
    pub line: Option<u64>,
}

/// What a choice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceOf {
    /// Attention kernels.
    Attention,
    /// Kernels of experts.
    Moe,
    /// Kernels of linear layers.
    Linear,
    /// Sampling kernels.
    Sampler,
    /// How ranks reduce.
    AllReduce,
    /// How experts exchange tokens.
    AllToAll,
    /// How CUDA graphs are used.
    Graphs,
    /// The platform.
    Platform,
    /// Version of NCCL.
    Nccl,
    /// Transfer of KV between processes.
    KvConnector,
}

/// A kernel or backend that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// About what.
    pub of: ChoiceOf,
    /// What was chosen.
    pub value: String,
    /// Line, from 1.
    pub line: u64,
}

/// How often compiled graphs were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompileCache {
    /// Loaded from the cache.
    pub hits: u32,
    /// Compiled, and stored for later.
    pub misses: u32,
}

/// A remark of the log, by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Remark {
    /// Its name for programs, such as `default_moe_config`.
    pub kind: &'static str,
    /// What the line says, clipped.
    pub text: String,
    /// Figures of it by name.
    pub figures: Vec<(&'static str, f64)>,
    /// When, on the log's own clock.
    pub at: Option<Moment>,
    /// Line of the first, from 1.
    pub line: u64,
    /// How often it stands in the log.
    pub times: u64,
}

/// What moves KV between the device and somewhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KvConnector {
    /// LMCache.
    LmCache,
    /// NIXL.
    Nixl,
    /// Mooncake.
    Mooncake,
    /// The log does not say which.
    Unknown,
}

/// What a connector did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KvAction {
    /// It looked up how much of a prompt it holds.
    Lookup,
    /// It loaded KV into the device.
    Load,
    /// It stored KV from the device.
    Store,
    /// It moved KV between a prefill and a decode engine.
    Transfer,
}

/// One operation of a connector, or those of an interval together. What a line does not state is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KvOperation {
    /// Of which connector.
    pub connector: KvConnector,
    /// What it did.
    pub action: KvAction,
    /// How many operations succeeded: 1, or those of the interval.
    pub count: u64,
    /// How many failed; `None` where the version does not tell.
    pub failed: Option<u64>,
    /// Requests whose KV was given up before the other engine fetched it.
    pub expired: Option<u64>,
    /// Tokens asked for: of a lookup those of the prompt.
    pub asked: Option<u64>,
    /// Tokens found, loaded or stored.
    pub tokens: Option<u64>,
    /// Bytes moved, by all operations together.
    pub bytes: Option<Bytes>,
    /// How long one operation took; of several their mean.
    pub length: Option<Seconds>,
    /// The 90th percentile of their lengths.
    pub length_p90: Option<Seconds>,
    /// Of that length the time to hand it to the network, the mean.
    pub post: Option<Seconds>,
    /// Pieces of memory that one operation moved, the mean.
    pub descriptors: Option<f64>,
    /// The process that tells it.
    pub process: Option<String>,
    /// When, on the log's own clock.
    pub at: Option<Moment>,
    /// Line, from 1.
    pub line: u64,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// An option or the configuration was rejected.
    Configuration,
    /// Less memory is free than the engine may use.
    FreeMemory,
    /// Nothing is left for the KV cache.
    NoKvMemory,
    /// The KV cache is smaller than one sequence of the greatest length.
    KvTooSmall,
    /// More KV cache was asked for than there is memory.
    KvRequestTooLarge,
    /// Out of memory while the sampler was warmed up.
    SamplerWarmUp,
    /// Out of device memory.
    OutOfMemory,
    /// The operating system ended a process.
    Killed,
    /// A port or an address is taken.
    Address,
    /// Weights or a file of the model are not there or damaged.
    Model,
    /// Communication between ranks failed.
    Communication,
    /// Transfer of KV failed.
    KvTransfer,
    /// A single request was refused: the server goes on.
    Request,
    /// It follows from another failure: a process reports that another one died.
    Consequence,
    /// Another one.
    Other,
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Of which kind.
    pub kind: FailureKind,
    /// The exception's type, or none.
    pub exception: Option<String>,
    /// What it says, clipped.
    pub text: String,
    /// The process that tells it.
    pub process: Option<String>,
    /// The last step of the start before it.
    pub phase: Option<StartPhase>,
    /// The innermost frame of its traceback: file, line and function.
    pub frame: Option<String>,
    /// Functions of its traceback from the innermost, the first dozen.
    pub functions: Vec<String>,
    /// What it says of the device's memory, where it ran out.
    pub memory: Option<DeviceMemory>,
    /// When, on the log's own clock.
    pub at: Option<Moment>,
    /// Line of the message, from 1.
    pub line: u64,
}

/// A device's memory at the moment at which it ran out. What the message does not state is missing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct DeviceMemory {
    /// What was asked for.
    pub tried: Option<Bytes>,
    /// All of it.
    pub total: Option<Bytes>,
    /// What was free.
    pub free: Option<Bytes>,
    /// What the process that failed held.
    pub own: Option<Bytes>,
    /// What other processes held; `None` where the message does not tell them from its own.
    pub others: Option<Bytes>,
    /// Of its own what the framework had given out.
    pub allocated: Option<Bytes>,
    /// Of its own what the framework had reserved and not given out.
    pub unallocated: Option<Bytes>,
}
