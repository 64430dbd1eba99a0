//! Whether two runs may be compared at all.

use super::{
    columns::{Columns, Line},
    policy::Policy,
    reading::{Reading, mean},
    same_trace::{self, Trace},
};
use firstcheck_model::run::{Arrivals, CacheState, Origin};

/// What may be compared of two runs.
#[derive(Debug, Clone)]
pub(super) struct Comparability {
    pub trace: Trace,
    /// Why nothing may; empty: something may.
    pub refusals: Vec<String>,
    /// Why what holds the queue may not; empty: it may.
    pub queue: Vec<String>,
}

/// Differences between the deployments are no reason: they are what is compared. Differences in what was offered are.
pub(super) fn check(base: (&Reading, &Columns), candidate: (&Reading, &Columns), policy: &Policy) -> Comparability {
    let trace = same_trace::decide((&base.0.info, base.1), (&candidate.0.info, candidate.1), policy);
    let (b, c) = (&base.0.info, &candidate.0.info);
    let mut refusals = Vec::new();
    let mut queue = Vec::new();
    if let (Some(b), Some(c)) = (b.workload.streaming, c.workload.streaming)
        && b != c
    {
        refusals.push(format!(
            "other workload: answers were {} for base, {} for the candidate",
            streamed(b),
            streamed(c)
        ));
    }
    arrivals(&b.workload.arrivals, &c.workload.arrivals, policy, &mut refusals, &mut queue);
    if let (CacheState::Warm, CacheState::Cold) | (CacheState::Cold, CacheState::Warm) =
        (b.workload.cache, c.workload.cache)
    {
        let name = |state| if state == CacheState::Warm { "warm" } else { "cold" };
        let (b, c) = (name(b.workload.cache), name(c.workload.cache));
        refusals.push(format!("warm against cold: base's prefix cache was {b}, the candidate's {c}"));
    }
    if trace != Trace::Same {
        refusals.extend(mix(base.1, candidate.1, policy));
    }
    refusals.extend(windows(base.0, candidate.0, policy));
    if let Trace::Different(why) = &trace {
        queue.push(format!("the two runs replayed different traces: {why}"));
    }
    Comparability { trace, refusals, queue }
}

fn streamed(streaming: bool) -> &'static str {
    if streaming { "streamed" } else { "not streamed" }
}

fn arrivals(
    base: &Arrivals,
    candidate: &Arrivals,
    policy: &Policy,
    refusals: &mut Vec<String>,
    queue: &mut Vec<String>,
) {
    match (base, candidate) {
        (Arrivals::Open { rate: b, cv: b_cv }, Arrivals::Open { rate: c, cv: c_cv }) => {
            if apart(*b, *c, policy) {
                refusals.push(format!("different arrivals: {b} and {c} requests/s offered"));
            } else if let (Some(b), Some(c)) = (b_cv, c_cv)
                && apart(*b, *c, policy)
            {
                queue.push(format!("arrivals differ in burstiness: coefficients of variation {b} and {c}"));
            }
        }
        (Arrivals::Closed { concurrency: b }, Arrivals::Closed { concurrency: c }) if b != c => {
            refusals.push(format!("different arrivals: {b} and {c} concurrent streams"));
        }
        (Arrivals::Open { rate, .. }, Arrivals::Closed { concurrency }) => refusals.push(format!(
            "different arrivals: base open loop at {rate} requests/s, candidate closed loop of {concurrency} streams"
        )),
        (Arrivals::Closed { concurrency }, Arrivals::Open { rate, .. }) => refusals.push(format!(
            "different arrivals: base closed loop of {concurrency} streams, candidate open loop at {rate} requests/s"
        )),
        _ => {}
    }
}

/// Mean offered tokens a request, in and out, that differ by more than the tolerance.
fn mix(base: &Columns, candidate: &Columns, policy: &Policy) -> Vec<String> {
    let prompt = |line: &Line| line.prompt;
    let requested = |line: &Line| line.requested;
    let generated = |line: &Line| line.output.filter(|_| line.complete);
    let mut reasons = Vec::new();
    let mut compare = |what: &str, pick: &dyn Fn(&Line) -> Option<u32>| {
        let (Some(b), Some(c)) = (mean_of(base, pick), mean_of(candidate, pick)) else { return false };
        if apart(b, c, policy) {
            let percent = (c / b - 1.0) * 100.0;
            let allowed = policy.mix_tolerance * 100.0;
            reasons.push(format!(
                "other length mix: {b:.1} and {c:.1} {what} a request ({percent:+.1} %, allowed {allowed} %)"
            ));
        }
        true
    };
    compare("prompt tokens", &prompt);
    if !compare("requested output tokens", &requested) {
        compare("generated tokens", &generated);
    }
    reasons
}

fn mean_of(columns: &Columns, pick: &dyn Fn(&Line) -> Option<u32>) -> Option<f64> {
    let known: Vec<f64> = columns.lines.iter().filter_map(pick).map(f64::from).collect();
    mean(&known)
}

fn windows(base: &Reading, candidate: &Reading, policy: &Policy) -> Option<String> {
    let planned = |r: &Reading| !matches!(r.info.origin, Origin::Imported { .. });
    if !planned(base) || !planned(candidate) {
        // A foreign file's window ends with its last answer: its length is an outcome, not a plan.
        return None;
    }
    let (b, c) = (base.row.window_s?, candidate.row.window_s?);
    (b.max(c) > policy.window_ratio * b.min(c))
        .then(|| format!("different windows: {b:.1} s and {c:.1} s (allowed ratio {})", policy.window_ratio))
}

fn apart(b: f64, c: f64, policy: &Policy) -> bool {
    // Equal infinities (as fast as possible) are not apart.
    b != c && (b - c).abs() > policy.mix_tolerance * b.abs().max(c.abs())
}
