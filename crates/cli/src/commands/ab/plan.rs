//! `firstcheck ab --plan`: what it will take.

use crate::output;
use firstcheck_experiment::{
    ab::{ASSUMED_S_D, AbOptions, Forecast, GateForecast, START_S, forecast},
    calibration::Calibrations,
    plan::{Plan, WarmUp, warm_up},
};
use firstcheck_model::{exit_code::FINE, metric::Metric};
use std::fmt::Write as _;

/// Says what the experiment will take, and does nothing.
///
/// # Errors
/// A plan that does not balance, or a trace that cannot be made.
pub(super) fn say(options: &AbOptions, known: &Calibrations) -> anyhow::Result<u8> {
    let targets = [options.base.clone(), options.candidate.clone()];
    let forecast = forecast(&options.begun.plan, &targets, &options.offer, &options.policy, known)?;
    output::print(&text(options, &forecast))?;
    Ok(FINE)
}

fn text(options: &AbOptions, forecast: &Forecast) -> String {
    let mut text = format!("base: {}\ncandidate: {}\n", options.base, options.candidate);
    let plan = &options.begun.plan;
    let (least, most) = (forecast.pairs.first().copied().unwrap_or(0), plan.pairs);
    let clock = if forecast.is_virtual { " of virtual time" } else { "" };
    let time = |pairs| forecast.minutes(pairs).map(|minutes| format!("{:.0} min", minutes.ceil()));
    let _ = match (least == most, time(least).zip(time(most))) {
        (true, Some((_, time))) => writeln!(text, "pairs: {most}, {} runs, at most {time}{clock}", 2 * most),
        (true, None) => writeln!(text, "pairs: {most}, {} runs", 2 * most),
        (false, times) => writeln!(
            text,
            "pairs: {least} to {most}, {} to {} runs{}; it ends at the first look that decides",
            2 * least,
            2 * most,
            times.map_or(String::new(), |(least, most)| format!(", {least} to {most}{clock}")),
        ),
    };
    text += &measured(plan, forecast);
    text
}

/// What a run and its window hold, and what is found by them.
pub(in crate::commands) fn measured(plan: &Plan, forecast: &Forecast) -> String {
    let mut text = String::new();
    let start = if forecast.starts { format!(", {START_S:.0} s of them for a start") } else { String::new() };
    let _ = match forecast.run {
        Some(run) => writeln!(text, "a run: {:.0} s{start}; answers that are late add to it", run.0),
        None => writeln!(text, "a run: as long as its requests take; --duration bounds it"),
    };
    if plan.warm_up == WarmUp::Learnt {
        let _ = writeln!(text, "warm-up: learnt from a first run of base, {:.0} s or more", warm_up::LEAST_S);
    }
    let _ = writeln!(text, "requests in a window: {}", requests(forecast));
    for gate in &forecast.gates {
        let _ = writeln!(text, "{}", line(gate, forecast));
    }
    if forecast.gates.iter().any(|gate| !gate.calibrated) {
        let _ = writeln!(
            text,
            "(assumed): spread of {:.0} % between pairs; firstcheck ab --aa measures it",
            ASSUMED_S_D * 100.0
        );
    }
    text
}

fn requests(forecast: &Forecast) -> String {
    match (forecast.requests, forecast.others_follow) {
        (0, true) => "as many as the streams manage".into(),
        (planned, true) => format!("{planned}, and as many later turns as sessions get to"),
        (planned, false) => planned.to_string(),
    }
}

/// `TTFT p95: margin 10 %, finds 5.3 % with 8 pairs (assumed); needs 200 requests`.
fn line(gate: &GateForecast, forecast: &Forecast) -> String {
    let mut line = format!("{} {}: ", gate.metric.label(), gate.stat);
    if gate.metric == Metric::GoodShare {
        let _ = write!(line, "margin {} points", gate.margin * 100.0);
    } else {
        let found = forecast.pairs.iter().zip(&gate.mde);
        let of = if forecast.runs_a_block == 2 { "pairs" } else { "blocks" };
        let found: Vec<String> = found.map(|(pairs, mde)| format!("{:.1} % with {pairs} {of}", mde * 100.0)).collect();
        let assumed = if gate.calibrated { "" } else { " (assumed)" };
        let _ = write!(line, "margin {} %, finds {}{assumed}", gate.margin * 100.0, found.join(", "));
        if gate.mde.last().is_some_and(|mde| *mde > gate.margin) {
            line.push_str("; the margin is below that: more of them, or a wider margin");
        }
    }
    match gate.needs {
        Some(needs) if forecast.lacks(needs) => {
            let _ = write!(line, "; NOT CLAIMABLE: needs {needs} requests in a window");
        }
        Some(needs) => {
            let _ = write!(line, "; needs {needs} requests in a window");
        }
        None => {}
    }
    line
}
