//! The family of gated metrics: which fail together, and whether all pass.

use super::{
    judging::{Item, claims_nothing},
    pair::Pair,
    paired::{Setting, design},
    policy::{Gate, Policy},
    rows,
};
use firstcheck_model::report::{Claim, Verdict};
use firstcheck_stats::max_t::{self, Metric};

/// Fails the gated metrics, of all requests and of slices, whose worsening stands out of the whole family: maxT by
/// rotation.
///
/// Metrics over different pairs (one was left out where the client could not speak of it, or they are of another cell)
/// are different families; each gets its share of α by its size among all `total`. Returns what went wrong, in words.
pub(super) fn fail_together(
    items: &mut [Item],
    all: &[&Pair],
    setting: &Setting,
    policy: &Policy,
    total: usize,
) -> Vec<String> {
    let mut families: Vec<Vec<usize>> = Vec::new();
    for at in 0..items.len() {
        let Some(open) = &items[at].judged.open else { continue };
        let alike = |family: &&mut Vec<usize>| {
            family.first().and_then(|first| items[*first].judged.open.as_ref()).is_some_and(|o| o.pairs == open.pairs)
        };
        match families.iter_mut().find(alike) {
            Some(family) => family.push(at),
            None => families.push(vec![at]),
        }
    }
    let mut problems = Vec::new();
    for family in families {
        let opens: Vec<_> = family.iter().filter_map(|at| items[*at].judged.open.as_ref()).collect();
        let pairs: Vec<&Pair> = opens.first().map_or(Vec::new(), |open| open.pairs.iter().map(|k| all[*k]).collect());
        let metrics: Vec<Metric> =
            opens.iter().map(|open| Metric { differences: &open.differences, margin: open.margin }).collect();
        let rotated = design(&pairs)
            .and_then(|design| max_t::adjusted(&design, &metrics, policy.rotations as usize, policy.seed));
        let whole = total as f64 / family.len() as f64;
        match rotated {
            Ok(adjusted) => {
                for (at, adjusted) in family.iter().zip(adjusted) {
                    items[*at].judged.close((adjusted.p * whole).min(1.0), setting.alpha);
                }
            }
            Err(error) => problems.push(format!("no metric could be failed: {error}")),
        }
    }
    problems
}

/// What the gate says, and why, the most important first.
pub(super) fn verdict(items: &[Item], pairs: usize, policy: &Policy) -> (Verdict, Vec<String>) {
    if policy.gates.is_empty() {
        return (Verdict::None, vec!["no metric is gated: effects are shown".into()]);
    }
    let mut why = Vec::new();
    for item in items.iter().filter(|item| item.judged.row.claim == Claim::Regressed) {
        why.push(sentence(item, "is worse than its margin"));
    }
    if !why.is_empty() {
        return (Verdict::Fail, why);
    }
    let (mut passed, mut left_out) = (0_u32, Vec::new());
    for gate in &policy.gates {
        let is_of =
            |item: &&Item| item.slice.is_none() && item.key.metric == gate.metric && item.key.stat == gate.stat();
        match items.iter().find(is_of) {
            Some(item) if item.judged.passes => passed += 1,
            Some(item) if claims_nothing(&item.judged.row) && !gate.required => {
                left_out.push(sentence(item, "is left out of the gate"));
            }
            Some(item) if claims_nothing(&item.judged.row) => why.push(sentence(item, "cannot be claimed")),
            Some(item) => why.push(sentence(item, "is not decided")),
            None if gate.required => why.push(format!("{}: no data", name_of(gate))),
            None => left_out.push(format!("{} is left out of the gate: no data", name_of(gate))),
        }
    }
    of_slices(items, policy, &mut why, &mut left_out);
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

fn name_of(gate: &Gate) -> String {
    rows::name(gate.metric, &gate.stat().to_string())
}

/// Slices that do not pass: named where a pass needs them, else counted.
fn of_slices(items: &[Item], policy: &Policy, why: &mut Vec<String>, left_out: &mut Vec<String>) {
    let slices = || items.iter().filter(|item| item.slice.is_some() && item.judged.gate.is_some());
    let open: Vec<&Item> = slices().filter(|item| !item.judged.passes && !claims_nothing(&item.judged.row)).collect();
    if policy.slices.required {
        why.extend(open.iter().map(|item| sentence(item, "is not decided")));
    } else if !open.is_empty() {
        left_out.push(format!(
            "{} of {} gated rows of slices are not decided, none is worse",
            open.len(),
            slices().count()
        ));
    }
    let silent = slices().filter(|item| claims_nothing(&item.judged.row)).count();
    if silent > 0 {
        left_out.push(format!("{silent} gated rows of slices cannot be claimed"));
    }
}

/// `TTFT p95 (prompt above 8192) is worse than its margin: +52 % (+31 … +72), margin 10 % (note)`.
fn sentence(item: &Item, state: &str) -> String {
    let row = &item.judged.row;
    let mut text = rows::name(item.key.metric, &item.key.stat.to_string());
    if let Some(slice) = &item.slice {
        text.push_str(&format!(" ({slice})"));
    }
    text.push_str(&format!(" {state}"));
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
