//! Evidence beside runs: logs, stacks, devices, spans.

use crate::{frame::Piece, hang::NcclLog, otlp::join_spans};
use firstcheck_model::{
    engine_log::EngineLog,
    evidence::{Evidence, MemorySamples, Sourced},
    gpu::{GpuSnapshot, GpuTopology},
    hang::{FlightRecord, StackDump},
    prompts::Prompts,
    request::Requests,
    run::RunInfo,
    span::StageSpan,
    trace_span::TraceSpan,
};
use std::path::Path;

/// A piece of evidence that is no run.
#[derive(Debug)]
pub(crate) enum Beside {
    /// An engine's log.
    Log(Box<EngineLog>),
    /// Stacks of a process.
    Stacks(StackDump),
    /// Collectives of a rank.
    Flight(FlightRecord),
    /// NCCL's log.
    Nccl(NcclLog),
    /// State of GPUs.
    Gpus(GpuSnapshot),
    /// How devices are connected.
    Topology(GpuTopology),
    /// Memory of processes over time.
    Memory(MemorySamples),
    /// Prompts.
    Prompts(Prompts),
    /// Spans.
    Spans(Vec<TraceSpan>),
}

impl From<Beside> for Piece {
    fn from(beside: Beside) -> Self {
        Self::Beside(Box::new(beside))
    }
}

/// Puts a piece into the evidence, under the path it came from.
pub(crate) fn put(evidence: &mut Evidence, path: &Path, beside: Beside) {
    let label = path.display().to_string();
    match beside {
        Beside::Log(log) => evidence.logs.push(*log),
        Beside::Stacks(item) => evidence.stacks.push(Sourced { label, item }),
        Beside::Flight(item) => evidence.flights.push(Sourced { label, item }),
        Beside::Nccl(log) => evidence.nccl.push(Sourced { label, item: log.operations }),
        Beside::Gpus(item) => evidence.gpus.push(Sourced { label, item }),
        Beside::Topology(item) => evidence.topologies.push(Sourced { label, item }),
        Beside::Memory(item) => evidence.memory.push(Sourced { label, item }),
        Beside::Prompts(item) => evidence.prompts.push(Sourced { label, item }),
        Beside::Spans(spans) => evidence.traces.extend(spans),
    }
}

/// Gives each run the stages that spans tell of its requests, on its own clock.
pub(crate) fn join_traces(evidence: &mut Evidence) {
    for run in evidence.runs.iter_mut().filter(|run| run.spans.is_empty()) {
        run.spans = stages(&evidence.traces, &run.requests, &mut run.info);
    }
}

/// The stages that spans tell of a run's requests; what was done about clocks is added to its warnings.
pub(crate) fn stages(traces: &[TraceSpan], requests: &Requests, info: &mut RunInfo) -> Vec<StageSpan> {
    if traces.is_empty() {
        return Vec::new();
    }
    let joined = join_spans(traces, requests, info.clock);
    let said = joined.clocks().into_iter().filter(|said| !info.warnings.contains(said));
    let new: Vec<String> = said.collect();
    info.warnings.extend(new);
    joined.stages
}
