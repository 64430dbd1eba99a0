//! What a reading cost.

use firstcheck_ingest::{Input, Limits, collect};
use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
    time::{Duration, Instant},
};

/// Writes whole parts up to about that size.
pub fn write(path: &Path, content: &mut dyn Iterator<Item = String>, megabytes: u64) -> io::Result<()> {
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

/// Reads a file or a folder as `diagnose` does and says what it cost.
pub fn ours(what: &str, path: &Path) -> io::Result<()> {
    let files = match path.is_dir() {
        true => path.read_dir()?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?,
        false => vec![path.to_owned()],
    };
    let mut bytes = 0;
    for file in files.iter().filter(|file| file.is_file()) {
        // What the file system holds is read first, so that the disk is not measured.
        bytes += io::copy(&mut File::open(file)?, &mut io::sink())?;
    }
    let (began, used) = (Instant::now(), cpu_seconds());
    let collected = collect(vec![Input::Path(path.into())], &Limits::default());
    let taken = began.elapsed();
    let rows = collected.read.iter().map(|row| row.rows).sum();
    let unit = collected.read.first().map_or("nothing", |row| if files.len() == 1 { &row.unit } else { "rows" });
    let peak = peak_megabytes().map_or_else(String::new, |peak| format!(", peak {peak} MB"));
    let used = cpu_seconds().zip(used).map(|(after, before)| after - before);
    let used = used.map_or_else(String::new, |used| {
        format!(" ({used:.2} s of CPU, {:.0} MB a CPU second)", bytes as f64 / 1e6 / used)
    });
    println!("firstcheck  {what}: {}{used}{peak}", rate(bytes, rows, unit, taken));
    Ok(())
}

/// So many bytes and rows in such a time.
pub fn rate(bytes: u64, rows: u64, unit: &str, taken: Duration) -> String {
    let (seconds, megabytes) = (taken.as_secs_f64(), bytes as f64 / 1e6);
    let (speed, million) = (megabytes / seconds, rows as f64 / 1e6);
    format!("{megabytes:.0} MB, {million:.1} million {unit} in {seconds:.2} s: {speed:.0} MB/s")
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
