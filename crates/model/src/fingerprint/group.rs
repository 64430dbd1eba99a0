//! What a field of a fingerprint speaks of.

use super::field;
use serde::{Deserialize, Serialize};

/// What a field speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The model: weights, tokenizer, chat template, adapters.
    Model,
    /// The engine and its version.
    Engine,
    /// Libraries below the engine: PyTorch, CUDA, NCCL, kernels, the driver.
    Software,
    /// Devices and the host: model, memory, links, clocks, power, MIG, who else is on them.
    Hardware,
    /// What somebody set: options and environment variables. Field names begin with [`field::GIVEN`].
    Given,
    /// Values that the engine runs with, however it came to them.
    Resolved,
    /// What was offered.
    Workload,
    /// What lies between client and engine: address, router, transport.
    Network,
}

impl Group {
    /// All groups, in the order of a page.
    pub const ALL: [Self; 8] = [
        Self::Engine,
        Self::Model,
        Self::Resolved,
        Self::Given,
        Self::Hardware,
        Self::Software,
        Self::Network,
        Self::Workload,
    ];

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Engine => "engine",
            Self::Software => "software",
            Self::Hardware => "hardware",
            Self::Given => "given",
            Self::Resolved => "resolved",
            Self::Workload => "workload",
            Self::Network => "network",
        }
    }

    /// The group of a field whose source does not say: told by its name, else [`Group::Resolved`].
    pub fn of(name: &str) -> Self {
        match name {
            field::ENGINE | field::ENGINE_VERSION | field::FRONT => Self::Engine,
            field::MODEL | field::MODEL_ROOT => Self::Model,
            _ if name.starts_with(field::GIVEN) => Self::Given,
            _ => Self::Resolved,
        }
    }
}
