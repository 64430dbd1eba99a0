//! How long a prompt holds an engine, and which prompts there were.

use super::{
    counters::{growth_in, runs_of},
    prefill_queue::buckets,
    prefill_rate::PrefillRate,
    stated::step_budget,
    trusted_counters::TrustedCounters,
};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    request::{Fate, Request},
    signal::{Part, Signal},
    unit::Seconds,
};
use firstcheck_stats::quantile::Sample;

/// The cost of a prompt, and the prompts of the window.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptCost {
    /// Time of a computed prompt token: the smaller of what the server's prefill rate says, which pauses and waits for
    /// shared steps lengthen, and what the quickest of the client's first tokens took, which the fixed cost of a
    /// short prompt lengthens.
    pub per_token: Measurement<Seconds>,
    /// Prompts of everybody by the server's histogram of their lengths: above, up to, how many.
    pub everybodys: Result<Vec<(f64, f64, f64)>, Missing>,
    /// Most tokens of a step, where the configuration is known.
    pub budget: Option<f64>,
}

/// How many times a base's cost a prompt token may come to: hardware and kernels make it dearer, standstills many times so.
const DEARER: f64 = 3.0;

impl PromptCost {
    /// With the cost of a token no higher than a few times that of a base.
    pub fn at_most(mut self, base: Option<&Self>) -> Self {
        if let Some(base) = base.filter(|base| DEARER * base.per_token.value.0 < self.per_token.value.0) {
            self.per_token = base.per_token.clone();
        }
        self
    }

    /// Time for which a prompt of that length holds the engine, in all.
    pub fn takes(&self, tokens: f64) -> f64 {
        tokens * self.per_token.value.0
    }

    /// Time of one of its steps: a chunk, or all of it where it fits into the budget.
    pub fn step_takes(&self, tokens: f64) -> f64 {
        self.takes(self.budget.map_or(tokens, |budget| tokens.min(budget)))
    }

    /// Steps that it takes.
    pub fn steps(&self, tokens: f64) -> f64 {
        self.budget.map_or(1.0, |budget| (tokens / budget).ceil().max(1.0))
    }
}

impl Measure for PromptCost {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let runs = &side.evidence.runs;
        let own: Vec<(f64, f64)> = runs.iter().flat_map(RunEvidence::window).filter_map(|(_, r)| own(r)).collect();
        let per_token = per_token(side, &own)?;
        Ok(Self {
            per_token,
            everybodys: lengths_at_the_server(side),
            budget: step_budget(side).ok().map(|budget| budget.value.0),
        })
    }
}

/// Computed prompt tokens of a request, and the time from its send to its first token.
pub(super) fn own(request: &Request) -> Option<(f64, f64)> {
    let cached = request.cached_tokens.unwrap_or(0);
    let computed = f64::from(request.prompt_tokens?.saturating_sub(cached));
    let took = request.ttft_from_sent()?.0;
    (request.fate == Fate::Completed && computed > 0.0 && took > 0.0).then_some((computed, took))
}

/// Quantile of the requests that count as the quickest: those that met nothing else.
const QUICKEST: f64 = 0.05;

/// Share of the looked-up tokens that may come from the prefix cache before requests that do not tell theirs are of no use.
const CACHED: f64 = 0.05;

/// Whether requests tell how many of their prompt tokens were computed.
fn tells_computed(side: &Side<'_>) -> bool {
    let requests = || side.evidence.runs.iter().flat_map(RunEvidence::window);
    let told = requests().all(|(_, request)| request.fate != Fate::Completed || request.cached_tokens.is_some());
    let growth = |signal| growth_in(&side.evidence.runs, signal, Part::Value).ok().map(|growth| growth.value);
    let hits = growth(Signal::PrefixHits).zip(growth(Signal::PrefixQueries));
    told || hits.is_none_or(|(hits, queries)| hits <= CACHED * queries)
}

fn per_token(side: &Side<'_>, own: &[(f64, f64)]) -> Result<Measurement<Seconds>, Missing> {
    let by_server = side.measure::<PrefillRate>();
    let costs =
        if tells_computed(side) { own.iter().map(|(tokens, took)| took / tokens).collect() } else { Vec::new() };
    let quick = Sample::new(costs).ok().and_then(|costs| costs.quantile(QUICKEST)).map(|value| Measurement {
        value: Seconds(value),
        interval: None,
        n: own.len() as u64,
        source: Source::Derived {
            by: "time to first token / computed tokens, quickest requests".into(),
            from: runs_of(&side.evidence.runs),
        },
    });
    let by_server = by_server.map(|rate| Measurement {
        value: Seconds(1.0 / rate.rate.value.0),
        interval: None,
        n: rate.rate.n,
        source: rate.rate.source.clone(),
    });
    match (by_server, quick) {
        (Ok(server), Some(quick)) => Ok(if quick.value.0 < server.value.0 { quick } else { server }),
        (Ok(one), None) | (Err(_), Some(one)) => Ok(one),
        (Err(missing), None) => Err(missing),
    }
}

/// Prompts by length, as the server counts them in the window.
fn lengths_at_the_server(side: &Side<'_>) -> Result<Vec<(f64, f64, f64)>, Missing> {
    side.measure::<TrustedCounters>()?;
    let runs = &side.evidence.runs;
    let is_told = |run: &RunEvidence| {
        let mut lengths = run.signals.iter().filter(|series| series.signal == Some(Signal::PromptLength));
        lengths.any(|series| matches!(series.part, Part::Bucket(_)))
    };
    if !runs.iter().any(is_told) {
        let what = "lengths of everybody's prompts: the server's histogram of them";
        return Err(Missing::not_exposed(what, "firstcheck run --url URL"));
    }
    buckets(runs, Signal::PromptLength)
}
