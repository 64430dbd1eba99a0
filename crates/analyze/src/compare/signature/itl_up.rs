//! Tokens come slower while first tokens come as before.

use super::{
    Reading, Rule,
    changes::{Changes, Went, said},
};
use firstcheck_model::{metric::Metric, report::MetricRow};

pub(super) static RULE: Rule = Rule {
    name: "itl-up-ttft-stable",
    means: "ITL rose while TTFT stayed: a decode step takes longer",
    leads: &[
        ("S22", "whether another backend or graph mode is in force"),
        ("S24", "whether the time lies between the kernels, on the host"),
        ("S25", "whether the decode kernel reaches the bandwidth it should"),
        ("S27", "whether collectives take a larger part of the step"),
        ("S28", "whether experts are out of balance"),
        ("S20", "whether a quantised model runs a slow kernel"),
        ("S21", "whether INT4 weights run above their crossover"),
        ("S07", "whether prefills of others stretch the steps"),
        ("S10", "whether speculation is accepted less"),
    ],
    read,
};

fn read(changes: &Changes<'_>) -> Reading {
    let Some(itl) = changes.row(&[
        (Metric::Tpot, "p50"),
        (Metric::Itl, "mean"),
        (Metric::Tpot, "mean"),
        (Metric::ItlServer, "mean"),
    ]) else {
        return Reading::Unknown(vec!["ITL or TPOT on both sides".into()]);
    };
    let Some(ttft) = changes.row(&[(Metric::Ttft, "p50"), (Metric::Ttft, "mean"), (Metric::TtftServer, "mean")]) else {
        return Reading::Unknown(vec!["TTFT on both sides".into()]);
    };
    let facts = vec![said(itl, changes.went(itl)), said(ttft, changes.went(ttft))];
    if changes.went(itl) == Went::Up && mostly_stable(changes, ttft, itl) {
        Reading::Present(facts)
    } else {
        Reading::Absent(facts)
    }
}

/// Not up, or up by less than half as much: a first token takes one step of many that got slower.
fn mostly_stable(changes: &Changes<'_>, ttft: &MetricRow, itl: &MetricRow) -> bool {
    let rise = |row: &MetricRow| row.ratio.and_then(|ratio| ratio.finite()).map(f64::ln);
    changes.went(ttft) != Went::Up
        || rise(ttft).zip(rise(itl)).is_some_and(|(ttft, itl)| ttft < changes.policy.signature_stable_share * itl)
}
