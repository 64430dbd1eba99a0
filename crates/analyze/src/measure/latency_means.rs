//! Means of the server's own latency histograms: exactly additive, unlike percentiles.

use super::counters::{mean_in, means_can_be_told};
use crate::side::{Measure, Side};
use firstcheck_model::{
    measurement::{Measurement, Missing},
    signal::Signal,
    unit::Seconds,
};

/// Mean time to first token and mean queue time as the server counts them, over the windows of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyMeans {
    /// Time to first token, from arrival at the server.
    pub ttft: Measurement<Seconds>,
    /// Wait until first scheduled.
    pub queue: Measurement<Seconds>,
}

impl Measure for LatencyMeans {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        means_can_be_told(side)?;
        let mean = |signal| mean_in(&side.evidence.runs, signal);
        Ok(Self { ttft: mean(Signal::Ttft)?, queue: mean(Signal::QueueTime)? })
    }
}
