//! How fast a request's prompt is computed.

use super::counters::{growth, no_traffic};
use crate::side::{Measure, Side};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source},
    signal::{Part, Signal},
    unit::TokensPerSecond,
};

/// Prompt tokens computed over the time from first scheduled to first token, both summed over requests: the speed that one
/// request sees, not the capacity of the engine. A cold first request can only lower it.
#[derive(Debug, Clone, PartialEq)]
pub struct PrefillRate {
    /// The speed.
    pub rate: Measurement<TokensPerSecond>,
}

impl Measure for PrefillRate {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let tokens = growth(side, Signal::PrefillComputedTokens, Part::Sum)?;
        let time = growth(side, Signal::PrefillTime, Part::Sum)?;
        let count = growth(side, Signal::PrefillTime, Part::Count)?;
        if time.value <= 0.0 || tokens.value <= 0.0 {
            return Err(no_traffic("prompts that were computed in the window"));
        }
        let by = "computed prompt tokens / prefill time".into();
        let source = Source::Derived { by, from: vec![tokens.source, time.source] };
        let value = TokensPerSecond(tokens.value / time.value);
        Ok(Self { rate: Measurement { value, interval: None, n: count.value.round() as u64, source } })
    }
}
