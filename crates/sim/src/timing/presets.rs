//! Calibrated combinations of GPU and model.

use super::{ExpertParallel, Roofline, Shape};
use firstcheck_model::hardware::Gpu;
use serde::{Deserialize, Serialize};

/// A GPU, a model and how many GPUs share it.
///
/// H100 and A100: coefficients fitted to sums of measured bf16 kernels (GEMM, attention, all-reduce). In-sample error:
/// mean 2 to 4 %, 90th percentile 4 to 7 %; two public sources for the same kernels differ by up to 24 %, so finer tuning
/// would fit noise. RTX: arithmetic, bandwidth and the cost of a layer fitted to the latencies of the first 100 requests
/// of a serving run each; attention and KV cache keep their ratio to the other two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preset {
    /// Llama 3.1 8B on one H100.
    #[serde(rename = "h100-llama-3.1-8b-tp1")]
    H100Llama8bTp1,
    /// Llama 3.1 70B on four H100.
    #[serde(rename = "h100-llama-3.1-70b-tp4")]
    H100Llama70bTp4,
    /// Llama 3.1 70B on eight H100.
    #[serde(rename = "h100-llama-3.1-70b-tp8")]
    H100Llama70bTp8,
    /// Llama 3.1 8B on one A100.
    #[serde(rename = "a100-llama-3.1-8b-tp1")]
    A100Llama8bTp1,
    /// Llama 3.1 70B on four A100 (its all-reduce rate is assumed, not measured).
    #[serde(rename = "a100-llama-3.1-70b-tp4")]
    A100Llama70bTp4,
    /// Llama 3.1 70B on eight A100 (its all-reduce rate is assumed, not measured).
    #[serde(rename = "a100-llama-3.1-70b-tp8")]
    A100Llama70bTp8,
    /// Llama 3.1 8B on one RTX 4090.
    #[serde(rename = "rtx4090-llama-3.1-8b-tp1")]
    Rtx4090Llama8bTp1,
    /// Llama 3.1 8B on one RTX PRO 6000.
    #[serde(rename = "rtxpro6000-llama-3.1-8b-tp1")]
    RtxPro6000Llama8bTp1,
    /// Qwen3 30B-A3B on two RTX PRO 6000: a data-parallel rank each, the experts shared.
    #[serde(rename = "rtxpro6000-qwen3-30b-a3b-ep2")]
    RtxPro6000Qwen30bA3bEp2,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 9] = [
        Self::H100Llama8bTp1,
        Self::H100Llama70bTp4,
        Self::H100Llama70bTp8,
        Self::A100Llama8bTp1,
        Self::A100Llama70bTp4,
        Self::A100Llama70bTp8,
        Self::Rtx4090Llama8bTp1,
        Self::RtxPro6000Llama8bTp1,
        Self::RtxPro6000Qwen30bA3bEp2,
    ];

    /// What the datasheet of its GPU lets expect, with nothing fitted to that GPU; `None` where kernels were measured.
    pub fn datasheet(self) -> Option<Roofline> {
        match self {
            Self::Rtx4090Llama8bTp1 => Some(Roofline::from_datasheet(&Gpu::RTX_4090, Shape::Llama8b)),
            Self::RtxPro6000Llama8bTp1 => Some(Roofline::from_datasheet(&Gpu::RTX_PRO_6000_SERVER, Shape::Llama8b)),
            Self::RtxPro6000Qwen30bA3bEp2 => Some(Roofline {
                expert_parallel: Some(ExpertParallel { ranks: 2, exchange: 16e9 }),
                ..Roofline::from_datasheet(&Gpu::RTX_PRO_6000_SERVER, Shape::Qwen30bA3b)
            }),
            _ => None,
        }
    }

    /// Its coefficients.
    pub fn roofline(self) -> Roofline {
        use Shape::{Llama8b, Llama70b, Qwen30bA3b};
        //                        model, TP  q   F      B     F_attn B_kv  c_layer c_seq AR
        match self {
            Self::H100Llama8bTp1 => row(Llama8b, 1, [2.0, 693.0, 2.39, 485.0, 3.03, 0.0, 4.2], None),
            Self::H100Llama70bTp4 => row(Llama70b, 4, [3.0, 727.0, 2.40, 312.0, 2.84, 76.1, 0.0], Some(225.0)),
            Self::H100Llama70bTp8 => row(Llama70b, 8, [3.0, 634.0, 3.10, 600.0, 3.02, 97.8, 0.0], Some(192.0)),
            Self::A100Llama8bTp1 => row(Llama8b, 1, [2.0, 238.0, 1.90, 250.0, 1.64, 115.0, 0.0], None),
            Self::A100Llama70bTp4 => row(Llama70b, 4, [3.0, 280.0, 1.90, 250.0, 1.44, 146.0, 24.0], Some(81.0)),
            Self::A100Llama70bTp8 => row(Llama70b, 8, [3.0, 223.0, 1.90, 250.0, 1.52, 126.0, 4.3], Some(116.0)),
            Self::Rtx4090Llama8bTp1 => row(Llama8b, 1, [2.0, 147.0, 0.92, 131.0, 0.95, 70.0, 2.0], None),
            Self::RtxPro6000Llama8bTp1 => row(Llama8b, 1, [2.0, 330.0, 1.34, 294.0, 1.39, 83.0, 2.0], None),
            Self::RtxPro6000Qwen30bA3bEp2 => Roofline {
                expert_parallel: Some(ExpertParallel { ranks: 2, exchange: 16e9 }),
                ..row(Qwen30bA3b, 1, [2.0, 315.0, 1.21, 280.0, 1.25, 79.0, 2.0], None)
            },
        }
    }
}

/// A row of the calibration table: q, F and F_attn in TFLOP/s, B and B_kv in TB/s, c in µs, AR in GB/s.
fn row(shape: Shape, tensor_parallel: u32, fitted: [f64; 7], all_reduce: Option<f64>) -> Roofline {
    let [sharpness, flops, bandwidth, attention_flops, kv_bandwidth, per_layer, per_sequence] = fitted;
    Roofline {
        shape,
        tensor_parallel,
        sharpness,
        flops: flops * 1e12,
        bandwidth: bandwidth * 1e12,
        attention_flops: attention_flops * 1e12,
        kv_bandwidth: kv_bandwidth * 1e12,
        per_layer: per_layer * 1e-6,
        per_sequence: per_sequence * 1e-6,
        all_reduce: all_reduce.map(|rate| rate * 1e9),
        expert_parallel: None,
    }
}
