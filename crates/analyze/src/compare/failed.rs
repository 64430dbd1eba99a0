//! Requests that were not answered in full: a candidate that loses more of them than base never passes.
//!
//! Quantiles see a loss only once it reaches them, and who sheds a little load serves the rest faster. So the share itself
//! is gated: it passes when the excess is shown to be below a small margin *and* is not shown to be there at all.

use super::{pair::Pair, plan::Key, policy::Policy, reading::Reading, rows::Restraint, view::View};
use firstcheck_model::{metric::Metric, report::Claim};
use firstcheck_stats::{paired::PairedEstimate, proportion};

/// Lost and offered requests of both sides over all pairs.
pub(super) fn pooled(views: &[View]) -> ((u64, u64), (u64, u64)) {
    let sum = |sum: (u64, u64), (lost, offered): (u64, u64)| (sum.0 + lost, sum.1 + offered);
    let side = |of: fn(&View) -> (u64, u64)| views.iter().map(of).fold((0, 0), sum);
    (
        side(|view| (view.base.unanswered, view.base.offered)),
        side(|view| (view.candidate.unanswered, view.candidate.offered)),
    )
}

/// Why the failed share cannot pass although its interval over pairs would allow it: losses are rare events, and an
/// interval over pairs that saw none of them is too narrow.
pub(super) fn held_back(
    key: Key,
    views: &[View],
    estimate: &PairedEstimate,
    margin: f64,
    alpha: f64,
) -> Option<String> {
    if key.metric != Metric::FailedShare {
        return None;
    }
    let (base, candidate) = pooled(views);
    let said = format!("base lost {} of {} requests, the candidate {} of {}", base.0, base.1, candidate.0, candidate.1);
    if estimate.effect.lower(alpha).is_ok_and(|lower| lower > 0.0) {
        return Some(format!("{said}: more are lost, however few"));
    }
    let upper = proportion::upper_bound(candidate.0, candidate.1, alpha).ok()?;
    let excess = upper - base.0 as f64 / base.1.max(1) as f64;
    (excess >= margin).then(|| format!("{said}: {:.2} points more cannot be excluded", excess * 100.0))
}

/// Why the gate on the failed share says nothing: nothing more was lost, and too little was offered to show that a loss of
/// the margin's size would have been seen.
pub(super) fn too_few(key: Key, views: &[View], policy: &Policy) -> Option<Restraint> {
    let gate = policy.gate(key.metric, key.stat).filter(|gate| gate.metric == Metric::FailedShare)?;
    let ((b_lost, b_offered), (c_lost, c_offered)) = pooled(views);
    if views.len() < 2 || c_lost > 0 || b_lost > 0 || c_offered == 0 || b_offered == 0 {
        return None;
    }
    let upper = proportion::upper_bound(0, c_offered, policy.alpha).ok()?;
    (upper >= gate.margin).then(|| Restraint {
        claim: Claim::NotClaimable,
        why: format!(
            "none of {c_offered} requests was lost; {:.2} % lost could not have been told from that",
            upper * 100.0
        ),
    })
}

/// What the candidate did less of for its requests, so that what it did looks faster than it is: it served fewer, answered
/// without a token, or answered shorter.
pub(super) fn served_less(pairs: &[&Pair], policy: &Policy) -> Option<String> {
    let sums = |side: fn(&Pair) -> &Reading| {
        pairs.iter().map(|pair| side(pair)).fold((0, 0, 0), |sum, run| {
            (sum.0 + run.offered.saturating_sub(run.unanswered), sum.1 + run.offered, sum.2 + run.silent)
        })
    };
    let (base, candidate) = (sums(|pair| &pair.base), sums(|pair| &pair.candidate));
    if base.1 == 0 || candidate.1 == 0 {
        return None;
    }
    let share = |(served, offered, _): (u64, u64, u64)| served as f64 / offered as f64;
    let (b, c) = (share(base), share(candidate));
    if c < b * (1.0 - policy.mix_tolerance) {
        return Some(format!(
            "the candidate served {:.1} % of its requests, base {:.1} %: those it served had less company",
            c * 100.0,
            b * 100.0
        ));
    }
    if candidate.2 > base.2 {
        return Some(format!(
            "{} answers of the candidate hold no token, {} of base: they have no latency to compare",
            candidate.2, base.2
        ));
    }
    shorter(pairs, policy)
}

fn shorter(pairs: &[&Pair], policy: &Policy) -> Option<String> {
    let tokens = pairs.iter().filter_map(|pair| pair.answered_tokens);
    let (b, c) = tokens.fold((0, 0), |sum, (b, c)| (sum.0 + b, sum.1 + c));
    ((c as f64) < b as f64 * (1.0 - policy.mix_tolerance)).then(|| {
        format!(
            "the candidate's answers to the same requests are {:.1} % shorter: less work takes less time",
            (1.0 - c as f64 / b as f64) * 100.0
        )
    })
}
