//! Evidence: everything known of one side, typed.

use crate::{
    engine_log::EngineLog,
    event::Streams,
    fingerprint::Fingerprint,
    gpu::{GpuSnapshot, GpuTopology},
    hang::{FlightRecord, NcclOperation, StackDump},
    measurement::Missing,
    moment::Window,
    prompts::Prompts,
    request::{Request, Requests},
    run::{ClockKind, RunInfo},
    signal::{Part, Series, Signal},
    span::StageSpan,
    trace_span::TraceSpan,
    unit::Seconds,
};
use serde::{Deserialize, Serialize};

/// One run as it can be reasoned about: its rows, with events folded.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEvidence {
    /// How reports name it: the path or address it came from.
    pub label: String,
    /// Everything but the rows.
    pub info: RunInfo,
    /// One row an offered request.
    pub requests: Requests,
    /// Folded events; `None` where the source has none.
    pub streams: Option<Streams>,
    /// Scraped series.
    pub signals: Vec<Series>,
    /// Stage spans.
    pub spans: Vec<StageSpan>,
}

impl RunEvidence {
    /// Requests of the measured window with their rows.
    pub fn window(&self) -> impl Iterator<Item = (usize, &Request)> {
        self.requests.in_window(self.info.window)
    }

    /// The measured window, else from the first to the last moment that a request or a known series has; `None` where the
    /// clock says an order alone.
    pub fn span(&self) -> Option<Window> {
        if self.info.clock.kind == ClockKind::Order {
            return None;
        }
        let requests = self.requests.0.iter().flat_map(|request| [request.origin(), request.done, request.last_token]);
        let known = self.signals.iter().filter(|series| series.signal.is_some());
        let sampled = known.flat_map(|series| [series.at.first(), series.at.last()]).flatten().copied();
        let reached = || requests.clone().chain(sampled.clone()).filter(|moment| moment.reached());
        let whole = || Some(Window { start: reached().min()?, end: reached().max()? });
        self.info.window.or_else(whole).filter(|window| window.start < window.end)
    }

    /// The longest gap of a row's stream.
    pub fn longest_gap(&self, row: usize) -> Option<Seconds> {
        self.streams.as_ref()?.longest_gap.get(row).copied().flatten()
    }

    /// Whether a series of an engine is there: what every process, container and GPU says of itself is none.
    pub fn shows_an_engine(&self) -> bool {
        self.signals.iter().filter_map(|series| series.signal).any(Signal::is_of_an_engine)
    }

    /// Series that carry that part of a signal (one for each set of labels and page).
    pub fn series(&self, signal: Signal, part: Part) -> impl Iterator<Item = &Series> {
        self.signals.iter().filter(move |s| s.signal == Some(signal) && s.part == part)
    }
}

/// A piece of evidence with where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    /// How reports name its source: the path it came from.
    pub label: String,
    /// The piece.
    pub item: T,
}

/// Memory of processes over time, as snapshots of the system tell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemorySamples {
    /// One a field and process, in bytes; moments count from the first snapshot.
    pub series: Vec<Series>,
    /// Unix time of the first snapshot, nanoseconds, where the snapshots are dated.
    pub started_unix_ns: Option<i64>,
}

/// A kind of evidence that a check can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Requests with their times.
    Requests,
    /// Events of streams.
    Events,
    /// Scraped metrics of the engine.
    EngineMetrics,
    /// Per-request stage spans.
    Spans,
    /// The engine's log.
    EngineLog,
    /// Stacks of the engine's processes.
    Stacks,
    /// Collectives that each rank entered.
    FlightRecords,
    /// State of the GPUs.
    GpuState,
    /// Memory of the engine's processes over time.
    ProcessMemory,
    /// Prompts as the engine saw them: their text, or better their token ids.
    Prompts,
}

impl Kind {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests with their times",
            Self::Events => "events of streams",
            Self::EngineMetrics => "the engine's /metrics over the window",
            Self::Spans => "stage spans of the requests",
            Self::EngineLog => "the engine's log",
            Self::Stacks => "stacks of all ranks",
            Self::FlightRecords => "flight records of all ranks",
            Self::GpuState => "the state of the GPUs",
            Self::ProcessMemory => "memory of the engine's processes over time",
            Self::Prompts => "prompts as the server renders them, or their token ids",
        }
    }

    /// The command that supplies it.
    pub const fn obtain(self) -> &'static str {
        match self {
            Self::Requests | Self::Events => "firstcheck run --url URL",
            Self::EngineMetrics => {
                "firstcheck run --url URL (it scrapes URL/metrics before, during and after the window)"
            }
            Self::Spans => "start the engine with its OpenTelemetry exporter on",
            Self::EngineLog => "give the server's log from its start on (kubectl logs POD > server.log)",
            Self::Stacks => "py-spy dump --pid PID > pyspy_rank0.txt, for each rank",
            Self::FlightRecords => "set TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1",
            Self::GpuState => "nvidia-smi -q -x > gpus.xml",
            Self::Prompts => {
                "give a file with a prompt a line: {\"prompt\": \"…\"} or {\"token_ids\": […]} (POST /tokenize renders them)"
            }
            Self::ProcessMemory => "append /proc/PID/smaps_rollup of each process to a file, with the time before it",
        }
    }
}

/// Everything known of one side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Its runs, and what it said of itself while others used it.
    pub runs: Vec<RunEvidence>,
    /// What it states of itself beside its runs.
    pub stated: Fingerprint,
    /// Logs of engines.
    pub logs: Vec<EngineLog>,
    /// Stacks of processes.
    pub stacks: Vec<Sourced<StackDump>>,
    /// Collectives that ranks entered.
    pub flights: Vec<Sourced<FlightRecord>>,
    /// Operations that NCCL logged.
    pub nccl: Vec<Sourced<Vec<NcclOperation>>>,
    /// State of GPUs.
    pub gpus: Vec<Sourced<GpuSnapshot>>,
    /// How devices are connected.
    pub topologies: Vec<Sourced<GpuTopology>>,
    /// Memory of processes over time.
    pub memory: Vec<Sourced<MemorySamples>>,
    /// Prompts of its requests, as they were given.
    pub prompts: Vec<Sourced<Prompts>>,
    /// Spans of traces; those of a run's requests are in the run as well, as stages on its clock.
    pub traces: Vec<TraceSpan>,
}

impl Evidence {
    /// Runs, and nothing beside them.
    pub fn of(runs: Vec<RunEvidence>) -> Self {
        Self { runs, ..Self::default() }
    }

    /// Why evidence of that kind is missing, if it is.
    pub fn lacks(&self, kind: Kind) -> Option<Missing> {
        let any = |has: fn(&RunEvidence) -> bool| self.runs.iter().any(has);
        let there = match kind {
            Kind::Requests => any(|run| !run.requests.is_empty()),
            Kind::Events => any(|run| run.streams.is_some()),
            Kind::EngineMetrics => any(RunEvidence::shows_an_engine),
            Kind::Spans => any(|run| !run.spans.is_empty()),
            Kind::EngineLog => !self.logs.is_empty(),
            Kind::Stacks => !self.stacks.is_empty(),
            Kind::FlightRecords => !self.flights.is_empty() || self.nccl.iter().any(|log| !log.item.is_empty()),
            Kind::GpuState => !self.gpus.is_empty(),
            Kind::ProcessMemory => !self.memory.is_empty(),
            Kind::Prompts => !self.prompts.is_empty(),
        };
        if !there && kind == Kind::EngineMetrics && any(|run| !run.signals.is_empty()) {
            let what = "engine series on the metrics page: it was read, and shows none";
            return Some(Missing::not_exposed(what, kind.obtain()));
        }
        (!there).then(|| Missing::not_given(kind.name(), kind.obtain()))
    }
}
