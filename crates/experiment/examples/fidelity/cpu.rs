//! A real vLLM on the CPU: the step time is fitted on one load and predicts the others.

use crate::{
    peers::median,
    table::{ms, percent, table},
};
use firstcheck_bundle::Bundle;
use firstcheck_experiment::fidelity::{Fit, Latencies, Metric, Parameter, Recorded, Replayed, fit, replay};
use firstcheck_model::fingerprint::{Fingerprint, field};
use firstcheck_sim::{EngineConfig, Host, Linear, Noise, Timing};
use std::{
    error::Error,
    path::{Path, PathBuf},
};

/// What is fitted, all of it on the load `fit`.
const PARAMETERS: [Parameter; 6] = [
    Parameter { name: "step, whatever is in it", unit: "ms", start: 3e-3 },
    Parameter { name: "computed token", unit: "ms", start: 5e-5 },
    Parameter { name: "sampled sequence", unit: "ms", start: 3e-4 },
    Parameter { name: "token of context read", unit: "ms", start: 5e-7 },
    Parameter { name: "frontend a request", unit: "ms", start: 5e-3 },
    Parameter { name: "first step after the engine was idle, beyond that", unit: "ms", start: 2e-3 },
];

/// The loads, the fitted one first.
const LOADS: [(&str, &str); 4] = [
    ("fit", "4 requests/s (fitted)"),
    ("low", "2 requests/s"),
    ("high", "6 requests/s"),
    ("small", "4 requests/s, 15 KV blocks"),
];

/// A load's repeats, with the engine as the server described itself.
struct Load {
    title: &'static str,
    repeats: Vec<Recorded>,
    engine: EngineConfig,
}

/// The fitted parameters and the predictions beside the measurements.
///
/// Each load is taken from the first of `folders` that has it; one other than the fitted may be missing.
pub fn tables(folders: &[PathBuf]) -> Result<String, Box<dyn Error>> {
    let mut loads = Vec::new();
    for (name, title) in LOADS {
        match folders.iter().find(|folder| Bundle::is_bundle(&folder.join(format!("{name}-1")))) {
            Some(folder) => loads.push(read(folder, name, title)?),
            None => eprintln!("{title}: not measured, no bundle {name}-1"),
        }
    }
    let Some(fitted) = loads.first().filter(|load| load.title == LOADS[0].1) else {
        return Err("no bundle fit-1: nothing to fit the step time on; give a folder that has it as well".into());
    };
    let fitted_on: Vec<_> = fitted.repeats.iter().map(|run| (run, 0..run.requests.len())).collect();
    let Fit { values, loss, evaluations } =
        fit(&fitted_on, &PARAMETERS, |run, values| replay(run, &engine(&fitted.engine, values), 0))?;
    let parameters = PARAMETERS.iter().zip(&values);
    let rows: Vec<_> = parameters
        .map(|(known, value)| vec![known.name.into(), format!("{:.5} {}", value * 1e3, known.unit)])
        .collect();
    let mut text = table(&["fitted on 4 requests/s", "value"], &rows);
    text.push_str(&format!("\nMean |ln predicted/measured| of single requests {loss:.3}, {evaluations} replays.\n\n"));
    let mut rows = Vec::new();
    for load in &loads {
        let config = engine(&load.engine, &values);
        let replays: Result<Vec<Replayed>, _> = load.repeats.iter().map(|run| replay(run, &config, 0)).collect();
        rows.extend(load.rows(&replays?));
    }
    text.push_str(&table(
        &["load", "figure", "repeats", "median", "predicted", "off the median", "off the mean", "goal"],
        &rows,
    ));
    Ok(text)
}

fn engine(served: &EngineConfig, values: &[f64]) -> EngineConfig {
    let timing = Timing::Linear(Linear {
        base: values[0],
        per_token: values[1],
        per_sequence: values[2],
        per_kv_token: values[3],
    });
    let host = Host { wake_seconds: values[5], ..Host::default() };
    EngineConfig { timing, frontend_seconds: values[4], host_seconds: 0.0, host, noise: Noise::NONE, ..served.clone() }
}

fn read(folder: &Path, name: &str, title: &'static str) -> Result<Load, Box<dyn Error>> {
    let mut repeats = Vec::new();
    let mut described = None;
    for repeat in 1.. {
        let path = folder.join(format!("{name}-{repeat}"));
        if !Bundle::is_bundle(&path) {
            break;
        }
        let run = Recorded::from_bundle(&path)?;
        if run.unanswered > 0 {
            eprintln!("{}: {} requests were not answered in full and are not compared", path.display(), run.unanswered);
        }
        repeats.push(run);
        described = Some(Bundle::open(&path)?.info().fingerprint.clone());
    }
    let fingerprint = described.ok_or_else(|| format!("{}: no bundle {name}-1", folder.display()))?;
    Ok(Load { title, repeats, engine: described_engine(&fingerprint)? })
}

/// The engine as the server described itself; the flags that it does not tell are those of `scripts/simulator-fidelity`.
fn described_engine(fingerprint: &Fingerprint) -> Result<EngineConfig, Box<dyn Error>> {
    let number = |name: &str| -> Result<u32, Box<dyn Error>> {
        let value = fingerprint.get(name).ok_or(format!("the server did not tell its {name}"))?;
        Ok(value.parse()?)
    };
    Ok(EngineConfig {
        num_gpu_blocks: number(field::KV_BLOCKS)?,
        block_size: number(field::KV_BLOCK_SIZE)?,
        max_model_len: number(field::MAX_MODEL_LEN)?,
        max_num_seqs: 32,
        max_num_batched_tokens: 2048,
        // vLLM turns it off on the CPU.
        async_scheduling: false,
        ..EngineConfig::default()
    })
}

impl Load {
    fn rows(&self, replays: &[Replayed]) -> Vec<Vec<String>> {
        type Figure = (&'static str, Metric, Option<f64>);
        let figures: [Figure; 6] = [
            ("TTFT p50, ms", Metric::Ttft, Some(0.5)),
            ("TTFT mean, ms", Metric::Ttft, None),
            ("TTFT p90, ms", Metric::Ttft, Some(0.9)),
            ("TPOT p50, ms", Metric::Tpot, Some(0.5)),
            ("TPOT mean, ms", Metric::Tpot, None),
            ("TPOT p90, ms", Metric::Tpot, Some(0.9)),
        ];
        let mut rows = Vec::new();
        for (name, metric, quantile) in figures {
            let of = |latencies: &Latencies| match quantile {
                Some(p) => latencies.quantile(metric, p),
                None => latencies.mean(metric),
            };
            let measured: Vec<f64> = self.repeats.iter().filter_map(|run| of(&run.latencies())).collect();
            let predicted: Vec<f64> = replays.iter().filter_map(|replay| of(&replay.latencies)).collect();
            let bound = (quantile == Some(0.5)).then_some(0.10);
            rows.push(self.row(name, &measured, &predicted, bound, ms));
        }
        let measured: Vec<f64> = self.repeats.iter().filter_map(|run| run.preemptions).collect();
        let predicted: Vec<f64> = replays.iter().map(|replay| replay.preemptions as f64).collect();
        rows.push(self.row("preemptions", &measured, &predicted, Some(0.25), |value| format!("{value:.1}")));
        rows
    }

    /// The goal is met within `bound` of the median of the repeats, and also anywhere from the least of them to the
    /// greatest. The median, since three repeats have one that was disturbed more often than two.
    fn row(
        &self,
        name: &str,
        measured: &[f64],
        predicted: &[f64],
        bound: Option<f64>,
        shown: impl Fn(f64) -> String,
    ) -> Vec<String> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (low, high) = measured
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
        let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
        let (real, sim) = (middle(measured), middle(predicted));
        let off = |real: f64, sim: f64| if real == sim { 0.0 } else { sim / real - 1.0 };
        let error = off(real, sim);
        let verdict = match bound {
            None => "",
            Some(bound) if error.abs() <= bound => "met",
            Some(_) if (low..=high).contains(&sim) => "within the repeats",
            Some(_) => "missed",
        };
        let repeats = measured.iter().map(|value| shown(*value)).collect::<Vec<_>>().join(", ");
        let beside = percent(off(mean(measured), mean(predicted)));
        let cells = [self.title, name, &repeats, &shown(real), &shown(sim), &percent(error), &beside, verdict];
        cells.into_iter().map(str::to_owned).collect()
    }
}
