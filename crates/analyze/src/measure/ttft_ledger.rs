//! The ledger of a first token: where its mean time went, by the engine's own histograms.

use super::counters::{mean_in, means_can_be_told, runs_of};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    request::{Fate, Request},
    signal::Signal,
    unit::Seconds,
};

/// Terms of the mean time to first token. Means add up where percentiles do not:
///
/// `client = client_wait + outside + front_end + queue + prefill`, and `server = front_end + queue + prefill`.
///
/// The engine stamps a request as queued when its core takes it in, which waits for the step in hand: behind long prefill
/// steps that wait lies in `front_end` and looks like a slow tokeniser. A front end is slow only where its term does not
/// follow the steps; see [`StepWait`](super::step_wait::StepWait). Queue ends at the *first* scheduling.
#[derive(Debug, Clone, PartialEq)]
pub struct TtftLedger {
    /// Arrival at the server to first token, as its front end counts it.
    pub server: Measurement<Seconds>,
    /// Taken in by the engine's core to first scheduled.
    pub queue: Measurement<Seconds>,
    /// First scheduled to first token.
    pub prefill: Measurement<Seconds>,
    /// What the server's time leaves of queue and prefill: tokenising, the wait to be taken in by the core, and the first
    /// token's way out of it. Below zero where the three histograms hold different requests.
    pub front_end: Measurement<Seconds>,
    /// The client's terms; missing without requests.
    pub client: Result<ClientTerms, Missing>,
}

/// The part of the ledger that only a client sees. Means over the completed requests of the window.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientTerms {
    /// Intended send to first token.
    pub ttft: Measurement<Seconds>,
    /// Intended send to actual send.
    pub wait: Measurement<Seconds>,
    /// What the client sees after its send and the server does not: gateway and network, before the first byte and after.
    pub outside: Measurement<Seconds>,
}

impl TtftLedger {
    /// The ledger over the windows of `runs`.
    ///
    /// # Errors
    /// What the engine does not expose.
    pub fn of(runs: &[RunEvidence]) -> Result<Self, Missing> {
        let server = mean_in(runs, Signal::Ttft)?;
        let queue = mean_in(runs, Signal::QueueTime)?;
        let prefill = mean_in(runs, Signal::PrefillTime)?;
        let front_end = difference("server − queue − prefill", &server, &[&queue, &prefill]);
        let client = ClientTerms::of(runs, &server);
        Ok(Self { server, queue, prefill, front_end, client })
    }

    /// How many more (or fewer) first tokens the server counts than the client completed requests, relative to these.
    /// Far from 0 the terms are means over different requests: a warm-up that was scraped with the window, or others'
    /// traffic. `None` without a client.
    pub fn foreign_share(&self) -> Option<f64> {
        let completed = self.client.as_ref().ok()?.ttft.n as f64;
        (completed > 0.0).then(|| self.server.n as f64 / completed - 1.0)
    }
}

impl ClientTerms {
    fn of(runs: &[RunEvidence], server: &Measurement<Seconds>) -> Result<Self, Missing> {
        let ttft = mean_over(runs, "mean time to first token of requests", Request::ttft)?;
        // A client that does not tell when it meant to send, sent when it meant to.
        let wait = mean_over(runs, "mean wait in the client", |request| {
            request.first_token.since(request.origin())?;
            Some(request.send_lag().unwrap_or(Seconds(0.0)))
        })?;
        let outside = difference("client − wait in the client − server", &ttft, &[&wait, server]);
        Ok(Self { ttft, wait, outside })
    }
}

impl Measure for TtftLedger {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        means_can_be_told(side)?;
        Self::of(&side.evidence.runs)
    }
}

/// `whole` less `parts`, over as many samples as the scarcest of them has.
fn difference(by: &str, whole: &Measurement<Seconds>, parts: &[&Measurement<Seconds>]) -> Measurement<Seconds> {
    let value = parts.iter().fold(whole.value.0, |left, part| left - part.value.0);
    let all = || std::iter::once(whole).chain(parts.iter().copied());
    Measurement {
        value: Seconds(value),
        interval: None,
        n: all().map(|one| one.n).min().unwrap_or(0),
        source: Source::Derived { by: by.into(), from: all().map(|one| one.source.clone()).collect() },
    }
}

/// Mean over the completed requests of the windows that have the value.
fn mean_over(
    runs: &[RunEvidence],
    by: &str,
    value: impl Fn(&Request) -> Option<Seconds>,
) -> Result<Measurement<Seconds>, Missing> {
    let completed = runs.iter().flat_map(RunEvidence::window).filter(|(_, request)| request.fate == Fate::Completed);
    let known: Vec<f64> = completed.filter_map(|(_, request)| Some(value(request)?.0)).collect();
    if known.is_empty() {
        return Err(Missing::not_exposed("requests with a first token", "firstcheck run --url URL"));
    }
    let n = known.len() as u64;
    let source = Source::Derived { by: by.into(), from: runs_of(runs) };
    Ok(Measurement { value: Seconds(known.iter().sum::<f64>() / n as f64), interval: None, n, source })
}
