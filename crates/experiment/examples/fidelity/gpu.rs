//! Serving benchmarks on GPUs, replayed.

use crate::{
    peers::median,
    table::{percent, size, table},
};
use firstcheck_experiment::fidelity::{
    Fit, Latencies, Metric, Parameter, Recorded, Replayed, fit, median_error, replay_ranks, setup::Setup,
};
use firstcheck_sim::{EngineConfig, Noise, Roofline, Timing};
use std::{error::Error, ops::Range, path::Path};

/// The setups, each with the workload that was offered where it is there.
const SETUPS: [(&str, Option<&str>); 3] = [
    ("vllm-0.19-rtx4090-llama3.1-8b", Some("sharegpt-llama-3.1-8b-300-sps10.jsonl")),
    ("vllm-0.19-rtxpro6000-llama3.1-8b", Some("sharegpt-llama-3.1-8b-300-sps10.jsonl")),
    ("vllm-0.19-rtxpro6000-qwen3-30b-a3b", None),
];

/// Requests, in order of arrival, on which a setup's efficiencies are fitted; the others test them.
const FITTED: Range<usize> = 0..100;

/// A setup's replay under one model of its step time.
struct Outcome<'a> {
    setup: &'a Setup,
    model: &'static str,
    rows: Range<usize>,
    replayed: Replayed,
}

/// Errors of each setup: step times from the datasheet, then with efficiencies fitted on its first requests.
pub fn tables(folder: &Path) -> Result<String, Box<dyn Error>> {
    let (mut setups, mut outcomes, mut fits) = (Vec::new(), Vec::new(), Vec::new());
    for (name, workload) in SETUPS {
        let workload = workload.map(|file| folder.join(file));
        setups.push(Setup::read(&folder.join(name), workload.as_deref())?);
    }
    for setup in &setups {
        let all = 0..setup.recorded.requests.len();
        let sheet = setup.preset.datasheet().ok_or("a setup on a calibrated GPU needs no datasheet")?;
        let mut add = |model, roofline, rows| -> Result<(), Box<dyn Error>> {
            let replayed = run(&setup.recorded, setup, roofline)?;
            outcomes.push(Outcome { setup, model, rows, replayed });
            Ok(())
        };
        add("datasheet", sheet, all.clone())?;
        let fitted = fit_efficiencies(setup, sheet)?;
        add("fitted", fitted, FITTED.end..all.end)?;
        fits.push(fit_row(setup, sheet, fitted));
    }
    let header = ["setup", "step time", "requests", "", "median request", "mean", "p50", "p90", "p99", "as peers"];
    let rows: Vec<_> = outcomes.iter().flat_map(|outcome| Metric::ALL.map(|metric| outcome.row(metric))).collect();
    let header_of_fits = ["setup", "F, TFLOP/s", "B, TB/s", "a layer, µs"];
    Ok(format!("{}\n{}", table(&header, &rows), table(&header_of_fits, &fits)))
}

fn run(recorded: &Recorded, setup: &Setup, roofline: Roofline) -> Result<Replayed, Box<dyn Error>> {
    let engine = EngineConfig { timing: Timing::Roofline(roofline), noise: Noise::NONE, ..setup.engine.clone() };
    Ok(replay_ranks(recorded, &engine, setup.ranks, 0)?)
}

/// Three efficiencies: matrix arithmetic (attention with it), bandwidth (of the KV cache with it), and what a layer costs
/// whatever is in it.
fn fit_efficiencies(setup: &Setup, sheet: Roofline) -> Result<Roofline, Box<dyn Error>> {
    let parameters = [
        Parameter { name: "F", unit: "FLOP/s", start: sheet.flops },
        Parameter { name: "B", unit: "bytes/s", start: sheet.bandwidth },
        Parameter { name: "a layer", unit: "s", start: sheet.per_layer },
    ];
    let with = |values: &[f64]| Roofline {
        flops: values[0],
        attention_flops: sheet.attention_flops * values[0] / sheet.flops,
        bandwidth: values[1],
        kv_bandwidth: sheet.kv_bandwidth * values[1] / sheet.bandwidth,
        per_layer: values[2],
        ..sheet
    };
    let Fit { values, .. } = fit(&[(&setup.recorded, FITTED)], &parameters, |recorded, values| {
        let engine =
            EngineConfig { timing: Timing::Roofline(with(values)), noise: Noise::NONE, ..setup.engine.clone() };
        replay_ranks(recorded, &engine, setup.ranks, 0)
    })?;
    Ok(with(&values))
}

fn fit_row(setup: &Setup, sheet: Roofline, fitted: Roofline) -> Vec<String> {
    let pair = |sheet: f64, fitted: f64, digits: usize| format!("{sheet:.digits$} → {fitted:.digits$}");
    vec![
        setup.recorded.name.clone(),
        pair(sheet.flops * 1e-12, fitted.flops * 1e-12, 0),
        pair(sheet.bandwidth * 1e-12, fitted.bandwidth * 1e-12, 2),
        pair(sheet.per_layer * 1e6, fitted.per_layer * 1e6, 0),
    ]
}

impl Outcome<'_> {
    fn row(&self, metric: Metric) -> Vec<String> {
        let predicted = self.replayed.latencies.rows(self.rows.clone());
        let measured = self.setup.recorded.latencies().rows(self.rows.clone());
        let off = |figure: &dyn Fn(&Latencies) -> Option<f64>| Some(figure(&predicted)? / figure(&measured)? - 1.0);
        let mean = off(&|latencies| latencies.mean(metric));
        let quantile = |p: f64| off(&|latencies| latencies.quantile(metric, p));
        let figures = [mean, quantile(0.5), quantile(0.9), quantile(0.99)];
        let as_peers: Vec<f64> = [figures[0], figures[2], figures[3]].into_iter().flatten().map(f64::abs).collect();
        let or_none = |cell: Option<String>| cell.unwrap_or_else(|| "–".into());
        let mut cells = vec![self.setup.recorded.name.clone(), self.model.into(), measured.count(metric).to_string()];
        cells.push(metric.name().into());
        cells.push(or_none(median_error(&predicted, &measured, metric).map(size)));
        cells.extend(figures.into_iter().map(|figure| or_none(figure.map(percent))));
        cells.push(or_none(median(&as_peers).map(size)));
        cells
    }
}
