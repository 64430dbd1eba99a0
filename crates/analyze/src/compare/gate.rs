//! The family of gated metrics: which fail together, and whether all pass.

use super::{
    pair::Pair,
    paired::{Judged, Setting, design},
    plan::Key,
    policy::Policy,
    rows,
};
use firstcheck_model::report::{Claim, Verdict};
use firstcheck_stats::max_t::{self, Metric};

/// Fails the gated metrics whose worsening stands out of the whole family: maxT by rotation.
///
/// Metrics over different pairs (one was left out where the client could not speak of it) are different families; each
/// gets its share of α by its size. Returns what went wrong, in words.
pub(super) fn fail_together(judged: &mut [Judged], all: &[&Pair], setting: &Setting, policy: &Policy) -> Vec<String> {
    let mut families: Vec<Vec<usize>> = Vec::new();
    for at in 0..judged.len() {
        let Some(open) = &judged[at].open else { continue };
        let alike = |family: &&mut Vec<usize>| {
            family.first().and_then(|first| judged[*first].open.as_ref()).is_some_and(|o| o.pairs == open.pairs)
        };
        match families.iter_mut().find(alike) {
            Some(family) => family.push(at),
            None => families.push(vec![at]),
        }
    }
    let size: usize = families.iter().map(Vec::len).sum();
    let mut problems = Vec::new();
    for family in families {
        let opens: Vec<_> = family.iter().filter_map(|at| judged[*at].open.as_ref()).collect();
        let pairs: Vec<&Pair> = opens.first().map_or(Vec::new(), |open| open.pairs.iter().map(|k| all[*k]).collect());
        let metrics: Vec<Metric> =
            opens.iter().map(|open| Metric { differences: &open.differences, margin: open.margin }).collect();
        let rotated = design(&pairs)
            .and_then(|design| max_t::adjusted(&design, &metrics, policy.rotations as usize, policy.seed));
        let whole = size as f64 / family.len() as f64;
        match rotated {
            Ok(adjusted) => {
                for (at, adjusted) in family.iter().zip(adjusted) {
                    judged[*at].close((adjusted.p * whole).min(1.0), setting.alpha);
                }
            }
            Err(error) => problems.push(format!("no metric could be failed: {error}")),
        }
    }
    problems
}

/// What the gate says, and why, the most important first.
pub(super) fn verdict(judged: &[(Key, Judged)], pairs: usize, policy: &Policy) -> (Verdict, Vec<String>) {
    if policy.gates.is_empty() {
        return (Verdict::None, vec!["no metric is gated: effects are shown".into()]);
    }
    let mut why = Vec::new();
    for (key, item) in judged.iter().filter(|(_, j)| j.row.claim == Claim::Regressed) {
        why.push(sentence(*key, item, "is worse than its margin"));
    }
    if !why.is_empty() {
        return (Verdict::Fail, why);
    }
    let (mut passed, mut left_out) = (0_u32, Vec::new());
    for gate in &policy.gates {
        let found = judged.iter().find(|(key, _)| key.metric == gate.metric && key.stat == gate.stat());
        match found {
            Some((_, item)) if item.passes => passed += 1,
            Some((key, item)) if claims_nothing(item) && !gate.required => {
                left_out.push(sentence(*key, item, "is left out of the gate"));
            }
            Some((key, item)) if claims_nothing(item) => why.push(sentence(*key, item, "cannot be claimed")),
            Some((key, item)) => why.push(sentence(*key, item, "is not decided")),
            None if gate.required => {
                why.push(format!("{}: no data", rows::name(gate.metric, &gate.stat().to_string())))
            }
            None => left_out.push(format!(
                "{} is left out of the gate: no data",
                rows::name(gate.metric, &gate.stat().to_string())
            )),
        }
    }
    if pairs < policy.min_pairs as usize {
        why.insert(0, format!("{pairs} pairs: a pass takes at least {}", policy.min_pairs));
    }
    let verdict = match (why.is_empty(), passed) {
        (true, 1..) => {
            why.push(format!("{passed} gated metrics are shown to be no worse than their margins"));
            Verdict::Pass
        }
        (true, 0) => {
            why.push("no gated metric could be claimed".into());
            Verdict::Inconclusive
        }
        (false, _) => Verdict::Inconclusive,
    };
    why.extend(left_out);
    (verdict, why)
}

/// Whether nothing may be said of the metric, whatever its numbers.
fn claims_nothing(item: &Judged) -> bool {
    matches!(item.row.claim, Claim::NotClaimable | Claim::Shown | Claim::NotComparable)
}

/// `TTFT p95 is worse than its margin: +52 % (+31 … +72), margin 10 % (note)`.
fn sentence(key: Key, item: &Judged, state: &str) -> String {
    let row = &item.row;
    let mut text = format!("{} {state}", rows::name(key.metric, &key.stat.to_string()));
    if let Some(ratio) = row.ratio.and_then(|r| r.finite()) {
        text.push_str(&format!(": {} %", rows::change(ratio)));
    }
    if let Some([lo, hi]) = row.interval
        && let (Some(lo), Some(hi)) = (lo.finite(), hi.finite())
    {
        text.push_str(&format!(" ({} … {})", rows::change(lo), rows::change(hi)));
    }
    if let Some(margin) = row.margin {
        text.push_str(&format!(", margin {} %", (margin * 1e3).round() / 10.0));
    }
    if let Some(note) = &row.note {
        text.push_str(&format!(" ({note})"));
    }
    text
}
