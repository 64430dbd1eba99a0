//! How long a step takes: the GPUs, the host beside them, and what makes either wait.

mod graphs;
mod parallel;
mod pauses;

pub use graphs::GraphUse;
pub use parallel::RankStep;

pub(crate) use pauses::{Clocks, Pauses};

use crate::{
    config::EngineConfig,
    scheduler::Scheduled,
    timing::{StepShape, StepTime},
};
use graphs::GraphPlan;
use parallel::ParallelModel;

/// What a step computes beside its [`StepShape`], as far as its time depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Load {
    /// Requests in it.
    pub(crate) rows: u32,
    /// Requests that compute prompt tokens, or what a preemption lost.
    pub(crate) prompt_rows: u32,
    /// Rows that are verified against a schema.
    pub(crate) structured: u32,
    /// Rows for which a draft is made after it.
    pub(crate) drafted: u32,
    /// Time of the encoder, seconds.
    pub(crate) encoder_seconds: f64,
    /// Whether the engine had nothing to do before it.
    pub(crate) woken: bool,
    /// Time for which the whole step is held up besides, seconds.
    pub(crate) stalled_seconds: f64,
}

impl Load {
    /// Of a step about which no more is known than its rows.
    pub(crate) fn of(rows: &[Scheduled]) -> Self {
        let prompt_rows = rows.iter().filter(|row| !row.samples || row.tokens > 1 + row.drafts).count() as u32;
        Self { rows: rows.len() as u32, prompt_rows, ..Self::default() }
    }
}

/// Where the time of a step goes. Everything as an engine with a profiler could tell it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepRecord {
    /// Number of the step, from 0.
    pub index: u64,
    /// When it began, nanoseconds.
    pub began_ns: i64,
    /// When it ended or will end, nanoseconds.
    pub ends_ns: i64,
    /// Tokens computed.
    pub tokens: u32,
    /// Tokens computed, padding included.
    pub padded_tokens: u32,
    /// Requests in it.
    pub rows: u32,
    /// Requests that compute prompt tokens, or what a preemption lost.
    pub prompt_rows: u32,
    /// Sequences that sample.
    pub sampled: u32,
    /// How it was launched.
    pub graph: GraphUse,
    /// Time on the GPU of the slowest rank, waits for launches and collectives included, seconds.
    pub device_seconds: f64,
    /// Time of the host, seconds.
    pub host_seconds: f64,
    /// Time for which the engine's process was paused within it, seconds.
    pub pause_seconds: f64,
    /// Time at its end for which it waits for the attention ranks beside it, seconds.
    pub wait_seconds: f64,
    /// Rank by rank, where ranks of this engine differ; empty where all do the same.
    pub ranks: Vec<RankStep>,
}

/// A configuration's model of step time, its constants worked out.
#[derive(Debug, Clone)]
pub(crate) struct StepModel {
    time: StepTime,
    graphs: GraphPlan,
    parallel: Option<ParallelModel>,
    gpu_slowness: f64,
    host_seconds: f64,
    sequence_seconds: f64,
    wake_seconds: f64,
    mask_seconds: f64,
    draft_seconds: f64,
    draft_sequence_seconds: f64,
    overlapped: bool,
}

impl StepModel {
    pub(crate) fn new(config: &EngineConfig) -> Self {
        let time = config.timing.prepare();
        let drafts = config.speculation.as_ref();
        let places = drafts.map_or(0.0, |drafts| f64::from(drafts.tokens));
        Self {
            graphs: GraphPlan::new(config, time.layers()),
            parallel: ParallelModel::new(&config.parallel, &time),
            time,
            gpu_slowness: config.gpu_slowness,
            host_seconds: config.host_seconds * config.host.slowness,
            sequence_seconds: config.host.sequence_seconds * config.host.slowness,
            wake_seconds: config.host.wake_seconds * config.host.slowness,
            mask_seconds: config.structured.mask_seconds * config.host.slowness,
            draft_seconds: places * drafts.map_or(0.0, |drafts| drafts.draft_seconds),
            draft_sequence_seconds: places * drafts.map_or(0.0, |drafts| drafts.draft_sequence_seconds),
            overlapped: config.async_scheduling,
        }
    }

    /// Seconds of a step before random spread and pauses; says in `record` where they go.
    pub(crate) fn seconds(&self, shape: &StepShape, load: &Load, record: &mut StepRecord) -> f64 {
        let uniform = load.prompt_rows == 0;
        let (graph, padded) = self.graphs.of(shape.tokens, uniform);
        record.ranks.clear();
        let mut kernels = match &self.parallel {
            None => self.time.seconds(&StepShape { tokens: padded, ..*shape }),
            Some(parallel) => parallel.seconds(&self.time, shape, padded, record),
        };
        kernels = kernels.max(self.graphs.launch_seconds(graph)) * self.gpu_slowness + load.encoder_seconds;
        if load.drafted > 0 {
            kernels += self.draft_seconds + self.draft_sequence_seconds * f64::from(load.drafted);
        }
        let beside = self.sequence_seconds * f64::from(load.rows) + self.mask_seconds * f64::from(load.structured);
        record.tokens = shape.tokens;
        record.padded_tokens = padded;
        record.rows = load.rows;
        record.prompt_rows = load.prompt_rows;
        record.sampled = shape.sampled;
        record.graph = graph;
        record.device_seconds = kernels;
        record.host_seconds = self.host_seconds + beside;
        let both = if self.overlapped { kernels.max(beside) } else { kernels + beside };
        // No work of the host, so not in its time: a sleeper wakes.
        let waking = if load.woken { self.wake_seconds } else { 0.0 };
        both + self.host_seconds + waking + load.stalled_seconds
    }
}
