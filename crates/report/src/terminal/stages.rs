//! Where time was gained or lost, with a bar for each stage's share.

use super::Page;
use crate::{
    layout::{Align, Table, tame},
    number, stages,
    tone::Tone,
};
use firstcheck_model::report::StageRow;

/// Characters of a bar that stands for the whole difference.
const BAR: f64 = 20.0;

fn bar(share: f64) -> String {
    let length = (share.clamp(0.0, 1.0) * BAR).round() as usize;
    "█".repeat(length)
}

/// The best split of each metric under a heading of its own.
pub(super) fn stages(page: &mut Page, rows: &[StageRow]) {
    let (splits, others) = stages::chosen(rows);
    for split in splits {
        page.heading(&tame(&stages::title(split)));
        let (head, lines) = table(split).lines();
        let head = page.paint(&format!("  {head}"), Tone::Dim);
        page.line(&head);
        lines.iter().for_each(|line| page.line(&format!("  {line}")));
    }
    if others > 0 {
        page.prose("  ", &format!("{others} more splits: --format json"), Tone::Dim);
    }
}

fn table(split: &[StageRow]) -> Table {
    let mut table = Table::new(&[
        ("stage", Align::Left),
        ("base", Align::Right),
        ("candidate", Align::Right),
        ("delta", Align::Right),
        ("interval", Align::Right),
        ("share", Align::Right),
        ("", Align::Left),
    ]);
    for row in split {
        let part = |value: Option<f64>| value.map_or(number::MISSING.into(), |v| number::value(v, &row.unit));
        let interval = row.interval.map_or(String::new(), |[low, high]| {
            format!("{} … {}", number::signed(low, &row.unit), number::signed(high, &row.unit))
        });
        table.row(vec![
            tame(&row.stage),
            part(row.base),
            part(row.candidate),
            number::signed(row.delta, &row.unit),
            interval,
            row.share.map_or(String::new(), number::share),
            row.share.map_or(String::new(), bar),
        ]);
    }
    table
}
