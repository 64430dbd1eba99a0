//! Cells and signatures, shared by the renderings.

use crate::{
    layout::{Align, Table},
    number, words,
};
use firstcheck_model::report::{CellRow, Report, SignatureRow, SignatureState};

/// One line a cell.
pub(crate) fn cells(rows: &[CellRow]) -> Table {
    let mut table = Table::new(&[
        ("cell", Align::Left),
        ("pairs", Align::Right),
        ("verdict", Align::Left),
        ("", Align::Left),
        ("why", Align::Left),
    ]);
    for row in rows {
        let verdict = words::verdict(row.verdict).unwrap_or("shown");
        let need = if row.required { "" } else { "not required" };
        let why = row.why.first().cloned().unwrap_or_default();
        table.row(vec![row.cell.clone(), number::count(row.pairs), verdict.into(), need.into(), why]);
    }
    table
}

/// The signatures that a comparison shows.
pub(crate) fn present(report: &Report) -> impl Iterator<Item = &SignatureRow> {
    report.signatures.iter().filter(|row| row.state == SignatureState::Present)
}

/// What a signature leads to: `S02 whether …; S15 whether …`.
pub(crate) fn leads(row: &SignatureRow) -> String {
    let leads: Vec<String> = row.checks.iter().map(|lead| format!("{} {}", lead.code, lead.tells)).collect();
    leads.join("; ")
}

/// What the pattern says, and that it is only shown where it is.
pub(crate) fn title(row: &SignatureRow) -> String {
    let shown = if row.exploratory { " (exploratory)" } else { "" };
    format!("{}{shown}", row.means)
}

/// The signatures that cannot be told, with what is missing; `None` where there are none.
pub(crate) fn unknown(report: &Report) -> Option<String> {
    let unknown = report.signatures.iter().filter(|row| row.state == SignatureState::Unknown);
    let list: Vec<String> = unknown.map(|row| format!("{} (missing: {})", row.name, row.missing.join(", "))).collect();
    (!list.is_empty()).then(|| format!("signatures that cannot be told: {}", list.join("; ")))
}
