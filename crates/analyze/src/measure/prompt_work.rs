//! Prompt tokens that a request brings, and how many of them must be computed.

use super::{
    counters::{growth, no_traffic, runs_of},
    served::Served,
};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    request::{Fate, Request},
    signal::{Part, Signal},
    unit::{Ratio, Tokens},
};

/// Prompt tokens of a request, computed and found in the prefix cache: growth over the window, never a lifetime ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptWork {
    /// Mean prompt tokens a request.
    pub prompt: Measurement<Tokens>,
    /// Mean prompt tokens that were computed, a request. Where others' requests (a warm-up) are in the counters, an
    /// interval holds whatever their share was.
    pub computed: Measurement<Tokens>,
    /// Share of the prompt tokens that was found in the cache, with its interval as above.
    pub hit_rate: Measurement<Ratio>,
}

impl Measure for PromptWork {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        match of_rows(&side.evidence.runs) {
            Some(work) => Ok(work),
            None => of_counters(side),
        }
    }
}

/// Share of the completed requests that the server must have told of: one that lost its last event tells nothing.
const NEARLY_ALL: f64 = 0.99;

/// From what the server told of each request; only where it told of nearly all.
fn of_rows(runs: &[RunEvidence]) -> Option<PromptWork> {
    let completed = || runs.iter().flat_map(RunEvidence::window).map(|(_, r)| r).filter(|r| r.fate == Fate::Completed);
    let known = |r: &&Request| r.prompt_tokens.is_some() && r.cached_tokens.is_some();
    let (all, told) = (completed().count(), completed().filter(known).count());
    if (told as f64) < NEARLY_ALL * all as f64 {
        return None;
    }
    let sum = |of: fn(&Request) -> Option<u32>| completed().filter(known).filter_map(of).map(f64::from).sum::<f64>();
    let (prompt, cached) = (sum(|r| r.prompt_tokens), sum(|r| r.cached_tokens));
    let source = Source::Derived { by: "cached tokens of requests".into(), from: runs_of(runs) };
    (prompt > 0.0).then(|| work(prompt, (cached, cached), cached, told as f64, source))
}

/// From the server's counters.
fn of_counters(side: &Side<'_>) -> Result<PromptWork, Missing> {
    let prompt = growth(side, Signal::PromptTokens, Part::Value)?;
    let computed = growth(side, Signal::PrefillComputedTokens, Part::Sum);
    let hits = growth(side, Signal::PrefixHits, Part::Value);
    let (cached, from) = match (computed, hits) {
        // Counted when a request finishes, so requests under way at the ends may put it out by a little.
        (Ok(computed), _) => ((prompt.value - computed.value).max(0.0), computed.source),
        (_, Ok(hits)) => (hits.value.min(prompt.value), hits.source),
        (Err(missing), Err(_)) => return Err(missing),
    };
    let source = Source::Derived { by: "prompt tokens, computed and cached".into(), from: vec![prompt.source, from] };
    let served = side.measure::<Served>()?;
    if served.finished.value <= 0.0 || prompt.value <= 0.0 {
        return Err(no_traffic("finished requests and their prompts in the window"));
    }
    if served.are_the_windows().is_ok() {
        return Ok(work(prompt.value, (cached, cached), cached, served.finished.value, source));
    }
    // A warm-up is inside: its prompt tokens are what the client's requests leave of all, and anything between none and
    // all of them was cached.
    let (own, count) = own_prompts(&side.evidence.runs)?;
    let foreign = (prompt.value - own).max(0.0);
    let (least, most) = ((cached - foreign).max(0.0), cached.min(own));
    let share = cached / prompt.value;
    Ok(work(own, (least, most), (share * own).clamp(least, most), count, source))
}

/// Prompt tokens of the client's completed requests, and how many these are.
fn own_prompts(runs: &[RunEvidence]) -> Result<(f64, f64), Missing> {
    let completed = runs.iter().flat_map(RunEvidence::window).filter(|(_, r)| r.fate == Fate::Completed);
    let lengths: Option<Vec<f64>> = completed.map(|(_, r)| r.prompt_tokens.map(f64::from)).collect();
    match lengths {
        Some(lengths) if lengths.iter().any(|length| *length > 0.0) => Ok((lengths.iter().sum(), lengths.len() as f64)),
        _ => Err(Missing::not_exposed("prompt tokens of each request", "firstcheck run --url URL")),
    }
}

/// The work of `count` requests, of which there are some, with prompts.
fn work(prompt: f64, (least, most): (f64, f64), cached: f64, count: f64, source: Source) -> PromptWork {
    let n = count.round() as u64;
    let tokens = |value: f64| Tokens(value / count);
    let share = |value: f64| Ratio(value / prompt);
    let exact = least == most;
    PromptWork {
        prompt: Measurement { value: tokens(prompt), interval: None, n, source: source.clone() },
        computed: Measurement {
            value: tokens(prompt - cached),
            interval: (!exact).then(|| (tokens(prompt - most), tokens(prompt - least))),
            n,
            source: source.clone(),
        },
        hit_rate: Measurement {
            value: share(cached),
            interval: (!exact).then(|| (share(least), share(most))),
            n,
            source,
        },
    }
}
