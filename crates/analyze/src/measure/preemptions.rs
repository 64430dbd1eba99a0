//! Preemptions a finished request.

use super::counters::{growth, no_traffic};
use crate::side::{Measure, Side};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source},
    signal::{Part, Signal},
    unit::{Count, Ratio},
};

/// Preemptions in the windows of a side, and their rate a finished request.
#[derive(Debug, Clone, PartialEq)]
pub struct Preemptions {
    /// How many; a lower bound when the counter restarted.
    pub count: Measurement<Count>,
    /// A finished request, as the server counts both.
    pub rate: Measurement<Ratio>,
    /// Counter restarts seen.
    pub resets: u32,
}

impl Measure for Preemptions {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let preemptions = growth(side, Signal::Preemptions, Part::Value)?;
        let finished = growth(side, Signal::Finished, Part::Value)?;
        if finished.value <= 0.0 {
            return Err(no_traffic("finished requests in the window"));
        }
        let n = finished.value.round() as u64;
        let both = Source::Derived {
            by: "preemptions / finished".into(),
            from: vec![preemptions.source.clone(), finished.source],
        };
        Ok(Self {
            count: Measurement { value: Count(preemptions.value), interval: None, n, source: preemptions.source },
            rate: Measurement { value: Ratio(preemptions.value / finished.value), interval: None, n, source: both },
            resets: preemptions.resets,
        })
    }
}
