//! Shapes of a decoder-only transformer, and what follows from them.

use crate::unit::{Bytes, Flops};

/// Experts that stand in place of a dense feed-forward block: each token goes through a few of many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Experts {
    /// Experts a layer.
    pub count: u32,
    /// Experts that a token goes through.
    pub active: u32,
    /// Width of one gated expert.
    pub intermediate: u32,
}

impl Experts {
    /// Experts of a layer that at least one of `tokens` tokens goes through, expected when each expert is as likely as
    /// any other: E·(1 − (1 − k/E)^T).
    pub fn touched(&self, tokens: f64) -> f64 {
        let (count, active) = (f64::from(self.count), f64::from(self.active));
        count * (1.0 - (1.0 - active / count).max(0.0).powf(tokens))
    }
}

/// Shape of a decoder-only transformer with grouped-query attention and a gated feed-forward block, or experts in its
/// place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelGeometry {
    /// Name of the shape.
    pub name: &'static str,
    /// Decoder layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub hidden: u32,
    /// Width of the gated feed-forward block; 0 where experts stand in its place.
    pub intermediate: u32,
    /// Experts in place of the feed-forward block; `None` in a dense model.
    pub experts: Option<Experts>,
    /// Query heads.
    pub heads: u32,
    /// Key/value heads.
    pub kv_heads: u32,
    /// Width of a head.
    pub head_dim: u32,
    /// Vocabulary size.
    pub vocab: u32,
}

impl ModelGeometry {
    /// Llama 3.1 8B.
    pub const LLAMA_3_1_8B: Self = Self {
        name: "llama-3.1-8b",
        layers: 32,
        hidden: 4096,
        intermediate: 14_336,
        experts: None,
        heads: 32,
        kv_heads: 8,
        head_dim: 128,
        vocab: 128_256,
    };

    /// Llama 3.1 70B.
    pub const LLAMA_3_1_70B: Self = Self {
        name: "llama-3.1-70b",
        layers: 80,
        hidden: 8192,
        intermediate: 28_672,
        experts: None,
        heads: 64,
        kv_heads: 8,
        head_dim: 128,
        vocab: 128_256,
    };

    /// Qwen3 30B-A3B: 30.5 billion parameters, of which a token uses 3.3 billion.
    pub const QWEN3_30B_A3B: Self = Self {
        name: "qwen3-30b-a3b",
        layers: 48,
        hidden: 2048,
        intermediate: 0,
        experts: Some(Experts { count: 128, active: 8, intermediate: 768 }),
        heads: 32,
        kv_heads: 4,
        head_dim: 128,
        vocab: 151_936,
    };

    /// Weights of the linear layers of all decoder layers that every token uses (attention and a dense feed-forward
    /// block, not the experts), as a number of parameters.
    pub fn dense_layer_parameters(&self) -> f64 {
        let hidden = f64::from(self.hidden);
        let query = hidden * f64::from(self.heads * self.head_dim);
        let key_value = 2.0 * hidden * f64::from(self.kv_heads * self.head_dim);
        let output = query;
        let feed_forward = 3.0 * hidden * f64::from(self.intermediate);
        let router = self.experts.map_or(0.0, |experts| hidden * f64::from(experts.count));
        f64::from(self.layers) * (query + key_value + output + feed_forward + router)
    }

    /// Parameters of one expert in all layers together; 0 in a dense model.
    pub fn expert_parameters(&self) -> f64 {
        let width = self.experts.map_or(0.0, |experts| f64::from(experts.intermediate));
        f64::from(self.layers) * 3.0 * f64::from(self.hidden) * width
    }

    /// Weights of the linear layers of all decoder layers, all experts included, as a number of parameters.
    pub fn layer_parameters(&self) -> f64 {
        let count = self.experts.map_or(0.0, |experts| f64::from(experts.count));
        self.dense_layer_parameters() + count * self.expert_parameters()
    }

    /// Of [`Self::layer_parameters`] those that one token is multiplied with: of the experts only its own.
    pub fn active_layer_parameters(&self) -> f64 {
        let active = self.experts.map_or(0.0, |experts| f64::from(experts.active));
        self.dense_layer_parameters() + active * self.expert_parameters()
    }

    /// Parameters of the output head.
    pub fn head_parameters(&self) -> f64 {
        f64::from(self.hidden) * f64::from(self.vocab)
    }

    /// Bytes of the weights that forward passes read: layers (all experts) and output head, without the embedding table.
    pub fn weight_bytes(&self, bytes_per_parameter: f64) -> Bytes {
        Bytes((self.layer_parameters() + self.head_parameters()) * bytes_per_parameter)
    }

    /// KV bytes of one token: 2 × layers × KV heads × head width × bytes an element.
    pub fn kv_bytes_per_token(&self, bytes_per_element: f64) -> Bytes {
        Bytes(2.0 * f64::from(self.layers) * f64::from(self.kv_heads * self.head_dim) * bytes_per_element)
    }

    /// Attention work of a chunk of `n` tokens after `prior` tokens: 4·L·heads·width·(n·prior + n²/2).
    pub fn attention_flops(&self, n: f64, prior: f64) -> Flops {
        let per_pair = 4.0 * f64::from(self.layers) * f64::from(self.heads * self.head_dim);
        Flops(per_pair * (n * prior + n * n / 2.0))
    }
}
