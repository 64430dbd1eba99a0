//! Whether an engine starts, and if not, in which phase it fails.

use super::{
    GIB,
    ledger::{self, Ledger},
};
use crate::config::EngineConfig;

/// What comes of a start.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// One a GPU.
    pub ledgers: Vec<Ledger>,
    /// KV bytes of a block on one GPU.
    pub block_bytes: f64,
    /// Blocks that the smallest pool holds.
    pub profiled_blocks: u32,
    /// Blocks that the engine uses, or why it does not start.
    pub outcome: Result<u32, Failure>,
}

/// Why an engine does not start, in the order of the phases. Sizes are bytes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// An argument that it does not know.
    UnknownArgument(String),
    /// A sequence longer than the model's configuration allows.
    LongerThanModel {
        /// Asked for, tokens.
        asked: u32,
        /// What the model allows, tokens.
        allowed: u32,
    },
    /// A GPU has less free than the engine may use.
    NotFree {
        /// Which GPU.
        gpu: u32,
    },
    /// The kernel killed a process while the weights were loaded: the container's memory was full.
    Killed {
        /// Used at that time.
        used: f64,
        /// What the container may use.
        limit: f64,
    },
    /// A GPU ran out of memory.
    OutOfMemory {
        /// Which GPU.
        gpu: u32,
        /// While doing what.
        phase: Phase,
        /// What was asked for last.
        tried: f64,
        /// What was free then.
        free: f64,
    },
    /// Nothing is left for KV.
    NoKv {
        /// Which GPU.
        gpu: u32,
    },
    /// The pool does not hold a single sequence of the greatest length.
    TooLittleKv {
        /// What that sequence needs.
        needed: f64,
        /// What there is.
        available: f64,
        /// Longest sequence that fits, tokens.
        fits: u32,
    },
}

/// What an engine does while it starts, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Loading the weights.
    Load,
    /// A forward pass of the greatest size, to measure its peak.
    Profile,
    /// Allocating the pool.
    Allocate,
    /// Capturing graphs.
    Capture,
    /// Warming up the sampler.
    Sampler,
}

impl Start {
    /// The configuration with which the engine serves.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn serving(&self, config: &EngineConfig) -> Result<EngineConfig, Failure> {
        let blocks = self.outcome.clone()?;
        Ok(EngineConfig { num_gpu_blocks: blocks, ..config.clone() })
    }
}

/// Starts an engine: fills the ledgers phase by phase and stops at the first that fails.
pub fn start(config: &EngineConfig) -> Start {
    let (ledgers, block_bytes) = (ledger::ledgers(config), ledger::block_bytes(config));
    let least = ledgers.iter().map(|ledger| ledger.kv).fold(f64::INFINITY, f64::min);
    let profiled_blocks = whole_blocks(least, block_bytes);
    let outcome = run(config, &ledgers, block_bytes, profiled_blocks);
    Start { ledgers, block_bytes, profiled_blocks, outcome }
}

/// Whole blocks of a pool; a millionth of a block short counts as whole, so that a stated pool survives the arithmetic.
fn whole_blocks(bytes: f64, block_bytes: f64) -> u32 {
    (bytes / block_bytes + 1e-6).floor().clamp(0.0, f64::from(u32::MAX)) as u32
}

fn run(config: &EngineConfig, ledgers: &[Ledger], block_bytes: f64, profiled: u32) -> Result<u32, Failure> {
    let memory = &config.memory;
    if let Some(argument) = &memory.unknown_argument {
        return Err(Failure::UnknownArgument(argument.clone()));
    }
    if let Some(allowed) = memory.model_max_len.filter(|allowed| config.max_model_len > *allowed) {
        return Err(Failure::LongerThanModel { asked: config.max_model_len, allowed });
    }
    let short = |ledger: &&Ledger| ledger.free_at_start() < ledger.requested;
    if let Some(ledger) = ledgers.iter().find(short).filter(|_| memory.kv_gib.is_none()) {
        return Err(Failure::NotFree { gpu: ledger.gpu });
    }
    host(config, ledgers.len())?;
    for ledger in ledgers {
        fits(ledger, Phase::Load, ledger.weights, 0.0)?;
    }
    let skipped = memory.kv_gib.is_some();
    for ledger in ledgers.iter().filter(|_| !skipped) {
        fits(ledger, Phase::Profile, ledger.activation, ledger.weights + ledger.non_torch)?;
    }
    if let Some(ledger) = ledgers.iter().find(|ledger| ledger.kv <= 0.0) {
        return Err(Failure::NoKv { gpu: ledger.gpu });
    }
    let stated = ledger::stated_pool(config);
    let blocks = stated.unwrap_or(profiled);
    let needed = f64::from(config.max_model_len.div_ceil(config.block_size)) * block_bytes;
    let available = f64::from(blocks) * block_bytes;
    if needed > available {
        return Err(Failure::TooLittleKv { needed, available, fits: blocks.saturating_mul(config.block_size) });
    }
    // A pool stated by hand is what the user says it is, whatever its bytes would be on this GPU.
    let pool = if stated.is_some() { 0.0 } else { available };
    for ledger in ledgers {
        let resident = ledger.weights + ledger.non_torch;
        fits(ledger, Phase::Allocate, pool, resident)?;
        fits(ledger, Phase::Capture, ledger.graphs, resident + pool)?;
        fits(ledger, Phase::Sampler, ledger.sampler, resident + pool + ledger.graphs)?;
    }
    Ok(blocks)
}

/// Fails where `asked` does not fit on top of `held`.
fn fits(ledger: &Ledger, phase: Phase, asked: f64, held: f64) -> Result<(), Failure> {
    let free = ledger.free_at_start() - held;
    if asked <= free {
        return Ok(());
    }
    // A phase allocates piece by piece: the last piece is what does not fit, the ones before it did.
    let piece = match phase {
        Phase::Load => 0.875 * GIB,
        Phase::Capture => 0.125 * GIB,
        // Layer by layer.
        Phase::Allocate => asked / 32.0,
        Phase::Profile | Phase::Sampler => asked,
    };
    let left = if piece < asked { free.max(0.0) % piece } else { free.max(0.0) };
    Err(Failure::OutOfMemory { gpu: ledger.gpu, phase, tried: piece.min(asked), free: left })
}

fn host(config: &EngineConfig, gpus: usize) -> Result<(), Failure> {
    let host = &config.memory.host;
    let gib = host.core_gib + host.worker_gib * gpus as f64 + host.loading_gib + host.shared_gib;
    let (used, limit) = (config.resident_bytes + gib * GIB, host.limit_gib * GIB);
    if used > limit { Err(Failure::Killed { used, limit }) } else { Ok(()) }
}
