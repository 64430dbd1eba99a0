//! What a second KV tier costs its requests, and what it saves them.

use super::{
    counters::{Growth, growth, growth_in, no_traffic, watched},
    prefill_rate::PrefillRate,
    replicas::replicas,
    waiting_moments::WaitingMoments,
};
use crate::{
    side::{Measure, Side},
    verdict::MOST,
};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    signal::{Part, Signal},
    unit::{Bytes, Ratio, Seconds, Tokens},
};

/// Tokens that came from a tier behind the device (host memory, storage), and the time that all requests together spent for
/// them. Sums over the window, since no engine tells the loads of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct TierCost {
    /// Tokens found there.
    pub loaded: Measurement<Tokens>,
    /// Their share of all prompt tokens.
    pub share: Measurement<Ratio>,
    /// What computing them would have taken: tokens / speed at which one request's prompt is computed.
    pub computing: Result<Measurement<Seconds>, Missing>,
    /// What requests waited before they were scheduled, as far as they did not wait for room.
    pub waited: Result<Measurement<Seconds>, Missing>,
    /// What copies to the device took.
    pub copying: Result<Measurement<Seconds>, Missing>,
    /// What look-ups took.
    pub looking: Result<Measurement<Seconds>, Missing>,
    /// Share of the window in which the link of a replica copied, to the device or from it.
    pub busy: Result<Measurement<Ratio>, Missing>,
    /// Mean size of an operation that copies to the device.
    pub operation: Result<Measurement<Bytes>, Missing>,
    /// Bytes copied to the device a second of copying.
    pub rate: Option<f64>,
}

impl Measure for TierCost {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let runs = &side.evidence.runs;
        let found = growth(side, Signal::ExternalHits, Part::Value)
            .or_else(|missing| growth(side, Signal::KvLoadedTokens, Part::Value).map_err(|_| missing))?;
        let prompt = growth(side, Signal::PromptTokens, Part::Value)?;
        let n = prompt.value.round() as u64;
        if prompt.value <= 0.0 {
            return Err(no_traffic("prompts in the window"));
        }
        let seconds = |value: f64, source: Source| Measurement { value: Seconds(value), interval: None, n, source };
        let queue = growth(side, Signal::QueueTime, Part::Sum);
        let share = found.value / prompt.value;
        let computing = side.measure::<PrefillRate>().map(|speed| {
            let by = "tokens of the second tier / speed of prefill".into();
            let from = vec![found.source.clone(), speed.rate.source.clone()];
            seconds(found.value / speed.rate.value.0, Source::Derived { by, from })
        });
        let copying = growth_in(runs, Signal::KvLoadBusy, Part::Value)
            .or_else(|missing| growth_in(runs, Signal::KvLoadTime, Part::Sum).map_err(|_| missing));
        let stores = growth_in(runs, Signal::KvStoreBusy, Part::Value)
            .or_else(|missing| growth_in(runs, Signal::KvStoreTime, Part::Sum).map_err(|_| missing));
        let looking = growth_in(runs, Signal::KvLookupTime, Part::Sum);
        let bytes = growth_in(runs, Signal::KvLoadedBytes, Part::Value).ok();
        let rate = bytes.zip(copying.as_ref().ok()).filter(|(_, copying)| copying.value > 0.0);
        Ok(Self {
            loaded: Measurement { value: Tokens(found.value), interval: None, n, source: found.source.clone() },
            share: Measurement {
                value: Ratio(share),
                interval: None,
                n,
                source: Source::Derived {
                    by: "tokens of the second tier / prompt tokens".into(),
                    from: vec![found.source, prompt.source],
                },
            },
            computing,
            waited: queue.and_then(|queue| Ok(seconds(queue.value * deferred_share(side)?, queue.source))),
            busy: busy(runs, &copying, &stores),
            rate: rate.map(|(bytes, copying)| bytes.value / copying.value),
            copying: copying.map(|of| seconds(of.value, of.source)),
            looking: looking.map(|of| seconds(of.value, of.source)),
            operation: operation(runs),
        })
    }
}

/// Share of the pool from which who waits may wait for room.
const FULL: f64 = 0.9;

/// Share of the waiting requests that did not wait for room: all, unless the pool was full when they waited; then as the
/// pages tell them apart.
///
/// # Errors
/// The pool was full, and no page tells those who waited for a tier apart.
fn deferred_share(side: &Side<'_>) -> Result<f64, Missing> {
    let moments = side.measure::<WaitingMoments>();
    let full =
        moments.and_then(|moments| moments.at_which("KV usage while requests wait", |at| Some(at.usage? >= FULL)));
    if full.as_ref().is_ok_and(|share| share.value.0 < MOST) {
        return Ok(1.0);
    }
    let runs = &side.evidence.runs;
    let sum = |signal: Signal| -> f64 {
        let all = runs
            .iter()
            .flat_map(|run| run.series(signal, Part::Value).flat_map(|series| series.inside(run.info.window)));
        all.map(|(_, value)| value).sum()
    };
    let known = runs.iter().any(|run| run.series(Signal::WaitingDeferred, Part::Value).next().is_some());
    let (deferred, all) = (sum(Signal::WaitingDeferred), sum(Signal::Waiting));
    match full {
        _ if known && all > 0.0 => Ok((deferred / all).min(1.0)),
        Ok(_) => Err(Missing::not_exposed(
            "who waited for the tier and who for room: the pool was full",
            "num_requests_waiting_by_reason of a later vLLM, or half of the rate: firstcheck run --url URL --rate RATE",
        )),
        Err(_) => Ok(1.0),
    }
}

type Grown = Result<Growth, Missing>;

fn busy(runs: &[RunEvidence], loads: &Grown, stores: &Grown) -> Result<Measurement<Ratio>, Missing> {
    let (loads, stores) = (loads.as_ref().map_err(Clone::clone)?, stores.as_ref().map_err(Clone::clone)?);
    let window = watched(runs);
    if window <= 0.0 {
        return Err(Missing::not_exposed("how long the runs were watched", "firstcheck run --url URL"));
    }
    let share = (loads.value + stores.value) / window / replicas(runs) as f64;
    let from = vec![loads.source.clone(), stores.source.clone()];
    let source = Source::Derived { by: "time of loads and stores / window".into(), from };
    Ok(Measurement { value: Ratio(share), interval: None, n: 1, source })
}

fn operation(runs: &[RunEvidence]) -> Result<Measurement<Bytes>, Missing> {
    let sum = growth_in(runs, Signal::KvLoadSize, Part::Sum)?;
    let count = growth_in(runs, Signal::KvLoadSize, Part::Count)?;
    if count.value <= 0.0 {
        return Err(no_traffic("operations that load KV in the window"));
    }
    let source = Source::Derived { by: "mean size of a load operation".into(), from: vec![sum.source, count.source] };
    let n = count.value.round() as u64;
    Ok(Measurement { value: Bytes(sum.value / count.value), interval: None, n, source })
}
