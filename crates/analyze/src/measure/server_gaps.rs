//! Long gaps as the server counts them.

use super::{
    counters::growth,
    stalls::{Stall, Stalls},
};
use crate::side::Side;
use firstcheck_model::{
    measurement::{Fact, Measurement, Missing, Source},
    signal::{Part, Signal},
    unit::{Count, Seconds},
};

/// The server's own count of inter-token gaps above a bound of its histogram, beside the client's.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerGaps {
    /// The bound.
    pub bound: Seconds,
    /// Gaps above it as the server counts them.
    pub server: Measurement<Count>,
    /// Stalls above it at the client, within the windows.
    pub client: u64,
}

impl ServerGaps {
    /// Both counts at the first bound at or above `length` beyond which the client has a stall, else at the last one
    /// below.
    ///
    /// # Errors
    /// No such histogram, or counters that cannot be believed.
    pub fn above(side: &Side<'_>, length: Seconds) -> Result<Self, Missing> {
        let stalls = side.measure::<Stalls>()?;
        let runs = &side.evidence.runs;
        // What came after the window is in no sample of the window.
        let inside = |stall: &&Stall| {
            let window = runs.get(stall.run).and_then(|run| run.info.window);
            window.is_none_or(|window| !stall.end.reached() || window.contains(stall.end))
        };
        let long = |bound: f64| move |stall: &&Stall| stall.length.0 > bound;
        let client = |bound: f64| stalls.stalls.iter().filter(inside).filter(long(bound)).count() as u64;
        let mut bounds: Vec<f64> = Vec::new();
        for series in side.evidence.runs.iter().flat_map(|run| &run.signals) {
            if let (Some(Signal::Itl), Part::Bucket(bound)) = (series.signal, series.part) {
                bounds.push(bound);
            }
        }
        bounds.retain(|bound| bound.is_finite());
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        let above = bounds.iter().copied().find(|bound| *bound >= length.0).filter(|bound| client(*bound) > 0);
        let below = || bounds.iter().copied().rfind(|bound| *bound < length.0);
        let Some(bound) = above.or_else(below) else {
            return Err(Missing::not_exposed(
                "the server's histogram of inter-token latencies, to tell its gaps from the client's",
                "firstcheck run --url URL",
            ));
        };
        let (all, up_to) = (growth(side, Signal::Itl, Part::Count)?, growth(side, Signal::Itl, Part::Bucket(bound))?);
        let n = all.value.round() as u64;
        let value = Count((all.value - up_to.value).max(0.0));
        let source =
            Source::Derived { by: format!("inter-token gaps above {bound} s"), from: vec![all.source, up_to.source] };
        Ok(Self {
            bound: Seconds(bound),
            server: Measurement { value, interval: None, n, source },
            client: client(bound),
        })
    }

    /// Both counts in words.
    pub fn fact(&self) -> Fact {
        let (server, bound, client) = (self.server.value.0, self.bound.0, self.client);
        self.server.fact(format!("the server counts {server:.0} gaps above {bound} s, the client {client}"))
    }

    /// Whether the server saw at least half of the client's long gaps.
    pub fn confirms(&self) -> bool {
        2.0 * self.server.value.0 >= self.client as f64
    }
}
