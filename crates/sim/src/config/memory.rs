//! Memory of the GPUs at the start, and of the host over the run.

use super::error::{ConfigError, share, within};
use serde::{Deserialize, Serialize};

/// What the memory of each GPU is spent on at the start. With everything at its default the pool is exactly
/// [`num_gpu_blocks`](super::EngineConfig::num_gpu_blocks): the activation peak is what fits. A term that departs from its
/// default is taken off the pool, as a real engine does, or keeps the engine from starting. GiB are 2³⁰ bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// Name of the GPU as the driver states it.
    pub gpu_name: String,
    /// Memory of a GPU as the driver states it, GiB.
    pub gpu_gib: f64,
    /// What other processes hold, GiB, by GPU; a GPU beyond the list: nothing.
    pub others_gib: Vec<f64>,
    /// The CUDA context of the engine's own process, GiB: held before anything is loaded.
    pub context_gib: f64,
    /// Weights of a GPU, GiB. `None`: what the model's geometry gives in 16 bits, or 15 GiB where it is not known.
    pub weights_gib: Option<f64>,
    /// Weights beyond the arithmetic, GiB, by GPU: an uneven shard, an embedding left unquantised, a vision tower.
    pub extra_weights_gib: Vec<f64>,
    /// What libraries allocate outside the framework (NCCL, cuBLAS), GiB.
    pub non_torch_gib: f64,
    /// Highest use by activations in the profiling run, GiB. `None`: what the stated pool leaves.
    pub activation_gib: Option<f64>,
    /// Highest use by the multimodal encoder, GiB.
    pub encoder_gib: f64,
    /// Whether the profiling run includes the encoder.
    pub encoder_profiled: bool,
    /// What the captured graphs take, GiB.
    pub graphs_gib: f64,
    /// What the engine expects them to take, GiB. `None`: exactly that.
    pub graphs_estimate_gib: Option<f64>,
    /// Whether the expectation is taken off the pool. `None`: by version, since 0.20.
    pub estimate_graphs: Option<bool>,
    /// What the warm-up of the sampler takes, GiB. `None`: 8 bytes for each of `max_num_seqs` rows of the vocabulary.
    pub sampler_gib: Option<f64>,
    /// A pool of that size whatever the profile says, GiB (`--kv-cache-memory-bytes`).
    pub kv_gib: Option<f64>,
    /// KV of a token on a GPU, bytes. `None`: from the model's geometry in 16 bits, or 131072 where it is not known.
    pub kv_bytes_per_token: Option<f64>,
    /// Longest sequence that the model's own configuration allows, tokens. `None`: any.
    pub model_max_len: Option<u32>,
    /// An argument that this version does not know (`--swap-space 4`).
    pub unknown_argument: Option<String>,
    /// GPUs of the engine. `None`: as many as share a layer in the step-time model.
    pub gpus: Option<u32>,
    /// The host.
    pub host: HostMemory,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            gpu_name: "NVIDIA H100 80GB HBM3".into(),
            gpu_gib: 79.19,
            others_gib: Vec::new(),
            context_gib: 0.51,
            weights_gib: None,
            extra_weights_gib: Vec::new(),
            non_torch_gib: 0.34,
            activation_gib: None,
            encoder_gib: 0.0,
            encoder_profiled: true,
            graphs_gib: 0.54,
            graphs_estimate_gib: None,
            estimate_graphs: None,
            sampler_gib: None,
            kv_gib: None,
            kv_bytes_per_token: None,
            model_max_len: None,
            unknown_argument: None,
            gpus: None,
            host: HostMemory::default(),
        }
    }
}

/// Memory of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostMemory {
    /// Memory that the container may use, GiB: beyond it the kernel kills a process.
    pub limit_gib: f64,
    /// The engine's core at rest, GiB.
    pub core_gib: f64,
    /// A worker at rest, GiB.
    pub worker_gib: f64,
    /// Highest use while the weights are loaded, GiB, beside the processes at rest.
    pub loading_gib: f64,
    /// Shared memory between the processes, GiB.
    pub shared_gib: f64,
    /// Page cache of the checkpoint, GiB.
    pub page_cache_gib: f64,
    /// Where memory grows; all zero: nowhere.
    pub leak: Leak,
}

impl Default for HostMemory {
    fn default() -> Self {
        Self {
            limit_gib: 256.0,
            core_gib: 1.6,
            worker_gib: 4.2,
            loading_gib: 6.0,
            shared_gib: 0.25,
            page_cache_gib: 15.0,
            leak: Leak::default(),
        }
    }
}

/// The process whose memory grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leaker {
    /// The API server.
    #[default]
    Api,
    /// The engine's core.
    Core,
    /// The workers.
    Worker,
}

/// Of what kind the growing memory is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeakKind {
    /// Of the process alone.
    #[default]
    Anonymous,
    /// Shared between processes (`/dev/shm`).
    Shared,
    /// Page cache, charged to the container.
    File,
}

/// Growth of host memory on four clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Leak {
    /// Where.
    pub process: Leaker,
    /// What.
    pub kind: LeakKind,
    /// Bytes a finished request.
    pub per_request: f64,
    /// Bytes a prompt token.
    pub per_prompt_token: f64,
    /// Bytes a generated token.
    pub per_output_token: f64,
    /// Bytes a second.
    pub per_second: f64,
    /// Size at which it levels off, bytes (a cache that fills, an allocator that keeps). `None`: never.
    pub plateau: Option<f64>,
    /// Share that the kernel has swapped out: it is missing from the resident set.
    pub swapped: f64,
}

impl Memory {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let (host, leak) = (&self.host, &self.host.leak);
        within("memory.gpu_gib", self.gpu_gib, 0.1, 4096.0, "0.1 to 4096 GiB")?;
        let sizes = [
            ("memory.context_gib", self.context_gib),
            ("memory.weights_gib", self.weights_gib.unwrap_or(0.0)),
            ("memory.non_torch_gib", self.non_torch_gib),
            ("memory.activation_gib", self.activation_gib.unwrap_or(0.0)),
            ("memory.encoder_gib", self.encoder_gib),
            ("memory.graphs_gib", self.graphs_gib),
            ("memory.graphs_estimate_gib", self.graphs_estimate_gib.unwrap_or(0.0)),
            ("memory.sampler_gib", self.sampler_gib.unwrap_or(0.0)),
            ("memory.kv_gib", self.kv_gib.unwrap_or(0.0)),
            ("memory.host.limit_gib", host.limit_gib),
            ("memory.host.core_gib", host.core_gib),
            ("memory.host.worker_gib", host.worker_gib),
            ("memory.host.loading_gib", host.loading_gib),
            ("memory.host.shared_gib", host.shared_gib),
            ("memory.host.page_cache_gib", host.page_cache_gib),
        ];
        let each = |name, list: &[f64]| list.iter().map(move |size| (name, *size)).collect::<Vec<_>>();
        let lists =
            [each("memory.others_gib", &self.others_gib), each("memory.extra_weights_gib", &self.extra_weights_gib)];
        for (name, size) in sizes.into_iter().chain(lists.into_iter().flatten()) {
            within(name, size, 0.0, 65536.0, "0 to 65536 GiB")?;
        }
        within("memory.kv_bytes_per_token", self.kv_bytes_per_token.unwrap_or(1.0), 1.0, 1e9, "1 to 1e9 bytes")?;
        within("memory.gpus", f64::from(self.gpus.unwrap_or(1)), 1.0, 1024.0, "1 to 1024")?;
        for (name, rate) in [
            ("memory.host.leak.per_request", leak.per_request),
            ("memory.host.leak.per_prompt_token", leak.per_prompt_token),
            ("memory.host.leak.per_output_token", leak.per_output_token),
            ("memory.host.leak.per_second", leak.per_second),
            ("memory.host.leak.plateau", leak.plateau.unwrap_or(0.0)),
        ] {
            within(name, rate, 0.0, 1e13, "0 to 1e13 bytes")?;
        }
        share("memory.host.leak.swapped", leak.swapped)
    }
}
