//! At which rate the objective breaks, shared by the renderings.

use crate::{
    layout::{Align, Table},
    number,
};
use firstcheck_model::{
    report::Quantity,
    sweep::{Curve, LevelRow, Sweep},
};

/// One line a curve.
pub(crate) fn summary(sweep: &Sweep) -> Table {
    let mut table = Table::new(&[
        ("lengths spread by", Align::Right),
        ("breaks at", Align::Right),
        ("interval", Align::Right),
        ("knee", Align::Right),
        ("no queue grows to", Align::Right),
        ("GPU-hours a good request", Align::Right),
        ("cost a good request", Align::Right),
        ("runs", Align::Right),
    ]);
    for curve in &sweep.curves {
        let breaks = curve.breaks.as_ref();
        let rate = |rate: f64| number::value(rate, "requests/s");
        table.row(vec![
            curve.length_cv.map_or(String::new(), number::share),
            breaks.map_or(number::MISSING.into(), |breaks| rate(breaks.rate)),
            breaks.and_then(|b| b.interval).map_or(String::new(), |[low, high]| {
                format!("{} … {}", number::value(low, ""), number::value(high, ""))
            }),
            curve.knee.map_or(number::MISSING.into(), rate),
            curve.steady.map_or(number::MISSING.into(), rate),
            breaks.and_then(|b| b.gpu_hours_per_good).map_or(String::new(), |hours| number::value(hours, "")),
            breaks.and_then(|b| b.cost_per_good).map_or(String::new(), |cost| number::value(cost, "")),
            number::count(curve.levels.len() as u64),
        ]);
    }
    table
}

/// The runs of each curve, by their rate.
pub(crate) fn levels(sweep: &Sweep) -> Vec<(String, Table)> {
    let title = |curve: &Curve| match curve.length_cv {
        Some(cv) => format!("Runs, lengths that spread by {}", number::share(cv)),
        None => "Runs".into(),
    };
    sweep.curves.iter().map(|curve| (title(curve), of_curve(curve))).collect()
}

fn of_curve(curve: &Curve) -> Table {
    let mut table = Table::new(&[
        ("offered", Align::Right),
        ("requests", Align::Right),
        ("good", Align::Right),
        ("goodput", Align::Right),
        ("TTFT p95", Align::Right),
        ("TPOT p50", Align::Right),
        ("GPU-hours a good one", Align::Right),
        ("queue", Align::Left),
        ("", Align::Left),
    ]);
    let mut levels: Vec<&LevelRow> = curve.levels.iter().collect();
    levels.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    for level in levels {
        let queue = level.queue_grew.map_or(number::MISSING, |grew| if grew { "grows" } else { "steady" });
        let hours = match level.gpu_hours_per_good {
            Some(Quantity::Finite(hours)) => number::value(hours, ""),
            Some(Quantity::Unbounded) => "∞".into(),
            None => String::new(),
        };
        table.row(vec![
            number::value(level.rate, "requests/s"),
            number::count(level.offered),
            level.good_share.map_or(number::MISSING.into(), number::share),
            level.goodput.map_or(number::MISSING.into(), |goodput| number::value(goodput, "requests/s")),
            number::quantity(level.ttft_p95, "s"),
            number::quantity(level.tpot_p50, "s"),
            hours,
            queue.into(),
            level.invalid.first().map_or(String::new(), |why| format!("left out: {why}")),
        ]);
    }
    table
}
