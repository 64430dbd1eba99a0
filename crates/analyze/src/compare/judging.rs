//! The pairs of one cell, judged.

use super::{
    condition::CellOfPairs,
    failed, gate,
    looks::{self, Spending},
    pair::Pair,
    paired::{self, Judged, Setting},
    plan::{self, Key},
    policy::Policy,
    rows, series,
    slice::Slice,
    view::View,
};
use firstcheck_model::report::{CellRow, Claim, MetricRow, Verdict};
use std::collections::BTreeSet;

/// One row on its way to its claim, with the slice it is of.
pub(super) struct Item {
    pub key: Key,
    /// Its slice's name; `None`: all requests.
    pub slice: Option<String>,
    pub judged: Judged,
}

/// A cell with everything that is judged of it.
pub(super) struct Judging<'p> {
    pub name: Option<String>,
    pub required: bool,
    pub policy: Policy,
    pub pairs: Vec<&'p Pair>,
    pub setting: Setting,
    pub notes: Vec<String>,
    spending: Spending,
    items: Vec<Item>,
}

impl<'p> Judging<'p> {
    /// Everything but the failures, which are settled over all cells together.
    pub fn of(cell: CellOfPairs<'p>, keys: &[Key]) -> Self {
        let CellOfPairs { name, required, policy, pairs } = cell;
        let fresh = fresh_traces(&pairs);
        let whole = if fresh { policy.alpha_fresh_traces } else { policy.alpha };
        let spending = looks::spending(&pairs, whole, &policy);
        let setting = Setting {
            alpha: if let Spending::Look { alpha } = spending { alpha } else { whole },
            queue_cannot_pass: queue_cannot_pass(&pairs, &policy),
            served_less: failed::served_less(&pairs, &policy),
        };
        let mut notes = Vec::new();
        if fresh && !pairs.is_empty() {
            notes.push(format!(
                "that all pairs replay one trace is not so, or cannot be told: one-sided error {} is used",
                setting.alpha
            ));
        }
        let mut items = Vec::new();
        if pairs.len() > 1 {
            let views: Vec<View> = pairs.iter().map(|pair| View::whole(pair)).collect();
            let item = |(at, key): (usize, &Key)| Item {
                key: *key,
                slice: None,
                judged: paired::effect(*key, at, &views, &setting, &policy),
            };
            items = keys.iter().enumerate().map(item).collect();
            items.extend(of_slices(&pairs, &setting, &policy));
        }
        let there = |item: &Item| item.judged.row.base.is_some() || item.judged.row.candidate.is_some();
        items.retain(|item| item.slice.is_some() || there(item));
        Self { name, required, policy, pairs, setting, notes, spending, items }
    }

    /// How many gated effects it holds.
    pub fn size(&self) -> usize {
        self.items.iter().filter(|item| item.judged.open.is_some()).count()
    }

    /// Fails what stands out of a family of `total` effects, of which this cell has its own.
    pub fn close(&mut self, total: usize) {
        let problems = gate::fail_together(&mut self.items, &self.pairs, &self.setting, &self.policy, total);
        self.notes.extend(problems);
    }

    /// What the gate says of this cell, and why, the most important first.
    pub fn verdict(&self) -> (Verdict, Vec<String>) {
        let (mut verdict, mut why) = gate::verdict(&self.items, self.pairs.len(), &self.policy);
        if verdict == Verdict::None {
            return (verdict, why);
        }
        if let Spending::Nothing(reason) = &self.spending {
            verdict = Verdict::Inconclusive;
            why.insert(0, reason.clone());
        }
        let missing = series::missing(&self.pairs);
        if verdict == Verdict::Pass && !missing.is_empty() {
            verdict = Verdict::Inconclusive;
            why.splice(..0, missing);
        }
        (verdict, why)
    }

    /// The cell as a report lists it; `None` where there are no cells.
    pub fn row(&self) -> Option<CellRow> {
        let (verdict, why) = self.verdict();
        let pairs = self.pairs.len() as u64;
        Some(CellRow { cell: self.name.clone()?, required: self.required, verdict, pairs, why })
    }

    /// All rows, those of all requests first.
    pub fn rows(&self) -> Vec<MetricRow> {
        let row = |item: &Item| MetricRow { cell: self.name.clone(), ..item.judged.row.clone() };
        let (whole, slices): (Vec<&Item>, _) = self.items.iter().partition(|item| item.slice.is_none());
        let mut rows: Vec<MetricRow> = whole.into_iter().map(row).collect();
        rows::drop_repeats(&mut rows);
        rows.extend(slices.into_iter().map(row));
        rows
    }
}

/// The rows of every slice that any of the pairs has.
fn of_slices(pairs: &[&Pair], setting: &Setting, policy: &Policy) -> Vec<Item> {
    let wanted = plan::of_slices(policy);
    let all: BTreeSet<Slice> = pairs.iter().flat_map(|pair| &pair.slices).map(|cells| cells.slice).collect();
    let mut items = Vec::new();
    for slice in all {
        let name = slice.name(&policy.slices);
        let policy = policy.of_slice(&name);
        let views: Vec<View> = pairs
            .iter()
            .filter_map(|pair| Some(pair.slices.iter().find(|cells| cells.slice == slice)?.view(pair)))
            .collect();
        for key in &wanted {
            let Some(place) = pairs.first().and_then(|pair| pair.slice_keys.iter().position(|other| other == key))
            else {
                continue;
            };
            let mut judged = if views.len() == pairs.len() {
                paired::effect(*key, place, &views, setting, &policy)
            } else {
                paired::not_in_every_pair(*key, pairs.len() - views.len(), &policy)
            };
            judged.row.slice = Some(name.clone());
            items.push(Item { key: *key, slice: Some(name.clone()), judged });
        }
    }
    items
}

/// Whether the pairs replay more than one trace between them.
fn fresh_traces(pairs: &[&Pair]) -> bool {
    let hashes: BTreeSet<Option<&String>> =
        pairs.iter().map(|pair| pair.base.info.workload.trace_hash.as_ref()).collect();
    hashes.len() > 1 || hashes.contains(&None)
}

/// Why TTFT and what holds it cannot pass in this design; `None`: it can.
fn queue_cannot_pass(pairs: &[&Pair], policy: &Policy) -> Option<String> {
    let loads: Option<Vec<f64>> = pairs.iter().map(|pair| pair.load().or(policy.load)).collect();
    let highest = loads.and_then(|loads| loads.into_iter().max_by(f64::total_cmp));
    match highest {
        None => {
            return Some(format!(
                "the load is unknown and counts as above {}: where it is known, say so as `load` in [compare] of the policy",
                policy.pass_load
            ));
        }
        Some(load) if load > policy.pass_load => {
            return Some(format!("the load is {load:.2}, above {}", policy.pass_load));
        }
        Some(_) => {}
    }
    let growing = pairs
        .iter()
        .flat_map(|pair| pair.sides())
        .filter(|side| side.growth.is_some_and(|growth| growth >= policy.queue_growth));
    let (grew, all) = (growing.count(), 2 * pairs.len());
    (2 * grew > all).then(|| format!("the queue grows through the window in {grew} of {all} runs"))
}

/// What all cells say together: a failure anywhere fails, a pass takes every cell that is required.
pub(super) fn together(judgings: &[Judging]) -> (Verdict, Vec<String>) {
    if let [only] = judgings
        && only.name.is_none()
    {
        return only.verdict();
    }
    let (mut why, mut all_pass, mut any_fail, mut judged) = (Vec::new(), true, false, false);
    for judging in judgings {
        let name = judging.name.as_deref().unwrap_or("all");
        let (verdict, reasons) = judging.verdict();
        judged |= verdict != Verdict::None;
        any_fail |= verdict == Verdict::Fail;
        all_pass &= verdict == Verdict::Pass || !judging.required;
        let first = reasons.first().map_or(String::new(), |reason| format!(": {reason}"));
        let line = format!("cell {name} {}{first}", said(verdict));
        if verdict == Verdict::Fail { why.insert(0, line) } else { why.push(line) }
    }
    let verdict = match (any_fail, judged, all_pass) {
        (true, ..) => Verdict::Fail,
        (_, false, _) => Verdict::None,
        (_, _, true) => Verdict::Pass,
        _ => Verdict::Inconclusive,
    };
    (verdict, why)
}

fn said(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "passes",
        Verdict::Fail => "fails",
        Verdict::Inconclusive => "is not decided",
        Verdict::NotComparable => "may not be compared",
        Verdict::None => "is shown",
    }
}

/// Whether nothing may be said of a row, whatever its numbers.
pub(super) fn claims_nothing(row: &MetricRow) -> bool {
    matches!(row.claim, Claim::NotClaimable | Claim::Shown | Claim::NotComparable)
}
