//! The tables.

use firstcheck_experiment::characteristics::{Rate, Regime, Tally};
use std::fmt::Write;

/// Regime, how much slower the candidate's steps are, and what was counted.
type Measured = (Regime, f64, Tally);

/// Verdicts a regime: with default margins without and with an effect, and with every margin at the true effect.
pub fn verdicts(measured: &[Measured]) -> String {
    let mut text = String::from(
        "| regime | true effect | experiments | FAIL | PASS | FAIL, margins at the effect | PASS, margins at the effect |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
    );
    for (regime, slower, tally) in measured {
        let rates = [tally.fail, tally.pass, tally.fail_at_margin, tally.pass_at_margin].map(percent).join(" | ");
        let _ = writeln!(text, "| {} | {} | {} | {rates} |", regime.name, effect(*slower), tally.fail.of);
    }
    text
}

/// Coverage, error and power of every gated statistic.
pub fn effects(measured: &[Measured]) -> String {
    let mut text = String::from(
        "| regime | steps | statistic | true effect | 95 % interval covers | lower bound above it | upper bound below it | power \
         at the MDE | differs from 0 |\n|---|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for (regime, slower, tally) in measured {
        for (name, row) in &tally.rows {
            let rates = [row.covered, row.fails_at_margin, row.passes_at_margin, row.power_at_mde, row.different];
            let rates = rates.map(percent).join(" | ");
            let _ = writeln!(
                text,
                "| {} | {} | {name} | {:+.1} | {rates} |",
                regime.name,
                effect(*slower),
                100.0 * row.effect
            );
        }
    }
    text
}

/// What other ways to compare said.
pub fn rivals(measured: &[Measured]) -> String {
    let mut text = String::from("| regime | steps | way to compare | says that they differ |\n|---|---|---|---:|\n");
    for (regime, slower, tally) in measured {
        let own = tally.rows.iter().find(|(name, _)| name == "TTFT p95").map(|(_, row)| row.different);
        let own = own.map(|rate| ("**paired t on 8 pairs (firstcheck)**", rate));
        let all = own.into_iter().chain(tally.rivals.iter().map(|(rival, rate)| (rival.name(), *rate)));
        for (name, rate) in all {
            let _ = writeln!(text, "| {} | {} | {name} | {} |", regime.name, effect(*slower), percent(rate));
        }
    }
    text
}

fn effect(slower: f64) -> String {
    if slower == 0.0 { "alike".into() } else { format!("{:.0} % slower", slower * 100.0) }
}

/// `4.7 ± 0.5`.
fn percent(rate: Rate) -> String {
    match rate.percent().zip(rate.error()) {
        Some((percent, error)) => format!("{percent:.1} ± {error:.1}"),
        None => "–".into(),
    }
}
