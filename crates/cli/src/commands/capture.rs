//! `firstcheck capture`: the black box before a rollback.

use super::{fingerprint, free_path};
use crate::{app::Context, args::CaptureArgs, output::Output};
use anyhow::{Context as _, bail};
use firstcheck_model::{
    TOOL,
    exit_code::exit_code,
    report::{ReadRow, Report, Unread},
};
use firstcheck_observe::capture::{Captured, Limits, Plan, Series, capture, write_archive};
use firstcheck_report::number;
use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    time::Duration,
};

/// Longest time between two readings: all of it should be done within a minute.
const LONGEST_GAP: Duration = Duration::from_secs(30);

/// Captures and reports.
///
/// # Errors
/// An archive that cannot be written, headers that cannot be sent, an environment variable that holds no key.
pub fn run(args: CaptureArgs, context: &Context) -> anyhow::Result<u8> {
    if args.gap > LONGEST_GAP {
        bail!("--gap is longer than {} s: a capture should be done within a minute", LONGEST_GAP.as_secs());
    }
    let output = Output::open(&args.output, &args.log, context.terminal)?;
    let mut headers = fingerprint::headers(args.key_env.as_deref())?;
    for (name, value) in &args.header {
        headers = headers.add(name, value)?;
    }
    let archive = Archive::create(args.out)?;
    let limits = Limits { gap: args.gap, ..Limits::default() };
    let series = match args.prometheus {
        Some(base) => {
            let headers = fingerprint::headers(args.prometheus_key_env.as_deref())?;
            Some(Series { base, headers, select: args.select, since: args.since })
        }
        None => None,
    };
    let plan = Plan { base: args.url, headers, extra_ca: args.ca, series, logs: args.log, pids: args.pid, limits };
    let spinner = context.progress.spinner();
    spinner.set_message("taking what can be got");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let captured = runtime.block_on(capture(&plan, TOOL));
    // A file system that hangs must not hold up what was got.
    runtime.shutdown_background();
    spinner.finish_and_clear();
    let path = archive.write(&captured)?;
    let report = report(&captured, &path);
    let code = exit_code(&report, None);
    output.write(&report)?;
    Ok(code)
}

/// An archive on its way: under another name until it is whole.
struct Archive {
    path: PathBuf,
    part: PathBuf,
    file: File,
}

impl Archive {
    fn create(out: Option<PathBuf>) -> anyhow::Result<Self> {
        let path = match out {
            Some(path) if path.exists() => bail!("{} is there already: name another file with --out", path.display()),
            Some(path) => path,
            None => free_path(Path::new(""), "firstcheck-capture", ".tar.zst")?,
        };
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = OpenOptions::new().write(true).create_new(true).open(&part);
        let file = file.with_context(|| format!("cannot create {}", part.display()))?;
        Ok(Self { path, part, file })
    }

    fn write(self, captured: &Captured) -> anyhow::Result<PathBuf> {
        let written = write_archive(captured, &self.file)
            .map_err(anyhow::Error::from)
            .and_then(|()| self.file.sync_all().context("cannot sync it"))
            .and_then(|()| fs::rename(&self.part, &self.path).context("cannot rename it"));
        if let Err(error) = written {
            // What cannot be removed has a name that says what it is.
            let _ = fs::remove_file(&self.part);
            return Err(error.context(format!("cannot write {}", self.path.display())));
        }
        Ok(self.path)
    }
}

fn report(captured: &Captured, archive: &Path) -> Report {
    let manifest = &captured.manifest;
    let mut report = Report::new("capture", TOOL);
    let gaps = manifest.gaps().count() as u64;
    let bytes: u64 = manifest.items.iter().map(|item| item.bytes).sum();
    let lacks =
        if gaps == 0 { "nothing is missing".into() } else { format!("{} listed as missing", number::count(gaps)) };
    report.why.push(format!(
        "{}: {} files of {} bytes in {:.1} s, {lacks}",
        archive.display(),
        number::count(captured.files.len() as u64),
        number::count(bytes),
        manifest.to_unix_s - manifest.from_unix_s,
    ));
    if !manifest.has_files() {
        report.invalid.push("nothing could be captured".into());
    }
    for item in manifest.items.iter().filter(|item| !item.files.is_empty()) {
        report.read.push(row(&item.files.join(", "), &item.name, item.bytes));
    }
    let gap = |(item, why): (&str, &str)| Unread { path: item.into(), line: None, reason: why.into() };
    report.unread = manifest.gaps().map(gap).collect();
    report.notes.push(format!("firstcheck diagnose {}", archive.display()));
    report
}

fn row(files: &str, item: &str, bytes: u64) -> ReadRow {
    ReadRow {
        path: files.into(),
        format: "captured".into(),
        what: item.into(),
        rows: bytes,
        unit: "bytes".into(),
        from_unix_s: None,
        to_unix_s: None,
        length_s: None,
        engine: None,
        version: None,
        replicas: Vec::new(),
        notes: Vec::new(),
    }
}
