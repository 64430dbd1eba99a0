//! Step time from arithmetic and bandwidth.

use super::{StepShape, coefficient};
use crate::config::ConfigError;
use firstcheck_model::hardware::{Experts, Gpu, ModelGeometry};
use serde::{Deserialize, Serialize};

/// Shapes of models whose arithmetic is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// Llama 3.1 8B.
    #[serde(rename = "llama-3.1-8b")]
    Llama8b,
    /// Llama 3.1 70B.
    #[serde(rename = "llama-3.1-70b")]
    Llama70b,
    /// Qwen3 30B-A3B: 128 experts a layer, of which a token uses 8.
    #[serde(rename = "qwen3-30b-a3b")]
    Qwen30bA3b,
}

impl Shape {
    /// The shape's geometry.
    pub const fn geometry(self) -> ModelGeometry {
        match self {
            Self::Llama8b => ModelGeometry::LLAMA_3_1_8B,
            Self::Llama70b => ModelGeometry::LLAMA_3_1_70B,
            Self::Qwen30bA3b => ModelGeometry::QWEN3_30B_A3B,
        }
    }
}

/// Coefficients of the step-time model, fitted to sums of measured kernels. With T tokens of which S sample,
///
/// t = ‖ (2·T·P + 2·S·h·V) / TP / F , W / TP / B ‖_q + attention FLOP / TP / F_attn + KV bytes / TP / B_kv
///   + L·c_layer + S·c_seq + 2·L·T·h·2 bytes / AR
///
/// where ‖a, b‖_q = (a^q + b^q)^(1/q): the larger of arithmetic and weight reading, rounded off where they meet. P are
/// the parameters of the layers that a token uses, W the bytes of layers and output head in 16 bits. Rates are
/// effective, not peaks.
///
/// Of a model with E experts a layer, of which a token uses k, a step reads those that it touches: E·(1 − (1 − k/E)^T)
/// with a router that prefers none. Under expert parallelism over n ranks, each with a batch like this one, a rank holds
/// E/n experts and computes what n·T tokens send to them; gathering the tokens and scattering the sums adds
/// 2·L·(n − 1)·T·h·2 bytes / exchange rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roofline {
    /// Which model.
    pub shape: Shape,
    /// GPUs that share each layer.
    pub tensor_parallel: u32,
    /// Exponent q of the rounded-off maximum.
    pub sharpness: f64,
    /// F: matrix arithmetic, FLOP a second and GPU.
    pub flops: f64,
    /// B: reading weights, bytes a second and GPU.
    pub bandwidth: f64,
    /// F_attn: attention of prompt chunks, FLOP a second and GPU.
    pub attention_flops: f64,
    /// B_kv: reading the KV cache, bytes a second and GPU.
    pub kv_bandwidth: f64,
    /// c_layer: launch and other fixed cost of a layer, seconds.
    pub per_layer: f64,
    /// c_seq: cost of a sampled sequence, seconds.
    pub per_sequence: f64,
    /// AR: all-reduce, bytes a second; `None` on a single GPU.
    #[serde(default)]
    pub all_reduce: Option<f64>,
    /// Ranks that share the experts of each layer; `None`: each holds all of them.
    #[serde(default)]
    pub expert_parallel: Option<ExpertParallel>,
}

/// Experts spread over ranks that each have requests of their own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpertParallel {
    /// Ranks.
    pub ranks: u32,
    /// Gathering tokens and scattering sums, bytes a second and rank.
    pub exchange: f64,
}

/// A roofline's constants, worked out once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prepared {
    sharpness: f64,
    token: f64,
    sample: f64,
    weights: f64,
    experts: Option<ExpertReading>,
    pair: f64,
    kv_token: f64,
    fixed: f64,
    sequence: f64,
    pub(super) reduce_token: f64,
    exchange_token: f64,
    pub(super) layers: f64,
    pub(super) tensor_parallel: u32,
    pub(super) token_bytes: f64,
}

/// What it takes to read the experts that a step touches.
#[derive(Debug, Clone, Copy)]
struct ExpertReading {
    experts: Experts,
    /// Tokens that the experts see for each token of this rank's batch.
    tokens_each: f64,
    /// Seconds to read one expert in all layers, this rank's share.
    each: f64,
}

impl Roofline {
    /// What a GPU that was not calibrated can be expected to do: its spec sheet times the efficiencies found on average
    /// on one H100 and one A100 with Llama 3.1 8B. Nothing of it was fitted to that GPU.
    pub fn from_datasheet(gpu: &Gpu, shape: Shape) -> Self {
        Self {
            shape,
            tensor_parallel: 1,
            sharpness: 2.0,
            flops: 0.73 * gpu.bf16_flops,
            bandwidth: 0.82 * gpu.bandwidth,
            attention_flops: 0.65 * gpu.bf16_flops,
            kv_bandwidth: 0.85 * gpu.bandwidth,
            per_layer: 57e-6,
            per_sequence: 2e-6,
            all_reduce: None,
            expert_parallel: None,
        }
    }

    pub(crate) fn prepare(&self) -> Prepared {
        let geometry = self.shape.geometry();
        let parallel = f64::from(self.tensor_parallel);
        // KV heads cannot be split further than one a GPU.
        let kv_parallel = f64::from(self.tensor_parallel.min(geometry.kv_heads));
        let layers = f64::from(geometry.layers);
        let reduce_bytes = 2.0 * layers * f64::from(geometry.hidden) * 2.0;
        let ranks = self.expert_parallel.map_or(1.0, |spread| f64::from(spread.ranks));
        let exchange = self.expert_parallel.map_or(0.0, |spread| (ranks - 1.0) * reduce_bytes / spread.exchange);
        let dense = geometry.dense_layer_parameters() + geometry.head_parameters();
        Prepared {
            sharpness: self.sharpness,
            token: 2.0 * geometry.active_layer_parameters() / parallel / self.flops,
            sample: 2.0 * geometry.head_parameters() / parallel / self.flops,
            weights: dense * 2.0 / parallel / self.bandwidth,
            experts: geometry.experts.map(|experts| ExpertReading {
                experts,
                tokens_each: ranks,
                each: geometry.expert_parameters() * 2.0 / ranks / parallel / self.bandwidth,
            }),
            // A chunk of one token after one has one pair and half of its own.
            pair: geometry.attention_flops(1.0, 1.0).0 / 1.5 / parallel / self.attention_flops,
            kv_token: geometry.kv_bytes_per_token(2.0).0 / kv_parallel / self.kv_bandwidth,
            fixed: layers * self.per_layer,
            sequence: self.per_sequence,
            reduce_token: self.all_reduce.map_or(0.0, |rate| reduce_bytes / rate),
            exchange_token: exchange,
            layers,
            tensor_parallel: self.tensor_parallel,
            token_bytes: f64::from(geometry.hidden) * 2.0,
        }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        coefficient("timing.roofline.tensor_parallel", f64::from(self.tensor_parallel), true)?;
        coefficient("timing.roofline.sharpness", self.sharpness, true)?;
        coefficient("timing.roofline.flops", self.flops, true)?;
        coefficient("timing.roofline.bandwidth", self.bandwidth, true)?;
        coefficient("timing.roofline.attention_flops", self.attention_flops, true)?;
        coefficient("timing.roofline.kv_bandwidth", self.kv_bandwidth, true)?;
        coefficient("timing.roofline.per_layer", self.per_layer, false)?;
        coefficient("timing.roofline.per_sequence", self.per_sequence, false)?;
        if let Some(spread) = self.expert_parallel {
            coefficient("timing.roofline.expert_parallel.ranks", f64::from(spread.ranks), true)?;
            coefficient("timing.roofline.expert_parallel.exchange", spread.exchange, true)?;
        }
        coefficient("timing.roofline.all_reduce", self.all_reduce.unwrap_or(1.0), true)
    }
}

impl Prepared {
    pub(crate) fn seconds(&self, shape: &StepShape) -> f64 {
        let (tokens, sampled) = (f64::from(shape.tokens), f64::from(shape.sampled));
        let arithmetic = tokens * self.token + sampled * self.sample;
        let touched = self.experts.map_or(0.0, |held| held.experts.touched(tokens * held.tokens_each) * held.each);
        rounded_maximum(arithmetic, self.weights + touched, self.sharpness)
            + shape.prefill_pairs * self.pair
            + shape.kv_read_tokens as f64 * self.kv_token
            + self.fixed
            + sampled * self.sequence
            + tokens * (self.reduce_token + self.exchange_token)
    }
}

fn rounded_maximum(a: f64, b: f64, q: f64) -> f64 {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    // Scaled by the larger, so that no power overflows.
    large * (1.0 + (small / large).powf(q)).powf(1.0 / q)
}
