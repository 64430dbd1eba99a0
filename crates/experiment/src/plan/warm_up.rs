//! How long a run warms up before its window.

use firstcheck_model::{
    evidence::RunEvidence,
    request::{Fate, Request},
    run::Arrivals,
    unit::Seconds,
};

/// Least warm-up of an open loop, and what a cold engine adds to that of a closed one, seconds.
pub const LEAST_S: f64 = 30.0;
/// Warm-up of an open loop in median times of a request.
const MEDIANS: f64 = 3.0;
/// Warm-up of a closed loop in completions of each of its streams.
const COMPLETIONS: usize = 2;

/// How long runs like this one have to warm up, in whole seconds: in an open loop max(30 s, 3 × the median E2E), in a
/// closed loop as long as twice as many requests take as there are streams, and 30 s more where the engine is cold.
///
/// `None` where no request was answered, so that nothing can be learnt.
pub fn learn(run: &RunEvidence, cold: bool) -> Option<Seconds> {
    let completed: Vec<&Request> = run.requests.0.iter().filter(|r| r.fate == Fate::Completed).collect();
    let mut e2e: Vec<f64> = completed.iter().filter_map(|r| r.e2e()).map(|e2e| e2e.0).collect();
    e2e.sort_by(f64::total_cmp);
    let median = *e2e.get(e2e.len().checked_sub(1)? / 2)?;
    let seconds = match run.info.workload.arrivals {
        Arrivals::Closed { concurrency } => {
            let wanted = COMPLETIONS * concurrency as usize;
            let mut done: Vec<f64> = completed.iter().filter_map(|r| r.done.seconds()).collect();
            done.sort_by(f64::total_cmp);
            // Fewer completions than that: as long as they would take at the pace of those there are.
            let last = done.get(wanted - 1).copied().or_else(|| Some(done.last()? * wanted as f64 / done.len() as f64));
            last? + if cold { LEAST_S } else { 0.0 }
        }
        Arrivals::Open { .. } | Arrivals::Unknown => (MEDIANS * median).max(LEAST_S),
    };
    Some(Seconds(seconds.ceil()))
}
