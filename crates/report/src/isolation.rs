//! Which factor or version makes it worse, shared by the renderings.

use crate::{
    layout::{Align, Table},
    number,
};
use firstcheck_model::{
    isolation::{CombinationRow, CombinationState, EffectClaim, EffectKind, EffectRow, Isolation, Stand, StepRow},
    metric::Metric,
    report::Quantity,
};

/// The tables of what was isolated, each with its title; those without rows are left out.
pub(crate) fn tables(isolation: &Isolation, all: bool) -> Vec<(&'static str, Table)> {
    let mut tables = Vec::new();
    if !isolation.effects.is_empty() {
        tables.push(("What each factor does", effects(&isolation.effects, all)));
    }
    if !isolation.steps.is_empty() {
        tables.push(("Versions, as they were judged", steps(&isolation.steps)));
    }
    if !isolation.combinations.is_empty() {
        tables.push(("Combinations", combinations(&isolation.combinations)));
    }
    tables
}

fn effects(rows: &[EffectRow], all: bool) -> Table {
    let mut table = Table::new(&[
        ("effect", Align::Left),
        ("metric", Align::Left),
        ("change", Align::Right),
        ("interval", Align::Right),
        ("finds", Align::Right),
        ("blocks", Align::Right),
        ("claim", Align::Left),
    ]);
    let interacting = |row: &EffectRow| {
        rows.iter().any(|other| {
            (other.metric, &other.stat) == (row.metric, &row.stat)
                && matches!(other.claim, EffectClaim::Interacts | EffectClaim::MayInteract)
        })
    };
    // What a factor does at one level of another matters where they interact.
    let shown = |row: &&EffectRow| row.ratio.is_some() && (row.kind != EffectKind::Alone || interacting(row));
    for row in rows.iter().filter(|row| all || shown(row)) {
        table.row(vec![
            row.effect.clone(),
            named(row.metric, &row.stat),
            change(row),
            row.interval.map_or(String::new(), |bounds| interval(row, bounds)),
            row.mde.map_or(String::new(), |mde| format!("≥ {}", number::relative(mde))),
            number::count(row.blocks),
            claim(row).into(),
        ]);
    }
    table
}

fn named(metric: Metric, stat: &str) -> String {
    let stat = if stat == "total" { String::new() } else { format!(" {stat}") };
    format!("{}{stat}", metric.label())
}

/// Ratios as changes; odds and interactions, which are no changes of a value, as factors.
fn is_factor(row: &EffectRow) -> bool {
    row.scale == "odds" || row.kind == EffectKind::Interaction
}

fn change(row: &EffectRow) -> String {
    match row.ratio {
        Some(ratio) if is_factor(row) => {
            let of = if row.scale == "odds" { "odds " } else { "" };
            format!("{of}× {}", number::grouped(ratio, 2))
        }
        Some(ratio) => number::change(ratio),
        None => number::MISSING.into(),
    }
}

fn interval(row: &EffectRow, [low, high]: [f64; 2]) -> String {
    if is_factor(row) {
        format!("{} … {}", number::grouped(low, 2), number::grouped(high, 2))
    } else {
        number::change_interval([low, high].map(Quantity::Finite))
    }
}

fn claim(row: &EffectRow) -> &'static str {
    match row.claim {
        EffectClaim::Worse => "makes it worse",
        EffectClaim::Better => "makes it better",
        EffectClaim::Interacts => "interact",
        EffectClaim::MayInteract => "may interact",
        EffectClaim::Nothing => "nothing shown",
        EffectClaim::Shown => "shown only",
    }
}

fn steps(rows: &[StepRow]) -> Table {
    let mut table = Table::new(&[
        ("version", Align::Left),
        ("place", Align::Right),
        ("", Align::Left),
        ("of", Align::Left),
        ("change", Align::Right),
        ("interval", Align::Right),
        ("bad from", Align::Right),
        ("pairs", Align::Right),
        ("why", Align::Left),
    ]);
    for row in rows {
        let stand = match row.stand {
            Stand::Good => "good",
            Stand::Bad => "bad",
            Stand::Unknown => "cannot tell",
        };
        table.row(vec![
            row.version.clone(),
            number::count(row.place),
            stand.into(),
            row.of.clone(),
            number::change_of(row.ratio),
            row.interval.map_or(String::new(), number::change_interval),
            row.threshold.map_or(String::new(), number::change),
            number::count(row.pairs),
            row.why.clone(),
        ]);
    }
    table
}

fn combinations(rows: &[CombinationRow]) -> Table {
    let mut table = Table::new(&[
        ("combination", Align::Left),
        ("runs", Align::Right),
        ("", Align::Left),
        ("typical values", Align::Left),
    ]);
    for row in rows {
        let state = match (row.state, &row.why) {
            (CombinationState::Run, _) => String::new(),
            (CombinationState::NotNeeded, _) => "not needed".into(),
            (CombinationState::Forbidden, Some(why)) => format!("never run: {why}"),
            (CombinationState::Forbidden, None) => "never run".into(),
        };
        let values = row.values.iter().map(|one| {
            format!("{} {}", named(one.metric, &one.stat), number::quantity(Some(one.value), one.metric.unit()))
        });
        table.row(vec![row.name.clone(), number::count(row.runs), state, values.collect::<Vec<_>>().join(", ")]);
    }
    table
}
