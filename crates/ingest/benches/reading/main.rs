//! How fast a metrics history and an engine's log are read, and in how much memory; beside each, where they are installed,
//! Python on the same bytes (`prometheus_client` on pages, a plain loop on the log) and `promtool` on the same samples in
//! its own order.
//!
//! `cargo bench -p firstcheck-ingest --bench reading [-- history|log|folder] [MEGABYTES]`, or `-- FILE` to read a file or a
//! folder of one's own. `folder` reads what an incident leaves, all of it in one folder; `keep=FOLDER` writes it there.

mod incident;
mod log;
mod measured;
mod pages;

use log::Log;
use measured::{ours, rate, write};
use pages::{Backfill, Pages};
use std::{
    io,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

const PARSE_PAGES: &str = r"
import sys, time
from prometheus_client.parser import text_string_to_metric_families as parse
text = open(sys.argv[1]).read()
began, samples = time.time(), 0
for page in text.split('# EOF\n'):
    for family in parse(page):
        samples += len(family.samples)
print(time.time() - began, samples)
";

/// What a script of a few lines does: level and message of each line, and the figures of statistics lines.
const PARSE_LOG: &str = r"
import re, sys, time
entry = re.compile(r'(?:\((\S+) pid=\d+\) )?(INFO|WARNING|ERROR) (\d\d-\d\d \d\d:\d\d:\d\d) \[([^\]]+)\] (.*)')
field = re.compile(r'([A-Z][A-Za-z ]+): ([0-9.]+)')
began, lines, figures = time.time(), 0, []
for line in open(sys.argv[1]):
    lines += 1
    found = entry.match(line)
    if found and 'Avg prompt throughput' in found[5]:
        figures.append({name: float(value) for name, value in field.findall(found[5])})
print(time.time() - began, lines)
";

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(file) = words.iter().map(Path::new).find(|word| word.exists()) {
        return ours("what was given", file);
    }
    let megabytes = words.iter().filter_map(|word| word.parse::<u64>().ok()).next().unwrap_or(1000);
    match words.iter().find(|word| matches!(word.as_str(), "history" | "log" | "folder")).map(String::as_str) {
        Some("history") => history(megabytes),
        Some("folder") => incident_folder(megabytes, words.iter().find_map(|word| word.strip_prefix("keep="))),
        Some(_) => engine_log(megabytes),
        // Each in a process of its own: the most memory of a process does not go down again.
        None => ["history", "log", "folder"].iter().try_for_each(|what| {
            Command::new(std::env::current_exe()?).args([what, megabytes.to_string().as_str()]).status().map(drop)
        }),
    }
}

fn history(megabytes: u64) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let pages = folder.path().join("pages.txt");
    write(&pages, &mut Pages::new(), megabytes)?;
    for _ in 0..3 {
        ours("a history of pages", &pages)?;
    }
    let part = folder.path().join("part.txt");
    write(&part, &mut Pages::new(), 20)?;
    python("the first of those pages", PARSE_PAGES, &part, "samples")?;
    let backfill = folder.path().join("backfill.txt");
    write(&backfill, &mut Backfill::new(megabytes / 5), u64::MAX)?;
    for _ in 0..3 {
        ours("samples with times, series by series", &backfill)?;
    }
    promtool(&backfill, folder.path())
}

fn engine_log(megabytes: u64) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("server.log");
    write(&log, &mut Log::new(), megabytes)?;
    for _ in 0..3 {
        ours("an engine's log", &log)?;
    }
    let collected = folder.path().join("collected.log");
    write(&collected, &mut Log::collected(), megabytes / 5)?;
    for _ in 0..3 {
        ours("such a log behind the times of a collector", &collected)?;
    }
    python("the same log", PARSE_LOG, &log, "lines")
}

fn incident_folder(megabytes: u64, keep: Option<&str>) -> io::Result<()> {
    if let Some(kept) = keep {
        std::fs::create_dir_all(kept)?;
        return incident::incident(Path::new(kept), megabytes);
    }
    let folder = tempfile::tempdir()?;
    incident::incident(folder.path(), megabytes)?;
    for _ in 0..3 {
        ours("what an incident leaves in a folder", folder.path())?;
    }
    Ok(())
}

fn python(what: &str, program: &str, path: &Path, unit: &str) -> io::Result<()> {
    let bytes = path.metadata()?.len();
    let Ok(output) = Command::new("python3").arg("-c").arg(program).arg(path).output() else {
        println!("python3 is not installed");
        return Ok(());
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match said.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [seconds, rows] => {
            let taken = Duration::from_secs_f64(seconds.parse().unwrap_or(f64::MAX));
            println!("python      {what}: {}", rate(bytes, rows.parse().unwrap_or(0), unit, taken));
        }
        _ => println!("python3 has no prometheus_client"),
    }
    Ok(())
}

fn promtool(path: &Path, folder: &Path) -> io::Result<()> {
    let bytes = path.metadata()?.len();
    let began = Instant::now();
    let done = Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics", "--quiet"])
        .args([path, &folder.join("blocks")])
        .output();
    match done {
        Ok(output) if output.status.success() => {
            println!("promtool    reads those twice and writes blocks: {}", rate(bytes, 0, "samples", began.elapsed()));
        }
        Ok(output) => println!("promtool: {}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => println!("promtool is not installed"),
    }
    Ok(())
}
