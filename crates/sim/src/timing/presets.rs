//! Calibrated combinations of GPU and model.

use super::{Roofline, Shape};
use serde::{Deserialize, Serialize};

/// A GPU, a model and how many GPUs share it, with coefficients fitted to sums of measured bf16 kernels (GEMM, attention,
/// all-reduce). In-sample error: mean 2 to 4 %, 90th percentile 4 to 7 %; two public sources for the same kernels differ
/// by up to 24 %, so finer tuning would fit noise.
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
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 6] = [
        Self::H100Llama8bTp1,
        Self::H100Llama70bTp4,
        Self::H100Llama70bTp8,
        Self::A100Llama8bTp1,
        Self::A100Llama70bTp4,
        Self::A100Llama70bTp8,
    ];

    /// Its coefficients.
    pub fn roofline(self) -> Roofline {
        use Shape::{Llama8b, Llama70b};
        //                        model, TP  q   F      B     F_attn B_kv  c_layer c_seq AR
        match self {
            Self::H100Llama8bTp1 => row(Llama8b, 1, [2.0, 693.0, 2.39, 485.0, 3.03, 0.0, 4.2], None),
            Self::H100Llama70bTp4 => row(Llama70b, 4, [3.0, 727.0, 2.40, 312.0, 2.84, 76.1, 0.0], Some(225.0)),
            Self::H100Llama70bTp8 => row(Llama70b, 8, [3.0, 634.0, 3.10, 600.0, 3.02, 97.8, 0.0], Some(192.0)),
            Self::A100Llama8bTp1 => row(Llama8b, 1, [2.0, 238.0, 1.90, 250.0, 1.64, 115.0, 0.0], None),
            Self::A100Llama70bTp4 => row(Llama70b, 4, [3.0, 280.0, 1.90, 250.0, 1.44, 146.0, 24.0], Some(81.0)),
            Self::A100Llama70bTp8 => row(Llama70b, 8, [3.0, 223.0, 1.90, 250.0, 1.52, 126.0, 4.3], Some(116.0)),
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
    }
}
