//! What deployments are, what differs between two, and whether they may be compared: shared by the renderings.

use crate::{
    layout::{Align, Table, tame, width},
    number,
    sides::short_label,
};
use firstcheck_model::{
    comparability::{Reach, Ruling},
    fingerprint::{Field, Group, Impact, Stated, UNSET, impact},
    report::{Difference, OneSided, Sides},
    run::Role,
};

/// Differences that a page lists; the JSON report holds all.
const MOST_DIFFERENCES: usize = 40;
/// Resolved settings of which nothing is known that a page lists; the JSON report holds all.
const MOST_UNKNOWN: usize = 20;
/// Fields of one side that are named.
const MOST_ONE_SIDED: usize = 12;
/// Characters of a value that a page shows.
const LONGEST_VALUE: usize = 48;

/// What stands over fields of which nothing is known.
pub(crate) const NOTHING_KNOWN: &str = "no effect on serving is known of these";

/// A value as a page shows it.
fn clipped(value: &str) -> String {
    let value = tame(value);
    if width(&value) <= LONGEST_VALUE {
        return value;
    }
    let start: String = value.chars().take(LONGEST_VALUE - 1).collect();
    format!("{start}…")
}

/// What differs, as far as a page lists it, with its lines.
pub(crate) fn differences(all: &[Difference]) -> (Table, &[Difference]) {
    let listed = &all[..all.len().min(MOST_DIFFERENCES)];
    let columns = ["field", "base", "candidate", "came about", "known"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Left)));
    for one in listed {
        table.row(vec![
            one.field.clone(),
            clipped(&one.base),
            clipped(&one.candidate),
            one.came.name().to_owned(),
            one.since.clone().unwrap_or_default(),
        ]);
    }
    (table, listed)
}

/// How many differences a page leaves out.
pub(crate) fn more_differences(all: &[Difference]) -> Option<String> {
    let more = all.len().saturating_sub(MOST_DIFFERENCES);
    (more > 0).then(|| format!("and {} more: --format json lists all", number::count(more as u64)))
}

/// What each side states alone, in a sentence a side. Whether these differ is not known.
pub(crate) fn one_sided(all: &[OneSided]) -> Vec<String> {
    [Role::Base, Role::Candidate].into_iter().filter_map(|side| stated_by(side, all)).collect()
}

fn stated_by(side: Role, all: &[OneSided]) -> Option<String> {
    let of: Vec<&OneSided> = all.iter().filter(|one| one.side == side).collect();
    let telling = of.iter().filter(|one| one.value != UNSET);
    let telling = telling.filter(|one| impact::of(&one.field).is_some_and(|known| known.impact <= Impact::Medium));
    let named: Vec<String> =
        telling.take(MOST_ONE_SIDED).map(|one| format!("{} {}", tame(&one.field), clipped(&one.value))).collect();
    let others = of.len() - named.len();
    let more = if others == 0 { String::new() } else { format!("{} others", number::count(others as u64)) };
    let parts: Vec<String> = named.into_iter().chain((!more.is_empty()).then_some(more)).collect();
    (!of.is_empty()).then(|| format!("stated by {} alone: {}", side.name(), parts.join(", ")))
}

/// All that a deployment says it is, for a report that is about nothing else: one side, no runs. The second part counts
/// what is left out.
pub(crate) fn fingerprint(sides: &Sides) -> Option<(Table, Option<String>)> {
    let (None, Some(side)) = (&sides.base, &sides.candidate) else { return None };
    if !side.runs.is_empty() {
        return None;
    }
    let columns = ["", "field", "value", "from"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Left)));
    let mut left_out = 0;
    for group in Group::ALL {
        let (mut fields, mut unknown): (Vec<_>, Vec<_>) =
            side.fingerprint.group(group).partition(|(name, _)| group != Group::Resolved || is_telling(name));
        fields.sort_by_cached_key(|(name, _)| impact::rank(name));
        unknown.retain(|(name, field)| is_shown(name, field));
        unknown.truncate(MOST_UNKNOWN);
        fields.retain(|(_, field)| field.stated.value != UNSET);
        let listed: Vec<_> = fields.into_iter().chain(unknown).collect();
        left_out += side.fingerprint.group(group).count() - listed.len();
        for (at, (name, field)) in listed.into_iter().enumerate() {
            let heading = if at == 0 { group.name() } else { "" };
            table.row(vec![heading.into(), name.to_owned(), value(field), source(&field.stated)]);
        }
    }
    let more = format!("{} more settings: --format json lists all", number::count(left_out as u64));
    Some((table, (left_out > 0).then_some(more)))
}

/// A resolved setting that is known to matter.
fn is_telling(name: &str) -> bool {
    !name.contains('.') && impact::of(name).is_some()
}

/// Of settings of which nothing is known, those at the top level that are set.
fn is_shown(name: &str, field: &Field) -> bool {
    !name.contains('.') && field.stated.value != UNSET
}

/// The value of a field, with what contradicts it.
fn value(field: &Field) -> String {
    let mut out = clipped(&field.stated.value);
    for other in &field.also {
        out += &format!(" (but {} in {})", clipped(&other.value), source(other));
    }
    out
}

fn source(stated: &Stated) -> String {
    let line = stated.line.map_or(String::new(), |line| format!(":{line}"));
    format!("{}{line}", short_label(&tame(&stated.from)))
}

/// Rulings as a page lists them: the first of a rule with how many more of it there are, or `every` one.
pub(crate) fn rulings(all: &[Ruling], every: bool) -> Vec<(&Ruling, usize)> {
    let mut listed: Vec<(&Ruling, usize)> = Vec::new();
    for ruling in all {
        let alike =
            |known: &Ruling| (known.level, &known.rule, &known.mend) == (ruling.level, &ruling.rule, &ruling.mend);
        match listed.iter_mut().find(|(known, _)| !every && alike(known)) {
            Some((_, more)) => *more += 1,
            None => listed.push((ruling, 0)),
        }
    }
    listed
}

/// How many more of a rule there are, in words.
pub(crate) fn more_rulings(more: usize) -> String {
    if more == 0 { String::new() } else { format!("; and {} more like it: --all", number::count(more as u64)) }
}

/// A ruling in a sentence: what it weighs on, and why.
pub(crate) fn ruling(ruling: &Ruling) -> String {
    let of = match ruling.reach {
        Reach::Everything => String::new(),
        reach => format!(" ({})", reach.name()),
    };
    format!("{}{of}", ruling.reason)
}
