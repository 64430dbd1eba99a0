//! What a server's log tells of a run beside its requests: how it started and what its memory went to.

use firstcheck_model::engine_log::{EngineLog, StartPhase, Term};

/// Figures of the logs of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Told {
    /// Seconds from the first step of the start to the server being ready.
    pub start_up: Option<f64>,
    /// Bytes of weights on the device that holds most.
    pub weights: Option<f64>,
    /// Bytes that the KV cache cannot have, on the device with most.
    pub non_kv: Option<f64>,
    /// Tokens that the KV cache holds.
    pub kv_tokens: Option<f64>,
}

impl Told {
    /// What these logs tell; where several tell one thing, the largest figure: the slowest start, the fullest device.
    pub fn of<'l>(logs: impl Iterator<Item = &'l EngineLog>) -> Self {
        logs.fold(Self::default(), |told, log| Self {
            start_up: largest(told.start_up, start_up(log)),
            weights: largest(told.weights, term(log, Term::Weights)),
            non_kv: largest(told.non_kv, term(log, Term::NonKv)),
            kv_tokens: largest(told.kv_tokens, log.kv.tokens.map(|tokens| tokens as f64)),
        })
    }
}

fn largest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}

fn start_up(log: &EngineLog) -> Option<f64> {
    let first = log.last_start().filter_map(|phase| phase.at).min()?;
    let ready = log.last_start().filter(|phase| phase.phase == StartPhase::Ready).filter_map(|phase| phase.at).max()?;
    ready.since(first).map(|s| s.0).filter(|seconds| *seconds > 0.0)
}

fn term(log: &EngineLog, term: Term) -> Option<f64> {
    let stated = log.memory.iter().filter(|stated| stated.term == term).map(|stated| stated.bytes.0);
    stated.max_by(f64::total_cmp).filter(|bytes| *bytes > 0.0)
}
