//! The way of KV from the prefill pool to the decode pool.

use super::error::{DeploymentError, in_range};
use serde::{Deserialize, Serialize};

/// How long KV takes from one pool to the other. The defaults are those of Llama 3.1 8B's KV over a 400 Gbit/s link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Transfer {
    /// KV bytes a token, as `2 · layers · KV heads · head size · bytes a value`.
    pub bytes_per_token: f64,
    /// What a prefill replica's link carries, bytes a second. Transfers from one replica follow one another.
    pub bytes_per_second: f64,
    /// Bytes that one descriptor moves: small pages, or unequal sharding, make it small.
    pub bytes_per_descriptor: f64,
    /// Cost of a descriptor, seconds.
    pub descriptor_seconds: f64,
    /// Time from the end of the prefill to the begin of the transfer, seconds: router hop, alignment with a step.
    pub latency_seconds: f64,
    /// Time of the first transfer between a pair of replicas for their handshake, seconds.
    pub handshake_seconds: f64,
    /// Share of transfers that fail, 0 to 1.
    pub failure_share: f64,
    /// What becomes of a request whose transfer fails.
    pub on_failure: OnFailure,
    /// Whether the decode pool asks for a transfer at all; if not, it computes every prompt itself.
    pub asked_for: bool,
}

/// What becomes of a request whose KV does not arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The decode replica computes the prompt, and nobody is told.
    #[default]
    Recompute,
    /// The request fails.
    Fail,
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            bytes_per_token: 131_072.0,
            bytes_per_second: 45e9,
            bytes_per_descriptor: 1_048_576.0,
            descriptor_seconds: 2e-6,
            latency_seconds: 0.002,
            handshake_seconds: 0.1,
            failure_share: 0.0,
            on_failure: OnFailure::Recompute,
            asked_for: true,
        }
    }
}

impl Transfer {
    /// KV bytes of `tokens` tokens.
    pub fn bytes(&self, tokens: u32) -> f64 {
        f64::from(tokens) * self.bytes_per_token
    }

    /// Descriptors that move `bytes`.
    pub fn descriptors(&self, bytes: f64) -> f64 {
        (bytes / self.bytes_per_descriptor).ceil()
    }

    /// Time on the link for `tokens` tokens, seconds: bytes over bandwidth, and the descriptors' own cost.
    pub fn link_seconds(&self, tokens: u32) -> f64 {
        let bytes = self.bytes(tokens);
        bytes / self.bytes_per_second + self.descriptors(bytes) * self.descriptor_seconds
    }

    pub(super) fn validate(&self) -> Result<(), DeploymentError> {
        in_range("transfer.bytes_per_token", self.bytes_per_token, 1.0, 1e9, "1 to 1e9")?;
        in_range("transfer.bytes_per_second", self.bytes_per_second, 1e3, 1e15, "1e3 to 1e15")?;
        in_range("transfer.bytes_per_descriptor", self.bytes_per_descriptor, 1.0, 1e12, "1 to 1e12")?;
        in_range("transfer.descriptor_seconds", self.descriptor_seconds, 0.0, 1.0, "0 to 1 s")?;
        in_range("transfer.latency_seconds", self.latency_seconds, 0.0, 60.0, "0 to 60 s")?;
        in_range("transfer.handshake_seconds", self.handshake_seconds, 0.0, 600.0, "0 to 600 s")?;
        in_range("transfer.failure_share", self.failure_share, 0.0, 1.0, "0 to 1")
    }
}
