//! Shapes of a dense decoder-only transformer, and what follows from them.

use crate::unit::{Bytes, Flops};

/// Shape of a dense decoder-only transformer with grouped-query attention and a gated feed-forward block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelGeometry {
    /// Name of the shape.
    pub name: &'static str,
    /// Decoder layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub hidden: u32,
    /// Width of the gated feed-forward block.
    pub intermediate: u32,
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
        heads: 64,
        kv_heads: 8,
        head_dim: 128,
        vocab: 128_256,
    };

    /// Weights of the linear layers of all decoder layers, as a number of parameters.
    pub fn layer_parameters(&self) -> f64 {
        let hidden = f64::from(self.hidden);
        let query = hidden * f64::from(self.heads * self.head_dim);
        let key_value = 2.0 * hidden * f64::from(self.kv_heads * self.head_dim);
        let output = query;
        let feed_forward = 3.0 * hidden * f64::from(self.intermediate);
        f64::from(self.layers) * (query + key_value + output + feed_forward)
    }

    /// Parameters of the output head.
    pub fn head_parameters(&self) -> f64 {
        f64::from(self.hidden) * f64::from(self.vocab)
    }

    /// Bytes that a forward pass reads of the weights: layers and output head, without the embedding table.
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
