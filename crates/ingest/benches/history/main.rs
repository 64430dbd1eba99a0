//! How fast a metrics history is read, and in how much memory; beside it, where they are installed, Python's
//! `prometheus_client` on the same pages and `promtool` on the same samples in its own order.
//!
//! `cargo bench -p firstcheck-ingest --bench history [-- MEGABYTES]`

mod content;

use content::{Backfill, Pages};
use firstcheck_ingest::{Input, Limits, collect};
use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

const PYTHON: &str = r"
import sys, time
from prometheus_client.parser import text_string_to_metric_families as parse
text = open(sys.argv[1]).read()
began, samples = time.time(), 0
for page in text.split('# EOF\n'):
    for family in parse(page):
        samples += len(family.samples)
print(time.time() - began, samples)
";

fn main() -> io::Result<()> {
    let megabytes = std::env::args().filter_map(|word| word.parse::<u64>().ok()).next().unwrap_or(1000);
    let folder = tempfile::tempdir()?;
    let pages = folder.path().join("pages.txt");
    write(&pages, &mut Pages::new(), megabytes)?;
    for _ in 0..3 {
        ours("a history of pages", &pages)?;
    }
    let part = folder.path().join("part.txt");
    write(&part, &mut Pages::new(), 20)?;
    python(&part)?;
    let backfill = folder.path().join("backfill.txt");
    write(&backfill, &mut Backfill::new(megabytes / 5), u64::MAX)?;
    for _ in 0..3 {
        ours("samples with times, series by series", &backfill)?;
    }
    promtool(&backfill, folder.path())
}

/// Writes whole pages up to about that size.
fn write(path: &Path, content: &mut dyn Iterator<Item = String>, megabytes: u64) -> io::Result<()> {
    let (mut file, mut bytes) = (io::BufWriter::new(File::create(path)?), 0);
    for part in content {
        file.write_all(part.as_bytes())?;
        bytes += part.len() as u64;
        if bytes / 1_000_000 >= megabytes {
            break;
        }
    }
    file.flush()
}

fn ours(what: &str, path: &Path) -> io::Result<()> {
    let bytes = path.metadata()?.len();
    // What the file system holds is read first, so that the disk is not measured.
    io::copy(&mut File::open(path)?, &mut io::sink())?;
    let (began, used) = (Instant::now(), cpu_seconds());
    let collected = collect(vec![Input::Path(path.into())], &Limits::default());
    let taken = began.elapsed();
    let samples = collected.read.first().map_or(0, |row| row.rows);
    let peak = peak_megabytes().map_or_else(String::new, |peak| format!(", peak {peak} MB"));
    let used = cpu_seconds().zip(used).map(|(after, before)| after - before);
    let used = used.map_or_else(String::new, |used| format!(" ({used:.2} s of CPU)"));
    println!("firstcheck  {what}: {}{used}{peak}", rate(bytes, samples, taken));
    Ok(())
}

fn rate(bytes: u64, samples: u64, taken: Duration) -> String {
    let (seconds, megabytes) = (taken.as_secs_f64(), bytes as f64 / 1e6);
    let (speed, million) = (megabytes / seconds, samples as f64 / 1e6);
    format!("{megabytes:.0} MB, {million:.1} million samples in {seconds:.2} s: {speed:.0} MB/s")
}

/// User and system time of this process, where the system says so in hundredths of a second.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// The most memory that this process ever had, where the system says so.
fn peak_megabytes() -> Option<u64> {
    let mut status = String::new();
    File::open("/proc/self/status").ok()?.read_to_string(&mut status).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()? / 1000)
}

fn python(path: &PathBuf) -> io::Result<()> {
    let bytes = path.metadata()?.len();
    let Ok(output) = Command::new("python3").arg("-c").arg(PYTHON).arg(path).output() else {
        println!("python3 is not installed");
        return Ok(());
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match said.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [seconds, samples] => {
            let taken = Duration::from_secs_f64(seconds.parse().unwrap_or(f64::MAX));
            println!("python      the first of those pages: {}", rate(bytes, samples.parse().unwrap_or(0), taken));
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
            println!("promtool    reads those twice and writes blocks: {}", rate(bytes, 0, began.elapsed()));
        }
        Ok(output) => println!("promtool: {}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => println!("promtool is not installed"),
    }
    Ok(())
}
