//! Rules over what was cached before the window began.

use super::{Found, Judge, Rule, Two};
use crate::compare::{policy::Policy, reading::Reading, same_trace::Trace};
use firstcheck_model::{fingerprint::field, metric::Metric, run::CacheState};

pub(super) static CACHE_STATE: Rule = Rule {
    name: "warm-or-cold",
    finds: "blocks: a warm prefix cache against a cold one; notes: it is not known",
    mend: "restart both servers, or put a new salt before the prompts of every run: firstcheck run does by itself",
    judge: Judge::Two(cache_state),
};

pub(super) static PREFIX_STATE: Rule = Rule {
    name: "prefix-state",
    finds: "warns: another share of prefix hits on one trace with one setting",
    mend: "start both sides with an empty prefix cache, or warm both with the same requests",
    judge: Judge::Two(prefix_state),
};

fn cache_state(two: &Two<'_>) -> Vec<Found> {
    let of = |reading: &Reading| reading.info.workload.cache;
    match (of(two.base.0), of(two.candidate.0)) {
        (CacheState::Warm, CacheState::Cold) => vec![apart("warm", "cold")],
        (CacheState::Cold, CacheState::Warm) => vec![apart("cold", "warm")],
        (CacheState::Unknown, _) | (_, CacheState::Unknown) => {
            vec![Found::notes("the state of the prefix cache at the start is not known of every run".into())]
        }
        _ => Vec::new(),
    }
}

fn apart(base: &str, candidate: &str) -> Found {
    Found::blocks(format!("warm against cold: base's prefix cache was {base}, the candidate's {candidate}"))
}

/// One trace finds the same prefixes in the same cache: another share of hits is another state of it, or another cache.
fn prefix_state(two: &Two<'_>) -> Vec<Found> {
    let setting = |reading: &Reading| reading.info.fingerprint.get(field::PREFIX_CACHING).map(str::to_ascii_lowercase);
    if *two.trace != Trace::Same || setting(two.base.0) != setting(two.candidate.0) {
        return Vec::new();
    }
    let (Some(b), Some(c)) = (hit_rate(two.base.0, two.policy), hit_rate(two.candidate.0, two.policy)) else {
        return Vec::new();
    };
    if (b - c).abs() <= two.policy.hit_rate_apart {
        return Vec::new();
    }
    vec![Found::warns(format!(
        "another prefix state: of one trace {:.1} % of the prompt tokens were found in base's cache, {:.1} % in the \
         candidate's",
        b * 100.0,
        c * 100.0
    ))]
}

fn hit_rate(reading: &Reading, policy: &Policy) -> Option<f64> {
    let at = crate::compare::plan::plan(policy).iter().position(|key| key.metric == Metric::HitRate)?;
    reading.cells.get(at)?.value
}
