//! Tables: each in a frame that scrolls by itself, so that the page does not.

use crate::layout::{Align, Shown};
use maud::{Markup, html};

/// A table that `name` names; `classes` colours its rows' last cells, as far as it goes.
pub(super) fn of(name: &str, table: &Shown<'_>, classes: &[&str]) -> Markup {
    let class = |column: usize| if table.columns[column].1 == Align::Right { "number" } else { "" };
    let last = table.columns.len().saturating_sub(1);
    html! {
        div class="scroll" role="region" aria-label={ "Table: " (name) } tabindex="0" {
            table {
                thead { tr {
                    @for (column, (head, _)) in table.columns.iter().enumerate() {
                        @if head.is_empty() { td class=(class(column)) {} }
                        @else { th scope="col" class=(class(column)) { (head) } }
                    }
                } }
                tbody { @for (at, row) in table.rows.iter().enumerate() { tr {
                    @for (column, cell) in row.iter().enumerate() {
                        @if column == 0 && !cell.is_empty() { th scope="row" class=(class(column)) { (cell) } }
                        @else if column == last && at < classes.len() {
                            td class={ (class(column)) " " (classes[at]) } { (cell) }
                        }
                        @else { td class=(class(column)) { (cell) } }
                    }
                } } }
            }
        }
    }
}

/// A figure's values for readers, folded.
pub(super) fn values(name: &str, heads: &[&str], rows: &[Vec<String>]) -> Markup {
    let columns = heads.iter().enumerate().map(|(at, head)| (*head, if at == 0 { Align::Left } else { Align::Right }));
    let rows = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let shown = Shown { columns: columns.collect(), rows };
    html! { details { summary { "Values: " (name) } (of(&format!("Values: {name}"), &shown, &[])) } }
}
