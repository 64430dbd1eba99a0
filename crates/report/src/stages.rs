//! Which splits of time a page shows and how, shared by the renderings.

use crate::{
    layout::{Align, Table},
    number, words,
};
use firstcheck_model::report::StageRow;

/// Splits in the order in which a reader wants them: the tail before the mean, requests before histograms.
const PREFERRED: [(&str, &str); 5] =
    [("p95", "spans"), ("p99", "spans"), ("p50", "spans"), ("mean", "spans"), ("mean", "histogram means")];

/// The basis of a total that nothing splits.
const NOT_OBSERVABLE: &str = "not observable";

/// Rows of one split: same total, same basis.
pub(crate) type Split<'r> = &'r [StageRow];

/// What a page shows.
#[derive(Debug, Default)]
pub(crate) struct Chosen<'r> {
    /// The best split of each metric.
    pub splits: Vec<Split<'r>>,
    /// Totals that nothing splits.
    pub unseen: Vec<&'r StageRow>,
    /// Splits that are left out.
    pub others: usize,
}

/// The best split of each metric, what cannot be split, and how many others there are.
pub(crate) fn chosen(rows: &[StageRow]) -> Chosen<'_> {
    let mut chosen = Chosen::default();
    for split in rows.chunk_by(|a, b| a.of == b.of && a.basis == b.basis) {
        if let [total] = split
            && total.basis == NOT_OBSERVABLE
        {
            chosen.unseen.push(total);
            continue;
        }
        match chosen.splits.iter_mut().find(|known| metric(known) == metric(&split)) {
            Some(known) => {
                chosen.others += 1;
                if rank(&split) < rank(known) {
                    *known = split;
                }
            }
            None => chosen.splits.push(split),
        }
    }
    chosen
}

/// What is split, and from what.
pub(crate) fn title(split: Split<'_>) -> String {
    split
        .first()
        .map_or(String::new(), |first| format!("Where the time went: {} (by {})", words::split(&first.of), first.basis))
}

/// Why a total is not split, and what would split it.
pub(crate) fn unseen(total: &StageRow) -> String {
    let why = total.note.as_deref().map_or(String::new(), |note| format!(": {note}"));
    format!("Where the time of {} went is not observable{why}", words::split(&total.of))
}

/// The split with its sum; `bars`: with a bar for each share.
pub(crate) fn table(split: Split<'_>, bars: Option<fn(f64) -> String>) -> Table {
    let mut columns = vec![
        ("stage", Align::Left),
        ("base", Align::Right),
        ("candidate", Align::Right),
        ("delta", Align::Right),
        ("interval", Align::Right),
        ("share", Align::Right),
    ];
    columns.extend(bars.map(|_| ("", Align::Left)));
    let mut table = Table::new(&columns);
    for row in split {
        let mut cells = cells(row);
        cells.extend(bars.map(|bar| row.share.map_or(String::new(), bar)));
        table.row(cells);
    }
    if let Some(total) = total(split) {
        let mut cells = cells(&total);
        cells.extend(bars.map(|_| String::new()));
        table.row(cells);
    }
    table
}

fn cells(row: &StageRow) -> Vec<String> {
    let part = |value: Option<f64>| value.map_or(number::MISSING.into(), |v| number::value(v, &row.unit));
    let interval = row.interval.map_or(String::new(), |[low, high]| {
        format!("{} … {}", number::signed(low, &row.unit), number::signed(high, &row.unit))
    });
    vec![
        row.stage.clone(),
        part(row.base),
        part(row.candidate),
        number::signed(row.delta, &row.unit),
        interval,
        row.share.map_or(String::new(), number::share),
    ]
}

/// The sum of the rows: what is split.
fn total(split: Split<'_>) -> Option<StageRow> {
    let first = split.first().filter(|_| split.len() > 1)?;
    let sum = |part: fn(&StageRow) -> Option<f64>| split.iter().map(part).sum::<Option<f64>>();
    Some(StageRow {
        stage: "total".into(),
        base: sum(|row| row.base),
        candidate: sum(|row| row.candidate),
        delta: split.iter().map(|row| row.delta).sum(),
        interval: None,
        share: sum(|row| row.share),
        ..first.clone()
    })
}

fn metric<'r>(split: &Split<'r>) -> Option<&'r str> {
    split.first()?.of.split(' ').next()
}

fn rank(split: &Split<'_>) -> usize {
    let Some(first) = split.first() else { return PREFERRED.len() };
    let stat = first.of.split(' ').nth(1).unwrap_or("");
    PREFERRED.iter().position(|known| *known == (stat, first.basis.as_str())).unwrap_or(PREFERRED.len())
}
