//! `firstcheck isolate --plan`: what it will take.

use crate::{commands::ab::plan::measured, output};
use firstcheck_experiment::{
    ab::{Forecast, forecast},
    calibration::Calibrations,
    isolate::{FactorsOptions, VersionsOptions, steps_at_most},
};
use firstcheck_model::{exit_code::FINE, isolation::Method};
use std::fmt::Write as _;

/// Says what all blocks will take, and does nothing.
///
/// # Errors
/// A plan that does not balance, or a trace that cannot be made.
pub(super) fn of_factors(options: &FactorsOptions, known: &Calibrations) -> anyhow::Result<u8> {
    let FactorsOptions { begun, grid, layout, targets, offer, policy, .. } = options;
    let forecast = forecast(&begun.plan, targets, offer, policy, known)?;
    let mut text = String::new();
    for (arm, target) in layout.arms.iter().zip(targets) {
        let _ = writeln!(text, "run: {} on {target}", grid.describe(arm));
    }
    for corner in grid.corners() {
        if let Some(why) = grid.forbids(&corner) {
            let why = why.map_or(String::new(), |why| format!(" ({why})"));
            let _ = writeln!(text, "never run: {}{why}", grid.describe(&corner));
        }
    }
    let _ = match layout.method {
        Method::Factorial => writeln!(text, "tells: what each factor does, and whether they interact"),
        Method::Path => {
            writeln!(text, "tells: what each step of the supported path does; not whether factors interact")
        }
        _ => writeln!(text, "tells: what all factors do together; no supported path lies between"),
    };
    let (blocks, runs) = (begun.plan.pairs, begun.plan.pairs * begun.plan.runs_a_block());
    let _ = writeln!(text, "blocks: {blocks}, {runs} runs{}", time(&forecast, blocks, 1));
    text += &measured(&begun.plan, &forecast);
    output::print(&text)?;
    Ok(FINE)
}

/// Says what a search will take, and does nothing.
///
/// # Errors
/// As [`of_factors`].
pub(super) fn of_versions(options: &VersionsOptions, known: &Calibrations) -> anyhow::Result<u8> {
    let VersionsOptions { begun, versions, targets, offer, policy, .. } = options;
    let forecast = forecast(&begun.plan, targets, offer, policy, known)?;
    let (steps, looks) = (steps_at_most(versions.len()), &begun.plan.looks);
    let (least, most) = (looks.first().copied().unwrap_or_default(), begun.plan.pairs);
    let first = versions.first().map_or("", String::as_str);
    let last = versions.last().map_or("", String::as_str);
    let mut text = format!("{} versions, {first} to {last}\n", versions.len());
    let _ = writeln!(
        text,
        "comparisons: {last} with {first}; where it is worse, {} more in which every version can be told",
        steps - 1
    );
    let _ = writeln!(
        text,
        "pairs of each: {least} to {most}; {} to {} runs in all{}",
        2 * least * steps,
        2 * most * steps,
        time(&forecast, most, steps)
    );
    text += &measured(&begun.plan, &forecast);
    output::print(&text)?;
    Ok(FINE)
}

/// `, at most 40 min of virtual time`.
fn time(forecast: &Forecast, pairs: u32, times: u32) -> String {
    let clock = if forecast.is_virtual { " of virtual time" } else { "" };
    let minutes = forecast.minutes(pairs).map(|minutes| (minutes * f64::from(times)).ceil());
    minutes.map_or(String::new(), |minutes| format!(", at most {minutes:.0} min{clock}"))
}
