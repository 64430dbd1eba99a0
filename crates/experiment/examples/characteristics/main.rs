//! How often the gate errs on the simulated engine, where the truth is known, and what other ways to compare would have
//! said of the same runs. Writes the tables into a document.
//!
//! `cargo run --release -p firstcheck-experiment --example characteristics -- --experiments 2000 --write docs/statistics.md`
//!
//! `--experiments N`: experiments a regime and effect. `--traces N`: traces a regime, which share the experiments.
//! `--seed S`. `--regime TEXT`: only those whose name holds the text (its tables are printed, not written).
//! `--sessions fresh`: each experiment has a drift of its own instead of its trace's. `--write PATH`.

#[path = "../fidelity/document.rs"]
mod document;
mod table;

use firstcheck_experiment::characteristics::{Experiment, Judgement, Options, Regime, Sessions, Tally};
use std::{
    error::Error,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// Pairs of an experiment.
const PAIRS: u32 = 8;
/// Traces a regime, each with a session of its own: so many that no figure hangs on a few of them.
const TRACES: u64 = 16;
/// What the candidate's steps take longer where there is an effect.
const SLOWER: f64 = 0.05;

#[derive(Debug)]
struct Asked {
    experiments: u64,
    traces: u64,
    seed: u64,
    regime: Option<String>,
    sessions: Sessions,
    write: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked = read_arguments(std::env::args().skip(1))?;
    let mut measured = Vec::new();
    for regime in Regime::all() {
        if asked.regime.as_ref().is_some_and(|text| !regime.name.contains(text.as_str())) {
            continue;
        }
        for slower in [0.0, SLOWER] {
            let options =
                Options { pairs: PAIRS, traces: asked.traces, sessions: asked.sessions, slower, seed: asked.seed };
            let experiment = Experiment::new(&regime, options)?;
            let count = asked.experiments;
            eprintln!("{}: {count} experiments, {:.1} req/s, steps {slower} slower", regime.name, experiment.rate());
            measured.push((regime.clone(), slower, Tally::of(&judge(&experiment, count)?)));
        }
        // As far as it is: what an interruption has left is whole.
        for (name, text) in parts(&measured) {
            if let (Some(path), None) = (&asked.write, &asked.regime) {
                document::replace(path, &format!("characteristics:{name}"), &text)?;
            }
        }
        println!("{}", table::effects(&measured[measured.len() - 2..]));
    }
    for (_, text) in parts(&measured) {
        println!("{text}");
    }
    Ok(())
}

/// The tables with their names in the document.
fn parts(measured: &[(Regime, f64, Tally)]) -> [(&'static str, String); 3] {
    [("gate", table::verdicts(measured)), ("intervals", table::effects(measured)), ("rivals", table::rivals(measured))]
}

/// The experiments `0..count`, on all cores.
fn judge(experiment: &Experiment<'_>, count: u64) -> Result<Vec<Judgement>, Box<dyn Error>> {
    let next = AtomicU64::new(0);
    let work = || -> Result<Vec<(u64, Judgement)>, Box<firstcheck_experiment::Error>> {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(done);
            }
            done.push((number, experiment.run(number).map_err(Box::new)?));
        }
    };
    let workers = thread::available_parallelism()?.get();
    let mut all = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let results = threads.into_iter().map(|thread| thread.join().map_err(|_| "a worker failed".to_owned()));
        results.collect::<Result<Vec<_>, _>>()
    })?
    .into_iter()
    .collect::<Result<Vec<_>, _>>()?
    .concat();
    all.sort_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, judgement)| judgement).collect())
}

fn read_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Asked, Box<dyn Error>> {
    let mut asked =
        Asked { experiments: 200, traces: TRACES, seed: 1, regime: None, sessions: Sessions::OfTrace, write: None };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        match name.as_str() {
            "--experiments" => asked.experiments = value.parse()?,
            "--traces" => asked.traces = value.parse()?,
            "--seed" => asked.seed = value.parse()?,
            "--regime" => asked.regime = Some(value),
            "--sessions" if value == "trace" => asked.sessions = Sessions::OfTrace,
            "--sessions" if value == "fresh" => asked.sessions = Sessions::Fresh,
            "--sessions" => return Err(format!("--sessions is trace or fresh, not {value}").into()),
            "--write" => asked.write = Some(value.into()),
            _ => {
                return Err(format!(
                    "unknown argument {name}; known: --experiments, --traces, --seed, --regime, --sessions, --write"
                )
                .into());
            }
        }
    }
    Ok(asked)
}
