//! What was measured, of what: both sides beside each other, shared by the renderings.

use crate::{
    layout::{Align, Table, tame},
    number, words,
};
use firstcheck_model::{
    fingerprint::field,
    metric::Metric,
    report::{RunRow, SideReport, Sides},
    request::Fate,
    run::Origin,
};
use std::collections::BTreeMap;

/// Most reasons of failure that are listed; the JSON report holds all.
const MOST_ERRORS: usize = 4;
/// Characters of a path beyond which only its end is shown.
const LONGEST_LABEL: usize = 30;

/// Lines that are long, and are said once where both sides have the same.
const LONG: [&str; 3] = ["origin", "deployment", "workload"];

/// Both sides, and what they share.
pub(crate) struct Compared {
    /// What is the same on both sides, by name.
    pub(crate) shared: Vec<(&'static str, String)>,
    /// Each side's own.
    pub(crate) table: Table,
}

/// Both sides as a table with a line for each thing said of them.
pub(crate) fn sides(sides: &Sides) -> Option<Compared> {
    let given: Vec<(&str, &SideReport)> = [("base", &sides.base), ("candidate", &sides.candidate)]
        .into_iter()
        .filter_map(|(name, side)| Some((name, side.as_ref()?)))
        .collect();
    let mut columns = vec![("", Align::Left)];
    match given.as_slice() {
        [] => return None,
        [_] => columns.push(("", Align::Left)),
        both => columns.extend(both.iter().map(|(name, _)| (*name, Align::Left))),
    }
    let mut table = Table::new(&columns);
    type Say = fn(&SideReport) -> String;
    let lines: [(&str, Say); 9] = [
        ("from", from),
        ("origin", origin),
        ("deployment", deployment),
        ("workload", workload),
        ("window", window),
        ("requests", requests),
        ("failed", failed),
        ("reasons", reasons),
        ("send lag", send_lag),
    ];
    let mut shared = Vec::new();
    for (name, say) in lines {
        let cells: Vec<String> = given.iter().map(|(_, side)| tame(&say(side))).collect();
        match cells.as_slice() {
            [base, candidate] if LONG.contains(&name) && base == candidate && !base.is_empty() => {
                shared.push((name, base.clone()));
            }
            cells if cells.iter().any(|cell| !cell.is_empty()) => {
                table.row([name.to_owned()].into_iter().chain(cells.iter().cloned()).collect());
            }
            _ => {}
        }
    }
    Some(Compared { shared, table })
}

fn from(side: &SideReport) -> String {
    let Some(first) = side.runs.first() else { return String::new() };
    let label = short_label(&first.label);
    match side.runs.len() {
        1 => label,
        n => format!("{label} … {n} runs"),
    }
}

fn origin(side: &SideReport) -> String {
    shared(&side.runs, |run| words::origin(&run.origin))
}

/// The end of a long path: what tells runs apart.
pub(crate) fn short_label(label: &str) -> String {
    let length = crate::layout::width(label);
    if length <= LONGEST_LABEL {
        return label.to_owned();
    }
    let end: String = label.chars().skip(length + 1 - LONGEST_LABEL).collect();
    format!("…{end}")
}

fn deployment(side: &SideReport) -> String {
    let said: Vec<&str> = [field::ENGINE, field::ENGINE_VERSION, field::MODEL]
        .into_iter()
        .filter_map(|name| side.fingerprint.get(name))
        .collect();
    said.join(" ")
}

/// What all runs share, else the first with a note that there are others.
fn shared(runs: &[RunRow], say: impl Fn(&RunRow) -> String) -> String {
    let Some(first) = runs.first().map(&say) else { return String::new() };
    if runs.iter().all(|run| say(run) == first) { first } else { format!("{first}, and others") }
}

fn workload(side: &SideReport) -> String {
    shared(&side.runs, |run| run.workload.clone())
}

fn window(side: &SideReport) -> String {
    let each = shared(&side.runs, |run| run.window_s.map_or(String::new(), |s| number::value(s, "s")));
    match side.runs.len() {
        0 | 1 => each,
        _ if each.is_empty() => each,
        n => format!("{n} × {each}"),
    }
}

fn total(side: &SideReport) -> u64 {
    side.runs.iter().map(|run| run.requests).fold(0, u64::saturating_add)
}

fn sums<'a>(maps: impl Iterator<Item = &'a BTreeMap<String, u64>>) -> Vec<(&'a str, u64)> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, n) in maps.flatten() {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(*n);
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, n)| *n > 0).collect();
    sums.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    sums
}

fn requests(side: &SideReport) -> String {
    if side.runs.is_empty() { String::new() } else { number::count(total(side)) }
}

fn failed(side: &SideReport) -> String {
    let fates = sums(side.runs.iter().map(|run| &run.fates));
    let bad: Vec<_> = fates.into_iter().filter(|(name, _)| *name != Fate::Completed.name()).collect();
    let failed: u64 = bad.iter().map(|(_, n)| n).sum();
    let all = total(side);
    if failed == 0 || all == 0 {
        return if all == 0 { String::new() } else { "none".into() };
    }
    let parts: Vec<String> =
        bad.iter().map(|(name, n)| format!("{} {}", number::count(*n), name.replace('_', " "))).collect();
    format!("{} = {} ({})", number::count(failed), number::share(failed as f64 / all as f64), parts.join(", "))
}

/// Requests that were not answered and runs that did not end, a sentence a side.
pub(crate) fn failures(sides: &Sides) -> Vec<String> {
    let mut said = Vec::new();
    for (name, side) in [("base: ", &sides.base), ("", &sides.candidate)] {
        let Some(side) = side else { continue };
        let all = total(side);
        // Fates that are not told are no failures.
        let fates = sums(side.runs.iter().map(|run| &run.fates));
        let lost: u64 = fates
            .iter()
            .filter(|(name, _)| *name != Fate::Completed.name())
            .map(|(_, n)| *n)
            .fold(0, u64::saturating_add);
        if lost > 0 && all > 0 {
            let reasons = reasons(side);
            let because = if reasons.is_empty() { reasons } else { format!(": {reasons}") };
            let (lost, share) = (number::count(lost), number::share(lost as f64 / all as f64));
            said.push(format!("{name}{lost} of {} ({share}) not answered{because}", number::counted(all, "request")));
        }
        let stopped = side.runs.iter().find_map(|run| Some((run, words::interrupted(&run.state)?)));
        if let Some((run, reason)) = stopped {
            said.push(format!("{}: interrupted: {reason}", short_label(&run.label)));
        }
    }
    said
}

fn reasons(side: &SideReport) -> String {
    let errors = sums(side.runs.iter().map(|run| &run.errors));
    let mut parts: Vec<String> =
        errors.iter().take(MOST_ERRORS).map(|(reason, n)| format!("{reason} × {}", number::count(*n))).collect();
    if errors.len() > MOST_ERRORS {
        parts.push(format!("{} more", errors.len() - MOST_ERRORS));
    }
    parts.join(", ")
}

/// The worst send lag of the side's runs; a simulated run has no client that could lag.
fn send_lag(side: &SideReport) -> String {
    let measured = side.runs.iter().filter(|run| run.origin != Origin::Simulated);
    let lags = measured.filter_map(|run| run.client.as_ref()?.send_lag_p99.map(|lag| lag.0));
    lags.reduce(f64::max).map_or(String::new(), |worst| format!("p99 {}", number::value(worst, "s")))
}

/// What a reader should know of the runs: how they ended, doubts of the client, warnings; each once, with its runs. Those
/// that differ in their numbers alone count as one, unless `every` is wanted.
pub(crate) fn warnings(sides: &Sides, every: bool) -> Vec<String> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    let is_known = |known: &str, text: &str| known == text || (!every && shape(known) == shape(text));
    let runs = [&sides.base, &sides.candidate].into_iter().flatten().flat_map(|side| &side.runs);
    for run in runs {
        let mut say = |text: String| match said.iter_mut().find(|(known, _)| is_known(known, &text)) {
            Some((_, labels)) => labels.push(&run.label),
            None => said.push((text, vec![&run.label])),
        };
        if let Some(reason) = words::interrupted(&run.state) {
            say(format!("interrupted: {reason}"));
        }
        for doubt in run.client.iter().flat_map(|client| &client.doubts) {
            let what = doubt.metric.map_or("the whole run", Metric::label);
            say(format!("{what} may not be believed: {}", doubt.reason));
        }
        run.warnings.iter().for_each(|warning| say(warning.clone()));
    }
    said.into_iter()
        .map(|(text, labels)| match labels.as_slice() {
            [one] => format!("{one}: {text}"),
            many => format!("{} runs: {text}", many.len()),
        })
        .collect()
}

/// A sentence without its numbers.
fn shape(text: &str) -> String {
    text.split(|c: char| c.is_ascii_digit() || c == '.').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("#")
}
