//! A mean latency as the sum of its terms, by the engine's own histograms and the client's requests.

use super::counters::{mean_in, runs_of};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    request::{Fate, Request},
    signal::Signal,
    span::Stage,
    unit::Seconds,
};

/// Which latency a ledger is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// To the first token.
    Ttft,
    /// To the last token.
    E2e,
}

impl Whole {
    /// The server's own histogram of it.
    pub const fn signal(self) -> Signal {
        match self {
            Self::Ttft => Signal::Ttft,
            Self::E2e => Signal::E2e,
        }
    }

    /// The histograms of its terms. An engine's queue ends at the first scheduling: the wait of a preempted request lies
    /// in decode.
    const fn terms(self) -> &'static [(Stage, Signal)] {
        const TERMS: [(Stage, Signal); 3] = [
            (Stage::Queue, Signal::QueueTime),
            (Stage::Prefill, Signal::PrefillTime),
            (Stage::DecodePreempted, Signal::DecodeTime),
        ];
        match self {
            Self::Ttft => TERMS.split_at(2).0,
            Self::E2e => &TERMS,
        }
    }
}

/// Means over a window that add up: `whole = Σ terms`. Percentiles would not.
///
/// What the histograms of the core leave of the front end's is a term of its own, [`Stage::FrontEnd`]: tokenising, the
/// wait to be taken in by the core, and the way out of it. The engine stamps a request as queued when its core takes it
/// in, which waits for the step in hand: behind long prefill steps that wait looks like a slow tokeniser. A front end is
/// slow only where its term does not follow the steps; see [`StepWait`](super::step_wait::StepWait).
#[derive(Debug, Clone, PartialEq)]
pub struct ServerLedger {
    /// Arrival at the server to first or last token, as its front end counts it.
    pub whole: Result<Measurement<Seconds>, Missing>,
    /// The terms that the engine exposes, in the order of a request's life. The front end's term is below zero where the
    /// histograms hold different requests; without one of the others it cannot be told from it and is left out.
    pub terms: Vec<(Stage, Measurement<Seconds>)>,
    /// Terms that the engine does not expose.
    pub missing: Vec<Missing>,
}

impl ServerLedger {
    /// The ledger over the windows of `runs`.
    ///
    /// # Errors
    /// The engine exposes none of the terms.
    pub fn of(runs: &[RunEvidence], of: Whole) -> Result<Self, Missing> {
        let whole = mean_in(runs, of.signal());
        let (mut terms, mut missing) = (Vec::new(), Vec::new());
        for (stage, signal) in of.terms() {
            match mean_in(runs, *signal) {
                Ok(mean) => terms.push((*stage, mean)),
                Err(lacking) => missing.push(lacking),
            }
        }
        if let Some(lacking) = missing.first().filter(|_| terms.is_empty()) {
            return Err(lacking.clone());
        }
        if let Ok(whole) = whole.as_ref()
            && missing.is_empty()
        {
            let parts: Vec<&Measurement<Seconds>> = terms.iter().map(|(_, mean)| mean).collect();
            let rest = difference("what the engine's terms leave of its whole", whole, &parts);
            terms.insert(0, (Stage::FrontEnd, rest));
        }
        Ok(Self { whole, terms, missing })
    }

    /// A term by its stage.
    pub fn term(&self, stage: Stage) -> Option<&Measurement<Seconds>> {
        self.terms.iter().find(|(known, _)| *known == stage).map(|(_, mean)| mean)
    }

    /// How many more (or fewer) requests the server counts than the client completed, relative to these, where they are
    /// furthest apart. Far from 0 the means are over different requests: a warm-up that was scraped with the window, others'
    /// traffic, or a queue whose requests have not ended with the window. The terms are counted when a request ends, the
    /// time to its first token before.
    pub fn foreign_share(&self, completed: u64) -> Option<f64> {
        let share = |n: u64| n as f64 / completed as f64 - 1.0;
        let counted = self.terms.iter().map(|(_, mean)| mean.n).chain(self.whole.as_ref().ok().map(|whole| whole.n));
        let furthest = counted.max_by(|one, other| share(*one).abs().total_cmp(&share(*other).abs()))?;
        (completed > 0).then(|| share(furthest))
    }
}

/// `whole` less `parts`, over as many samples as the scarcest of them has.
pub(super) fn difference(
    by: &str,
    whole: &Measurement<Seconds>,
    parts: &[&Measurement<Seconds>],
) -> Measurement<Seconds> {
    let value = parts.iter().fold(whole.value.0, |left, part| left - part.value.0);
    let n = parts.iter().fold(whole.n, |n, part| n.min(part.n));
    let from = std::iter::once(whole).chain(parts.iter().copied()).map(|one| one.source.clone()).collect();
    Measurement { value: Seconds(value), interval: None, n, source: Source::Derived { by: by.into(), from } }
}

/// Mean over the completed requests of the windows that have the value.
pub(super) fn mean_over(
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
