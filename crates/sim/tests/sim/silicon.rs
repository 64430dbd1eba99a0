//! Whole closed loops against a serving system that was measured, none of whose figures went into the calibration.

use crate::real::artefact;
use firstcheck_model::{run::Arrivals, unit::Seconds};
use firstcheck_sim::{EngineConfig, SimulateOptions, simulate};
use firstcheck_workload::{
    prompt::{Piece, Prompt},
    trace::{Due, Offered, Trace},
};

/// A measured point: prompt and answer length, streams, time per output token.
struct Point {
    input: u32,
    output: u32,
    streams: u32,
    tpot_ms: f64,
}

/// Llama 3.1 8B on one H100, from the table's columns by name.
fn points(table: &str) -> Vec<Point> {
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| names.iter().position(|given| *given == name).unwrap();
    let (model, system, parallel) = (column("model_path"), column("system"), column("tp_size"));
    let (input, output, streams, tpot) =
        (column("isl"), column("osl"), column("batch_size"), column("silicon_tpot_ms"));
    lines
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|cells| cells.len() == names.len())
        .filter(|cells| cells[model].contains("Llama-3.1-8B") && cells[system] == "h100_sxm" && cells[parallel] == "1")
        .map(|cells| Point {
            input: cells[input].parse().unwrap(),
            output: cells[output].parse().unwrap(),
            streams: cells[streams].parse().unwrap(),
            tpot_ms: cells[tpot].parse().unwrap(),
        })
        .collect()
}

/// Mean time per output token of a closed loop whose streams are out of phase: the answers of the first round, which is
/// left out, have lengths from short to full.
fn simulated_tpot_ms(point: &Point) -> f64 {
    let rows = point.streams * 8;
    let first_round = |row: u32| (row < point.streams).then(|| (point.output * (row + 1) / point.streams).max(1));
    let item = |row: u32| Offered {
        due: Due::WhenFree,
        prompt: Prompt::user(vec![Piece::Synthetic { seed: u64::from(row), tokens: point.input }]),
        output_tokens: Some(first_round(row).unwrap_or(point.output)),
        session: None,
    };
    let arrivals = Arrivals::Closed { concurrency: point.streams };
    let trace = Trace { description: "closed".into(), arrivals, items: (0..rows).map(item).collect(), salt: None };
    let config = EngineConfig { max_model_len: 8192, num_gpu_blocks: 40_000, ..EngineConfig::default() };
    let recording = simulate(&config, &trace, &SimulateOptions::new(1, "closed")).unwrap();
    let tpots: Vec<f64> = recording.requests.0[point.streams as usize..rows as usize]
        .iter()
        .filter_map(|request| request.tpot())
        .map(|Seconds(tpot)| tpot * 1e3)
        .collect();
    tpots.iter().sum::<f64>() / tpots.len() as f64
}

#[test]
fn closed_loops_on_an_h100_take_the_time_that_was_measured() {
    let Some(table) = artefact("simulation/silicon_sample.csv") else { return };
    let points = points(&table);
    assert!(points.len() >= 40, "{} points", points.len());
    let errors: Vec<f64> = points.iter().map(|point| simulated_tpot_ms(point) / point.tpot_ms - 1.0).collect();
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / errors.len() as f64;
    let (bias, spread) = (mean(&mut errors.iter().copied()), mean(&mut errors.iter().map(|error| error.abs())));
    eprintln!("{} points: bias {:.1} %, mean absolute error {:.1} %", points.len(), bias * 100.0, spread * 100.0);
    // 5 % too fast: a prompt chunk shares its step's reading of weights with the decodes beside it, perfectly here.
    assert!(bias.abs() < 0.06, "bias {bias}");
    assert!(spread < 0.06, "mean absolute error {spread}");
}
