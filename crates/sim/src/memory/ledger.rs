//! The ledger of a GPU: what of its memory goes where.

use super::GIB;
use crate::{config::EngineConfig, emit::version::Version, timing::Timing};
use firstcheck_model::hardware::ModelGeometry;

/// Memory of one GPU at the start, bytes. Follows what the engine does: the budget is a share of all memory, not of
/// what is free, and what is neither weights nor peak is left to the KV pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ledger {
    /// Which GPU.
    pub gpu: u32,
    /// All of it.
    pub total: f64,
    /// Held by other processes.
    pub others: f64,
    /// Held by the engine's own process before anything is loaded.
    pub context: f64,
    /// What the engine may use: total × utilisation.
    pub requested: f64,
    /// Weights.
    pub weights: f64,
    /// Allocated outside the framework.
    pub non_torch: f64,
    /// Highest use by activations in the profiling run, the encoder included where it is profiled.
    pub activation: f64,
    /// What is expected for graphs and taken off the pool; 0 where the engine does not.
    pub graphs_reserved: f64,
    /// What the engine expects graphs to take, whether it reserves it or not.
    pub graphs_estimate: f64,
    /// What graphs take.
    pub graphs: f64,
    /// What the sampler's warm-up takes.
    pub sampler: f64,
    /// What is left for KV; may be negative.
    pub kv: f64,
}

impl Ledger {
    /// Free when the engine starts.
    pub fn free_at_start(&self) -> f64 {
        self.total - self.others - self.context
    }

    /// Everything but KV that is counted against the budget.
    pub fn non_kv(&self) -> f64 {
        self.context + self.weights + self.non_torch + self.activation
    }

    /// Free while the engine serves with a pool of `pool` bytes: what an encoder that no profile knew can take.
    pub fn free_serving(&self, pool: f64) -> f64 {
        self.free_at_start() - self.weights - self.non_torch - pool - self.graphs
    }
}

/// Shapes that the memory of an engine follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shape {
    pub(crate) geometry: Option<ModelGeometry>,
    pub(crate) gpus: u32,
}

impl Shape {
    pub(crate) fn of(config: &EngineConfig) -> Self {
        let roofline = match &config.timing {
            Timing::Preset(preset) => Some(preset.roofline()),
            Timing::Roofline(roofline) => Some(*roofline),
            Timing::Linear(_) => None,
        };
        let gpus = config.memory.gpus.or(roofline.map(|model| model.tensor_parallel)).unwrap_or(1).max(1);
        Self { geometry: roofline.map(|model| model.shape.geometry()), gpus }
    }
}

/// Weights of a GPU where nothing is known of the model: those of 8 billion parameters in 16 bits.
const UNKNOWN_WEIGHTS: f64 = 15.0 * GIB;
/// KV bytes of a token where nothing is known of the model: 32 layers of 8 heads of 128 in 16 bits.
const UNKNOWN_KV: f64 = 131_072.0;
const UNKNOWN_VOCABULARY: u32 = 128_256;

/// KV bytes of a token on one GPU.
pub fn kv_bytes_per_token(config: &EngineConfig) -> f64 {
    let shape = Shape::of(config);
    config.memory.kv_bytes_per_token.unwrap_or_else(|| {
        let whole = |geometry: ModelGeometry| {
            let bytes = if config.kv_cache_dtype.starts_with("fp8") { 1.0 } else { 2.0 };
            // A head is on one GPU or on several, never in parts.
            let share = f64::from(shape.gpus.min(geometry.kv_heads));
            geometry.kv_bytes_per_token(bytes).0 / share
        };
        shape.geometry.map_or(UNKNOWN_KV, whole)
    })
}

/// KV bytes of a block on one GPU.
pub fn block_bytes(config: &EngineConfig) -> f64 {
    kv_bytes_per_token(config) * f64::from(config.block_size)
}

/// The ledgers of all GPUs of an engine.
pub fn ledgers(config: &EngineConfig) -> Vec<Ledger> {
    let shape = Shape::of(config);
    let usual = peak_behind_pool(config, shape).unwrap_or_else(|| arithmetic_peak(config, shape));
    (0..shape.gpus).map(|gpu| ledger(config, shape, gpu, usual)).collect()
}

/// Whether this engine takes its expectation for graphs off the pool.
fn reserves_graphs(config: &EngineConfig) -> bool {
    let by_version = Version::read(&config.version).is_none_or(|version| version >= Version::new(0, 20, 0));
    config.memory.estimate_graphs.unwrap_or(by_version)
}

fn usual_weights(shape: Shape) -> f64 {
    let embedding_and_layers = |geometry: ModelGeometry| {
        (geometry.weight_bytes(2.0).0 + geometry.head_parameters() * 2.0) / f64::from(shape.gpus)
    };
    shape.geometry.map_or(UNKNOWN_WEIGHTS, embedding_and_layers)
}

/// Activation peaks that pass for usual, bytes: with one of them the stated pool can be what the profile left.
const USUAL_ACTIVATION: std::ops::RangeInclusive<f64> = 0.25 * GIB..=10.0 * GIB;

/// The activation peak with which the stated pool is what is left, everything else being usual; `None` when no usual
/// peak leaves it, so that the pool must have been stated by hand.
fn peak_behind_pool(config: &EngineConfig, shape: Shape) -> Option<f64> {
    let usual = crate::config::Memory::default();
    let budget = config.memory.gpu_gib * GIB * config.gpu_memory_utilization;
    let weights = config.memory.weights_gib.map_or_else(|| usual_weights(shape), |size| size * GIB);
    let graphs = if reserves_graphs(config) { usual.graphs_gib * GIB } else { 0.0 };
    let pool = f64::from(config.num_gpu_blocks) * block_bytes(config);
    let rest = budget.ceil() - weights - (usual.non_torch_gib + usual.context_gib) * GIB - graphs - pool;
    USUAL_ACTIVATION.contains(&rest).then_some(rest)
}

/// Memory of a GPU, GiB, with which the stated pool is what a usual profile leaves.
pub(crate) fn fitting_gpu_gib(config: &EngineConfig) -> f64 {
    let usual = crate::config::Memory::default();
    let weights = config.memory.weights_gib.map_or_else(|| usual_weights(Shape::of(config)), |size| size * GIB);
    let graphs = if reserves_graphs(config) { usual.graphs_gib * GIB } else { 0.0 };
    let pool = f64::from(config.num_gpu_blocks) * block_bytes(config);
    let held = weights + (usual.non_torch_gib + usual.context_gib) * GIB + graphs + pool + FITTING_ACTIVATION;
    held / GIB / config.gpu_memory_utilization
}

/// The activation peak of such a profile, bytes.
const FITTING_ACTIVATION: f64 = 2.0 * GIB;

/// A forward pass of the greatest size: a few copies of the residual stream and the feed-forward block in 16 bits, and
/// the logits of the sequences that sample in 32 bits with a copy.
fn arithmetic_peak(config: &EngineConfig, shape: Shape) -> f64 {
    let Some(geometry) = shape.geometry else { return 2.0 * GIB };
    let width = 6.0 * f64::from(geometry.hidden) + 4.0 * f64::from(geometry.intermediate) / f64::from(shape.gpus);
    let rows = f64::from(config.max_num_seqs.min(config.max_num_batched_tokens));
    f64::from(config.max_num_batched_tokens) * width * 2.0 + rows * f64::from(geometry.vocab) * 8.0
}

/// The pool that the configuration states, when no profile would leave it (`--num-gpu-blocks-override`).
pub fn stated_pool(config: &EngineConfig) -> Option<u32> {
    let by_hand = config.memory.kv_gib.is_none() && peak_behind_pool(config, Shape::of(config)).is_none();
    by_hand.then_some(config.num_gpu_blocks)
}

fn ledger(config: &EngineConfig, shape: Shape, gpu: u32, usual_activation: f64) -> Ledger {
    let memory = &config.memory;
    let listed = |list: &[f64]| list.get(gpu as usize).copied().unwrap_or(0.0) * GIB;
    let total = memory.gpu_gib * GIB;
    let requested = (total * config.gpu_memory_utilization).ceil();
    let own = memory.weights_gib.map_or_else(|| usual_weights(shape), |size| size * GIB);
    let weights = own + listed(&memory.extra_weights_gib);
    let encoder = if memory.encoder_profiled { memory.encoder_gib * GIB } else { 0.0 };
    let activation = memory.activation_gib.map_or(usual_activation, |size| size * GIB).max(encoder);
    let graphs = memory.graphs_gib * GIB;
    let graphs_estimate = memory.graphs_estimate_gib.map_or(graphs, |size| size * GIB);
    let graphs_reserved = if reserves_graphs(config) { graphs_estimate } else { 0.0 };
    let vocabulary = shape.geometry.map_or(UNKNOWN_VOCABULARY, |geometry| geometry.vocab);
    let rows = f64::from(config.max_num_seqs.min(config.max_num_batched_tokens));
    let sampler = memory.sampler_gib.map_or(rows * f64::from(vocabulary) * 8.0, |size| size * GIB);
    let (context, non_torch) = (memory.context_gib * GIB, memory.non_torch_gib * GIB);
    let kv = match memory.kv_gib {
        Some(size) => size * GIB,
        None => requested - context - weights - non_torch - activation - graphs_reserved,
    };
    Ledger {
        gpu,
        total,
        others: listed(&memory.others_gib),
        context,
        requested,
        weights,
        non_torch,
        activation,
        graphs_reserved,
        graphs_estimate,
        graphs,
        sampler,
        kv,
    }
}
