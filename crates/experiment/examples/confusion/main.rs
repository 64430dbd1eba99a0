//! Every fault of the simulator against every check. Writes the tables into a document.
//!
//! `cargo run --release -p firstcheck-experiment --example confusion -- --seeds 10 --write docs/diagnosis.md`
//!
//! `--faults S07,host-pauses`: those of these symptoms, or of these names; `all`: also of symptoms without a check.
//! `--checks S07,S09`: what other checks say is left out. `--severities mild,moderate,severe`. `--loads roomy,full`.
//! `--seeds N`. `--engine vllm|sglang`. `--against healthy|nothing|onset`: the healthy run of the scene, no base, or the
//! same run before the fault begins in its middle. `--random-parameters SEED`: parameters drawn instead of the declared
//! ones. `--threads N`. `--quiet`: no line for a run that went wrong. `--every-run`: a line for those that went
//! right as well. `--facts`: below such a line, what the fault's own check and the false ones rest on. `--write PATH`:
//! replaces the tables there.

mod arguments;
#[path = "../fidelity/document.rs"]
mod document;
mod table;

use arguments::Asked;
use firstcheck_experiment::confusion::{Judged, groups, rows};
use std::{
    error::Error,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

fn main() -> Result<(), Box<dyn Error>> {
    let asked = Asked::read(std::env::args().skip(1))?;
    println!("{}", table::floors(&asked.faults));
    let mut judged = play(&asked)?;
    judged.sort_by_key(|run| run.seed);
    let (rows, calm) = rows(&judged);
    let parts =
        [("faults", table::faults(&rows)), ("checks", table::checks(&rows)), ("healthy", table::healthy(&calm))];
    for (name, text) in &parts {
        println!("{text}");
        if let Some(path) = &asked.write {
            let set = if asked.is_random() { "random" } else { "declared" };
            document::replace(path, &format!("confusion:{name}:{set}"), text)?;
        }
    }
    if let Some(path) = &asked.write {
        document::replace(path, "confusion:floors", &table::floors(&asked.faults))?;
    }
    Ok(())
}

/// All groups, on several cores.
fn play(asked: &Asked) -> Result<Vec<Judged>, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (stage, groups) = (asked.stage(folder.path()), groups(&asked.faults, &asked.loads, asked.seeds));
    let tell = |run: &Judged| {
        if !asked.quiet && (asked.every_run || !only(asked, run).is_right()) {
            let run = only(asked, run);
            let facts = if asked.facts { table::facts(&run) } else { String::new() };
            eprintln!("{}{facts}", table::line(&run));
        }
    };
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<Judged>, Box<firstcheck_experiment::Error>> {
        let mut done = Vec::new();
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            let played = group.play(&stage, &asked.severities, asked.dose, &tell).map_err(Box::new)?;
            done.extend(played.iter().map(|run| only(asked, run)));
        }
        Ok(done)
    };
    let all = thread::scope(|scope| {
        let threads: Vec<_> = (0..asked.threads.max(1)).map(|_| scope.spawn(work)).collect();
        let results = threads.into_iter().map(|thread| thread.join().map_err(|_| "a worker failed".to_owned()));
        results.collect::<Result<Vec<_>, _>>()
    })?;
    Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

/// The run with what the checks said that were asked for.
fn only(asked: &Asked, run: &Judged) -> Judged {
    let mut run = run.clone();
    run.said.retain(|(said, _)| asked.checks.is_empty() || asked.checks.contains(&said.code));
    run
}
