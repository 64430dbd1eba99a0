//! Means of the server's own latency histograms: exactly additive, unlike percentiles.

use super::counters::histogram_mean;
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
        let mean = |signal| {
            histogram_mean(side, signal).map(|(value, n, source)| Measurement {
                value: Seconds(value),
                interval: None,
                n,
                source,
            })
        };
        Ok(Self { ttft: mean(Signal::Ttft)?, queue: mean(Signal::QueueTime)? })
    }
}
