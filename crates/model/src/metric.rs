//! What is compared: metrics and the statistics taken of them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A quantity that a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Time to first token from the intended send.
    Ttft,
    /// Time to first token from the actual send.
    TtftFromSent,
    /// Inter-token latency, over tokens.
    Itl,
    /// Gap between token-bearing events.
    EventGap,
    /// Mean time per output token, one a request.
    Tpot,
    /// Longest event gap, one a stream.
    LongestGap,
    /// From the intended send to the last token.
    E2e,
    /// Output tokens a second.
    OutputThroughput,
    /// Input tokens a second.
    InputThroughput,
    /// Completed requests a second.
    RequestThroughput,
    /// Requests a second that meet the SLO.
    Goodput,
    /// Share of offered requests that meet the SLO.
    GoodShare,
    /// Share of offered requests that did not complete.
    FailedShare,
    /// Preemptions in the window.
    Preemptions,
    /// Prefix-cache hit rate of the window, from counter deltas.
    HitRate,
    /// KV capacity in tokens.
    KvCapacity,
    /// Memory of the weights on one device, as the engine's log states it.
    WeightMemory,
    /// Memory on one device that the KV cache cannot have, as the engine's log states it.
    NonKvMemory,
    /// From the first line of the engine's log to the server being ready.
    StartUpTime,
    /// GPU time a request that meets the SLO: number of GPUs times the window, over good requests.
    GpuTimePerGood,
    /// Cost of the GPU time a request that meets the SLO.
    CostPerGood,
    /// Time a request waited in the engine's queue, mean of the window.
    QueueTime,
    /// Prefill time, mean of the window.
    PrefillTime,
    /// Decode time, mean of the window.
    DecodeTime,
    /// Time to first token as the server's own histogram has it, mean of the window.
    TtftServer,
    /// Inter-token latency as the server's own histogram has it, mean of the window.
    ItlServer,
    /// Actual minus intended send.
    SendLag,
}

/// Which way is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worse {
    /// A larger value is worse.
    Higher,
    /// A smaller value is worse.
    Lower,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 27] = [
        Self::Ttft,
        Self::TtftFromSent,
        Self::Itl,
        Self::EventGap,
        Self::Tpot,
        Self::LongestGap,
        Self::E2e,
        Self::OutputThroughput,
        Self::InputThroughput,
        Self::RequestThroughput,
        Self::Goodput,
        Self::GoodShare,
        Self::FailedShare,
        Self::Preemptions,
        Self::HitRate,
        Self::KvCapacity,
        Self::WeightMemory,
        Self::NonKvMemory,
        Self::StartUpTime,
        Self::GpuTimePerGood,
        Self::CostPerGood,
        Self::QueueTime,
        Self::PrefillTime,
        Self::DecodeTime,
        Self::TtftServer,
        Self::ItlServer,
        Self::SendLag,
    ];

    /// The name in files and JSON reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::TtftFromSent => "ttft_from_sent",
            Self::Itl => "itl",
            Self::EventGap => "event_gap",
            Self::Tpot => "tpot",
            Self::LongestGap => "longest_gap",
            Self::E2e => "e2e",
            Self::OutputThroughput => "output_throughput",
            Self::InputThroughput => "input_throughput",
            Self::RequestThroughput => "request_throughput",
            Self::Goodput => "goodput",
            Self::GoodShare => "good_share",
            Self::FailedShare => "failed_share",
            Self::Preemptions => "preemptions",
            Self::HitRate => "hit_rate",
            Self::KvCapacity => "kv_capacity",
            Self::WeightMemory => "weight_memory",
            Self::NonKvMemory => "non_kv_memory",
            Self::StartUpTime => "start_up_time",
            Self::GpuTimePerGood => "gpu_time_per_good",
            Self::CostPerGood => "cost_per_good",
            Self::QueueTime => "queue_time",
            Self::PrefillTime => "prefill_time",
            Self::DecodeTime => "decode_time",
            Self::TtftServer => "ttft_server",
            Self::ItlServer => "itl_server",
            Self::SendLag => "send_lag",
        }
    }

    /// The name as people read it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ttft => "TTFT",
            Self::TtftFromSent => "TTFT from sent",
            Self::Itl => "ITL",
            Self::EventGap => "event gap",
            Self::Tpot => "TPOT",
            Self::LongestGap => "longest gap",
            Self::E2e => "E2E",
            Self::OutputThroughput => "output",
            Self::InputThroughput => "input",
            Self::RequestThroughput => "completed",
            Self::Goodput => "goodput",
            Self::GoodShare => "good share",
            Self::FailedShare => "failed share",
            Self::Preemptions => "preemptions",
            Self::HitRate => "prefix hit rate",
            Self::KvCapacity => "KV capacity",
            Self::WeightMemory => "weights",
            Self::NonKvMemory => "memory beside KV",
            Self::StartUpTime => "start-up",
            Self::GpuTimePerGood => "GPU time a good request",
            Self::CostPerGood => "cost a good request",
            Self::QueueTime => "queue wait",
            Self::PrefillTime => "prefill",
            Self::DecodeTime => "decode",
            Self::TtftServer => "server TTFT",
            Self::ItlServer => "server ITL",
            Self::SendLag => "send lag",
        }
    }

    /// The unit of its values.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Ttft
            | Self::TtftFromSent
            | Self::Itl
            | Self::EventGap
            | Self::Tpot
            | Self::LongestGap
            | Self::E2e => "s",
            Self::QueueTime | Self::PrefillTime | Self::DecodeTime | Self::SendLag => "s",
            Self::TtftServer | Self::ItlServer | Self::StartUpTime => "s",
            Self::WeightMemory | Self::NonKvMemory => "B",
            Self::GpuTimePerGood => "GPU-s",
            Self::CostPerGood => "cost",
            Self::OutputThroughput | Self::InputThroughput => "tokens/s",
            Self::RequestThroughput | Self::Goodput => "requests/s",
            Self::GoodShare | Self::FailedShare | Self::HitRate => "1",
            Self::Preemptions => "count",
            Self::KvCapacity => "tokens",
        }
    }

    /// Which way is worse.
    pub const fn worse(self) -> Worse {
        match self {
            Self::OutputThroughput
            | Self::InputThroughput
            | Self::RequestThroughput
            | Self::Goodput
            | Self::GoodShare
            | Self::HitRate
            | Self::KvCapacity => Worse::Lower,
            _ => Worse::Higher,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which statistic of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stat {
    /// Arithmetic mean.
    Mean,
    /// Standard deviation.
    StandardDeviation,
    /// Smallest value.
    Min,
    /// Largest value.
    Max,
    /// The value itself: a rate, a share, a count of the whole window.
    Total,
    /// A quantile, in (0, 1).
    Quantile(f64),
}

impl fmt::Display for Stat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::StandardDeviation => f.write_str("std"),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
            Self::Total => f.write_str("total"),
            Self::Quantile(p) => {
                let percent = p * 100.0;
                let rounded = (percent * 1e3).round() / 1e3;
                write!(f, "p{rounded}")
            }
        }
    }
}
