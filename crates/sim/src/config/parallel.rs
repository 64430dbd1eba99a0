//! Several GPUs that take each step together.

use super::error::{ConfigError, seconds, share, within};
use serde::{Deserialize, Serialize};

/// How ranks share a step, and what of it makes them wait for one another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parallel {
    /// How tensor-parallel ranks sum what they computed, twice a layer.
    pub all_reduce: AllReduce,
    /// A rank that comes late to the collectives; the others wait in them.
    pub late_rank: Option<LateRank>,
    /// A rank whose GPU is slow; the others wait for it.
    pub slow_rank: Option<SlowRank>,
    /// Which attention rank of a server the engine is.
    pub data: DataRank,
    /// Experts spread over ranks.
    pub experts: Option<Experts>,
}

/// How tensor-parallel ranks sum what they computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllReduce {
    /// As in the calibration of the step time.
    #[default]
    Calibrated,
    /// Two messages a layer, each latency + 2·(n−1)/n · bytes / rate. Latency floors: about 10 µs for a one-shot kernel
    /// over NVLink, 20 to 40 µs for a ring of NCCL.
    Model {
        /// Time of an empty message, seconds.
        latency_seconds: f64,
        /// Rate of the bus, bytes a second.
        bytes_per_second: f64,
    },
}

/// A rank that comes late to each step's collectives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LateRank {
    /// Which rank; `None`: another one each step.
    #[serde(default)]
    pub rank: Option<u32>,
    /// How late over a step, seconds.
    pub seconds: f64,
}

/// A rank whose GPU is slower than the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowRank {
    /// Which.
    pub rank: u32,
    /// What its time on the GPU is multiplied by.
    pub factor: f64,
}

/// Which attention rank of a server an engine is. The ranks of a server have requests, a queue and a KV pool of their own,
/// and take every step together: their experts exchange tokens in each layer, so that a step of all lasts as long as the
/// slowest rank's, and a rank with nothing to do takes an empty step beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataRank {
    /// Which, from 0.
    pub rank: u32,
    /// Of how many; 1: the engine steps by itself.
    pub of: u32,
}

impl Default for DataRank {
    fn default() -> Self {
        Self { rank: 0, of: 1 }
    }
}

/// Experts spread over ranks: tokens travel to their experts and back, each layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Experts {
    /// Ranks.
    pub ranks: u32,
    /// Share of the arithmetic and weight reading of a step that is experts' work.
    pub share: f64,
    /// Tokens of the rank with most over the mean: 1 is balanced.
    pub imbalance: f64,
    /// Time of an empty dispatch or combine, seconds.
    pub latency_seconds: f64,
    /// Rate at which a rank sends and receives, bytes a second.
    pub bytes_per_second: f64,
    /// Experts a token goes to.
    pub top_k: u32,
}

impl Default for Experts {
    fn default() -> Self {
        Self { ranks: 8, share: 0.6, imbalance: 1.0, latency_seconds: 15e-6, bytes_per_second: 200e9, top_k: 8 }
    }
}

impl Parallel {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        if let AllReduce::Model { latency_seconds, bytes_per_second } = self.all_reduce {
            seconds("parallel.all_reduce.latency_seconds", latency_seconds)?;
            rate("parallel.all_reduce.bytes_per_second", bytes_per_second)?;
        }
        if let Some(late) = self.late_rank {
            seconds("parallel.late_rank.seconds", late.seconds)?;
        }
        if let Some(slow) = self.slow_rank {
            within("parallel.slow_rank.factor", slow.factor, 1.0, 1e4, "1 to 10000")?;
        }
        within("parallel.data.of", self.data.of, 1, 1024, "1 to 1024")?;
        within("parallel.data.rank", self.data.rank, 0, self.data.of - 1, "less than parallel.data.of")?;
        let Some(experts) = self.experts else { return Ok(()) };
        within("parallel.experts.ranks", experts.ranks, 1, 4096, "1 to 4096")?;
        share("parallel.experts.share", experts.share)?;
        let most = f64::from(experts.ranks);
        within("parallel.experts.imbalance", experts.imbalance, 1.0, most, "1 to the number of ranks")?;
        seconds("parallel.experts.latency_seconds", experts.latency_seconds)?;
        rate("parallel.experts.bytes_per_second", experts.bytes_per_second)?;
        within("parallel.experts.top_k", experts.top_k, 1, 1024, "1 to 1024")
    }
}

fn rate(name: &'static str, value: f64) -> Result<(), ConfigError> {
    within(name, value, 1.0, 1e18, "1 to 1e18 bytes a second")
}
