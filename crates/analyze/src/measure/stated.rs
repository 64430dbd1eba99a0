//! Settings as the evidence states them.

use crate::{fingerprint, side::Side};
use firstcheck_model::{
    evidence::Evidence,
    fingerprint::field,
    measurement::{Measurement, Missing, Source},
    unit::{Count, Tokens},
};

/// Most tokens that a step computes.
///
/// # Errors
/// Nothing states it.
pub(crate) fn step_budget(side: &Side<'_>) -> Result<Measurement<Tokens>, Missing> {
    let names = [field::MAX_NUM_BATCHED_TOKENS, "chunked_prefill_size"];
    number(side.evidence, &names, Tokens).ok_or_else(|| {
        Missing::not_given(
            "the token budget of a step (max_num_batched_tokens, chunked_prefill_size)",
            "give the server's log from its start on",
        )
    })
}

/// Most requests that run at once.
///
/// # Errors
/// Nothing states it.
pub(crate) fn seats(side: &Side<'_>) -> Result<Measurement<Count>, Missing> {
    let names = [field::MAX_NUM_SEQS, "max_running_requests"];
    number(side.evidence, &names, Count).ok_or_else(|| {
        Missing::not_given(
            "how many requests may run at once (max_num_seqs, max_running_requests)",
            "give the server's log from its start on",
        )
    })
}

/// The first of `names` that is stated as a number above 0, or was given so on the command line.
pub(crate) fn number<U>(evidence: &Evidence, names: &[&str], unit: fn(f64) -> U) -> Option<Measurement<U>> {
    let print = fingerprint::of(evidence);
    let given: Vec<String> = names.iter().map(|name| format!("{}{name}", field::GIVEN)).collect();
    let mut all = names.iter().copied().chain(given.iter().map(String::as_str));
    let (name, value) = all.find_map(|name| Some((name, print.number(name).filter(|value| *value > 0.0)?)))?;
    let run = evidence.runs.first().map(|run| run.info.id.clone());
    let source = match run {
        Some(run) => Source::Run { run, field: format!("fingerprint.{name}") },
        None => Source::Derived { by: format!("fingerprint.{name}"), from: Vec::new() },
    };
    Some(Measurement { value: unit(value), interval: None, n: 1, source })
}
