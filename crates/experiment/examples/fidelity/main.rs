//! How faithful the simulated engine is: fits the step time on one load of a real vLLM on the CPU, predicts others, replays
//! serving benchmarks on GPUs, and writes the tables into a document.
//!
//! `cargo run --release -p firstcheck-experiment --example fidelity -- --cpu FOLDER --gpu FOLDER --write docs/simulator.md`
//!
//! `--cpu`: a folder of bundles `fit-1`, `fit-2` … `low-…`, `high-…`, `small-…`, as `scripts/simulator-fidelity` measures
//! them; where it is given more than once, each load is taken from the first folder that has it. A load other than `fit` may
//! be missing. `--gpu`: a folder of setups with `vllm/requests.jsonl` and errors of other simulators in `sim_to_real`. Either
//! may be left out; its part of the document then stays as it is.

mod cpu;
mod document;
mod gpu;
mod peers;
mod table;

use std::{error::Error, path::PathBuf};

#[derive(Debug, Default)]
struct Asked {
    cpu: Vec<PathBuf>,
    gpu: Option<PathBuf>,
    write: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked = read_arguments(std::env::args().skip(1))?;
    let mut parts = Vec::new();
    if !asked.cpu.is_empty() {
        parts.push(("cpu", cpu::tables(&asked.cpu)?));
    }
    if let Some(folder) = &asked.gpu {
        parts.push(("gpu", gpu::tables(folder)?));
        parts.push(("peers", peers::table(&folder.join("sim_to_real"))?));
    }
    for (name, text) in &parts {
        println!("{text}");
        if let Some(path) = &asked.write {
            document::replace(path, &format!("fidelity:{name}"), text)?;
        }
    }
    Ok(())
}

fn read_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked::default();
    while let Some(name) = arguments.next() {
        let value = arguments.next().map(PathBuf::from).ok_or(format!("{name} needs a path"));
        match name.as_str() {
            "--cpu" => asked.cpu.push(value?),
            "--gpu" => asked.gpu = Some(value?),
            "--write" => asked.write = Some(value?),
            _ => return Err(format!("unknown argument {name}; known: --cpu, --gpu, --write")),
        }
    }
    if asked.cpu.is_empty() && asked.gpu.is_none() {
        return Err("give --cpu FOLDER, --gpu FOLDER or both".into());
    }
    Ok(asked)
}
