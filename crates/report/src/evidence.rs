//! What was read, and what of it was not understood.

use crate::{
    layout::{Align, Table},
    number,
};
use firstcheck_model::report::{NotUnderstood, ReadRow};

/// Not understood kinds listed; the JSON report lists all.
const MOST_KINDS: usize = 100;

/// The artefacts that were read.
pub(crate) fn read(rows: &[ReadRow]) -> Table {
    let mut table = Table::new(&[
        ("file", Align::Left),
        ("what it is", Align::Left),
        ("rows", Align::Right),
        ("of", Align::Left),
        ("covers", Align::Right),
        ("engine", Align::Left),
        ("replicas", Align::Right),
    ]);
    for row in rows {
        let engine = match (&row.engine, &row.version) {
            (Some(engine), Some(version)) => format!("{engine} {version}"),
            (one, other) => one.clone().or_else(|| other.clone()).unwrap_or_default(),
        };
        let replicas = if row.replicas.is_empty() { String::new() } else { row.replicas.len().to_string() };
        table.row(vec![
            row.path.clone(),
            row.what.clone(),
            number::count(row.rows),
            row.unit.clone(),
            row.length_s.map_or(String::new(), |length| number::value(length, "s")),
            engine,
            replicas,
        ]);
    }
    table
}

/// Notes on artefacts, each with its file.
pub(crate) fn notes(rows: &[ReadRow]) -> Vec<String> {
    rows.iter().flat_map(|row| row.notes.iter().map(|note| format!("{}: {note}", row.path))).collect()
}

/// What was read and not understood, the most frequent first.
pub(crate) fn not_understood(all: &[NotUnderstood]) -> Table {
    let mut table =
        Table::new(&[("count", Align::Right), ("what", Align::Left), ("kind", Align::Left), ("first", Align::Left)]);
    let mut sorted: Vec<&NotUnderstood> = all.iter().collect();
    sorted.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| (&a.path, &a.kind).cmp(&(&b.path, &b.kind))));
    for one in sorted.into_iter().take(MOST_KINDS) {
        let place = one.line.map_or(String::new(), |line| format!(":{line}"));
        table.row(vec![number::count(one.count), one.what.clone(), one.kind.clone(), format!("{}{place}", one.path)]);
    }
    table
}

/// What the table of [`not_understood`] leaves out, if it is too long.
pub(crate) fn not_listed(all: &[NotUnderstood]) -> Option<String> {
    let more = all.len().saturating_sub(MOST_KINDS);
    (more > 0).then(|| format!("and {} more kinds: --format json lists all", number::count(more as u64)))
}
