//! Checks of a family: stream.

pub mod frozen_streams;
pub mod handover_latency;
pub mod periodic_spikes;
pub mod speculation_tail;
pub mod stream_stutter;
pub mod structured_stall;
pub mod unreadable_chunks;

use crate::{
    measure::{counters::growth, episodes::Episodes, server_gaps::ServerGaps},
    side::Side,
    verdict::Weighed,
};
use firstcheck_model::{
    measurement::{Fact, Measurement, Missing},
    signal::{Part, Signal},
    unit::Ratio,
};

/// What the server's own count of long gaps says of a delivery that holds events back while the server goes on.
fn delivery(server: &ServerGaps) -> Weighed {
    if server.confirms() { Weighed::Excludes(vec![server.fact()]) } else { Weighed::Supports(vec![server.fact()]) }
}

/// Whether requests that were thrown out of the batch explain `count` slow gaps or freezes (`what`): half as many
/// preemptions or more, and not in `all` of the live streams at once, which the engine as a whole would show.
fn preempted(
    side: &Side<'_>,
    (count, what): (u64, &str),
    together: &Result<Measurement<Ratio>, Missing>,
    all: f64,
) -> Result<Weighed, Missing> {
    let counter = growth(side, Signal::Preemptions, Part::Value)?;
    let mut facts = vec![Fact {
        text: format!("{:.0} preemptions, {count} {what}", counter.value),
        value: Some(counter.value),
        unit: Some("count".into()),
        interval: None,
        n: Some(count),
        source: counter.source,
    }];
    if 2.0 * counter.value < count as f64 {
        return Ok(Weighed::Excludes(facts));
    }
    facts.extend(together.as_ref().ok().map(Episodes::fact));
    // Streams that stood still alone: nothing speaks against what the counter says.
    let whole = together.as_ref().is_ok_and(|share| share.value.0 >= all);
    Ok(if whole { Weighed::Excludes(facts) } else { Weighed::Supports(facts) })
}
