//! Rules over what was offered: how, when, how much, for how long.

use super::{Found, Judge, Rule, Two};
use crate::compare::{
    columns::{Columns, Line},
    policy::Policy,
    reading::{Reading, mean},
    same_trace::Trace,
};
use firstcheck_model::run::{Arrivals, Origin};

pub(super) static STREAMING: Rule = Rule {
    name: "streaming",
    finds: "blocks: answers were streamed on one side alone",
    mend: "measure both sides with streamed answers",
    judge: Judge::Two(streaming),
};

pub(super) static ARRIVALS: Rule = Rule {
    name: "arrivals",
    finds: "blocks: another rate, or another number of streams; blocks what holds the queue: another burstiness; warns: \
            one side alone says how it offered",
    mend: "offer both sides one rate and burstiness, or one number of streams: replay one trace",
    judge: Judge::Two(arrivals),
};

pub(super) static MIX: Rule = Rule {
    name: "length-mix",
    finds: "blocks: other lengths of prompts or answers, where the traces differ",
    mend: "offer both sides the same prompts and output lengths: replay one trace with the output length fixed",
    judge: Judge::Two(|two| if *two.trace == Trace::Same { Vec::new() } else { mix(two) }),
};

pub(super) static TRACE: Rule = Rule {
    name: "trace",
    finds: "blocks what holds the queue: other prompts or send times; notes: it cannot be told",
    mend: "replay one trace on both sides: the same seed and workload",
    judge: Judge::Two(trace),
};

pub(super) static WINDOWS: Rule = Rule {
    name: "windows",
    finds: "blocks: windows of another length, of measured runs",
    mend: "measure windows of one length on both sides",
    judge: Judge::Two(windows),
};

pub(super) static WARM_UP: Rule = Rule {
    name: "warm-up",
    finds: "warns: another length of warm-up",
    mend: "give both sides the same warm-up before the window",
    judge: Judge::Two(warm_up),
};

fn streaming(two: &Two<'_>) -> Vec<Found> {
    let streamed = |streaming| if streaming { "streamed" } else { "not streamed" };
    match (two.base.0.info.workload.streaming, two.candidate.0.info.workload.streaming) {
        (Some(b), Some(c)) if b != c => vec![Found::blocks(format!(
            "other workload: answers were {} for base, {} for the candidate",
            streamed(b),
            streamed(c)
        ))],
        _ => Vec::new(),
    }
}

fn arrivals(two: &Two<'_>) -> Vec<Found> {
    let policy = two.policy;
    let found = match (&two.base.0.info.workload.arrivals, &two.candidate.0.info.workload.arrivals) {
        (Arrivals::Open { rate: b, .. }, Arrivals::Open { rate: c, .. }) if apart(*b, *c, policy) => {
            Found::blocks(format!("different arrivals: {b} and {c} requests/s offered"))
        }
        (Arrivals::Open { cv: Some(b), .. }, Arrivals::Open { cv: Some(c), .. }) if apart(*b, *c, policy) => {
            Found::blocks_queue(format!("arrivals differ in burstiness: coefficients of variation {b} and {c}"))
        }
        (Arrivals::Closed { concurrency: b }, Arrivals::Closed { concurrency: c }) if b != c => {
            Found::blocks(format!("different arrivals: {b} and {c} concurrent streams"))
        }
        (Arrivals::Open { rate, .. }, Arrivals::Closed { concurrency }) => Found::blocks(format!(
            "different arrivals: base open loop at {rate} requests/s, candidate closed loop of {concurrency} streams"
        )),
        (Arrivals::Closed { concurrency }, Arrivals::Open { rate, .. }) => Found::blocks(format!(
            "different arrivals: base closed loop of {concurrency} streams, candidate open loop at {rate} requests/s"
        )),
        (Arrivals::Unknown, Arrivals::Open { .. } | Arrivals::Closed { .. })
        | (Arrivals::Open { .. } | Arrivals::Closed { .. }, Arrivals::Unknown) => {
            let said = |run: &Reading| run.info.workload.description.clone();
            let (b, c) = (said(two.base.0), said(two.candidate.0));
            Found::warns(format!("other arrivals, as far as they are told: `{b}` for base, `{c}` for the candidate"))
        }
        _ => return Vec::new(),
    };
    vec![found]
}

fn trace(two: &Two<'_>) -> Vec<Found> {
    match two.trace {
        Trace::Same => Vec::new(),
        Trace::Different(why) => {
            vec![Found::blocks_queue(format!("the two runs replayed different traces: {why}"))]
        }
        Trace::Unknown => {
            vec![Found::notes(
                "whether the runs replayed one trace cannot be told: a file holds no requests with their times".into(),
            )]
        }
    }
}

/// Mean offered tokens a request, in and out, that differ by more than the tolerance.
fn mix(two: &Two<'_>) -> Vec<Found> {
    let (base, candidate, policy) = (two.base.1, two.candidate.1, two.policy);
    let prompt = |line: &Line| line.prompt;
    let requested = |line: &Line| line.requested;
    let generated = |line: &Line| line.output.filter(|_| line.complete);
    let mut reasons = Vec::new();
    let mut compare = |what: &str, pick: &dyn Fn(&Line) -> Option<u32>| {
        let (Some(b), Some(c)) = (mean_of(base, pick), mean_of(candidate, pick)) else { return false };
        if apart(b, c, policy) {
            let percent = (c / b - 1.0) * 100.0;
            let allowed = policy.mix_tolerance * 100.0;
            reasons.push(Found::blocks(format!(
                "other length mix: {b:.1} and {c:.1} {what} a request ({percent:+.1} %, allowed {allowed} %)"
            )));
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

fn windows(two: &Two<'_>) -> Vec<Found> {
    let planned = |r: &Reading| !matches!(r.info.origin, Origin::Imported { .. });
    if !planned(two.base.0) || !planned(two.candidate.0) {
        // A foreign file's window ends with its last answer: its length is an outcome, not a plan.
        return Vec::new();
    }
    let allowed = two.policy.window_ratio;
    match (two.base.0.row.window_s, two.candidate.0.row.window_s) {
        (Some(b), Some(c)) if b.max(c) > allowed * b.min(c) => {
            vec![Found::blocks(format!("different windows: {b:.1} s and {c:.1} s (allowed ratio {allowed})"))]
        }
        _ => Vec::new(),
    }
}

/// A side with less warm-up pays in its window for what the other paid before it.
fn warm_up(two: &Two<'_>) -> Vec<Found> {
    match (two.base.0.info.workload.warm_up, two.candidate.0.info.workload.warm_up) {
        (Some(b), Some(c)) if apart(b.0, c.0, two.policy) => {
            vec![Found::warns(format!("different warm-up before the window: {:.1} s and {:.1} s", b.0, c.0))]
        }
        _ => Vec::new(),
    }
}

fn apart(b: f64, c: f64, policy: &Policy) -> bool {
    // Equal infinities (as fast as possible) are not apart.
    b != c && (b - c).abs() > policy.mix_tolerance * b.abs().max(c.abs())
}
