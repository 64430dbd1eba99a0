//! The tail of the wait for admission, as the server's own histogram has it.

use super::{
    counters::{growth_in, means_can_be_told, no_traffic},
    first_token_waits::tail_level,
    prefill_queue::buckets,
};
use crate::side::{Measure, Side};
use firstcheck_model::{
    measurement::{Measurement, Missing},
    signal::{Part, Signal},
    unit::Seconds,
};

/// A high quantile of the server's queue histogram, known to lie in one of its buckets.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueTail {
    /// The bucket's lower bound, with the bucket as interval.
    pub wait: Measurement<Seconds>,
    /// Which quantile.
    pub level: f64,
}

impl Measure for QueueTail {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        means_can_be_told(side)?;
        let runs = &side.evidence.runs;
        let source = growth_in(runs, Signal::QueueTime, Part::Count)?.source;
        let buckets = buckets(runs, Signal::QueueTime)?;
        let n: f64 = buckets.iter().map(|(_, _, count)| count).sum();
        let level = tail_level(n).ok_or_else(|| no_traffic("enough finished requests for a tail in the window"))?;
        let (mut seen, mut found) = (0.0, (0.0, f64::INFINITY));
        for (lower, upper, count) in buckets {
            seen += count;
            found = (lower, upper);
            if seen >= level * n {
                break;
            }
        }
        let interval = Some((Seconds(found.0), Seconds(found.1)));
        Ok(Self { wait: Measurement { value: Seconds(found.0), interval, n: n.round() as u64, source }, level })
    }
}
