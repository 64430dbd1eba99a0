//! Spec-sheet figures of GPUs.

use crate::unit::Bytes;

/// A GPU by its spec sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gpu {
    /// Name.
    pub name: &'static str,
    /// Memory.
    pub memory: Bytes,
    /// Memory bandwidth, bytes a second.
    pub bandwidth: f64,
    /// Dense BF16 peak, FLOP a second.
    pub bf16_flops: f64,
}

impl Gpu {
    /// NVIDIA H100 SXM5 80 GB.
    pub const H100_SXM: Self = Self { name: "H100-SXM", memory: Bytes(80e9), bandwidth: 3.35e12, bf16_flops: 989e12 };

    /// NVIDIA A100 SXM4 80 GB.
    pub const A100_SXM: Self =
        Self { name: "A100-SXM-80GB", memory: Bytes(80e9), bandwidth: 2.039e12, bf16_flops: 312e12 };

    /// NVIDIA GeForce RTX 4090; BF16 with FP32 accumulation.
    pub const RTX_4090: Self =
        Self { name: "RTX-4090", memory: Bytes(24e9), bandwidth: 1.008e12, bf16_flops: 165.2e12 };

    /// NVIDIA RTX PRO 6000 Blackwell Server Edition.
    pub const RTX_PRO_6000_SERVER: Self =
        Self { name: "RTX-PRO-6000-Server", memory: Bytes(96e9), bandwidth: 1.597e12, bf16_flops: 480e12 };
}
