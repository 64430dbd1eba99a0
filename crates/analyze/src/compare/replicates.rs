//! Runs without pairs: one or several a side.

use super::{
    comparability::Comparability,
    comparison::cells,
    pair::Pair,
    plan::{Key, holds_the_queue},
    policy::Policy,
    reading::{Basis, Reading},
    rows::{self, Restraint, report_only, restraint, shown, too_few},
    same_trace::Trace,
    single::{self, Setting},
    view::View,
};
use firstcheck_model::report::{Claim, MetricRow, Verdict};

/// Unpaired runs of both sides, with how each may be compared.
pub(super) struct Replicates<'a> {
    pub base: Vec<&'a Reading>,
    pub candidate: Vec<&'a Reading>,
    pub comparable: Vec<&'a Comparability>,
    /// The two runs as a pair, where there is one a side.
    pub pair: Option<&'a Pair>,
}

/// All rows that either side has a value for.
pub(super) fn rows(runs: &Replicates, keys: &[Key], policy: &Policy) -> Vec<MetricRow> {
    let setting = Setting { trace: trace(runs), load: load(runs) };
    let row = |(at, key): (usize, &Key)| {
        let (base, candidate) = (cells(&runs.base, at), cells(&runs.candidate, at));
        let mut row = shown(*key, &base, &candidate);
        if row.base.is_none() && row.candidate.is_none() {
            return None;
        }
        let restraint = match runs.pair {
            Some(pair) => restraint(*key, at, &[View::whole(pair)], policy),
            None => unpaired_restraint(*key, at, runs, policy),
        };
        single::judge(&mut row, *key, (&base, &candidate), restraint, &setting, policy);
        Some(row)
    };
    keys.iter().enumerate().filter_map(row).collect()
}

/// What the rules for single runs conclude.
pub(super) fn verdict(rows: &[MetricRow], runs: &Replicates) -> (Verdict, Vec<String>) {
    let mut why = Vec::new();
    for row in rows.iter().filter(|row| row.claim == Claim::Regressed) {
        let ratio = match row.ratio.map(|ratio| ratio.finite()) {
            Some(Some(ratio)) => format!("× {ratio:.2}"),
            Some(None) => "unbounded".into(),
            None => "from none".into(),
        };
        let note = row.note.as_deref().unwrap_or("by the rule for single runs");
        why.push(format!("{} is worse: {ratio} ({note})", rows::name(row.metric, &row.stat)));
    }
    let fail = !why.is_empty();
    let (b, c) = (runs.base.len(), runs.candidate.len());
    why.push(format!(
        "{b} base and {c} candidate {} without pairs: exploratory, effects are shown and nothing can pass; a pass takes \
         interleaved pairs on one trace",
        if b + c == 2 { "run" } else { "runs" }
    ));
    match trace(runs) {
        Trace::Same => {}
        Trace::Different(reason) => why.push(format!("the runs replayed different traces: {reason}")),
        Trace::Unknown => why.push(
            "whether the runs replayed one trace cannot be told: a file holds no requests with their times".into(),
        ),
    }
    (if fail { Verdict::Fail } else { Verdict::Inconclusive }, why)
}

/// One trace only if all runs replayed it.
fn trace(runs: &Replicates) -> Trace {
    let other = runs.comparable.iter().map(|c| &c.trace).find(|trace| **trace != Trace::Same);
    other.cloned().unwrap_or(Trace::Same)
}

fn load(runs: &Replicates) -> Option<f64> {
    runs.base.iter().chain(&runs.candidate).filter_map(|r| r.info.load).max_by(f64::total_cmp)
}

/// As for pairs, over runs that have no partner.
fn unpaired_restraint(key: Key, at: usize, runs: &Replicates, policy: &Policy) -> Option<Restraint> {
    let all = || runs.base.iter().chain(&runs.candidate);
    let because = |claim, why: String| Some(Restraint { claim, why });
    if let Some(why) = all().find_map(|r| r.cells[at].doubt.clone()) {
        return because(Claim::NotClaimable, why);
    }
    if let Some(why) = runs.comparable.iter().find_map(|c| c.queue()).filter(|_| holds_the_queue(key.metric)) {
        return because(Claim::NotComparable, why.to_owned());
    }
    if all().any(|r| r.cells[at].basis == Basis::Reported) {
        return because(Claim::Shown, "printed by a result file without the rows behind it: no interval".into());
    }
    let least = all().map(|r| r.requests()).min().unwrap_or(0);
    if let Some(why) = too_few(key, least) {
        return because(Claim::NotClaimable, why);
    }
    if let Some(why) = all().find_map(|r| r.cells[at].jump.clone()) {
        return because(Claim::Shown, format!("shown only: {why}"));
    }
    report_only(key, policy)
}
