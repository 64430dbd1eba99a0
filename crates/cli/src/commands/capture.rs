//! `firstcheck capture`: the black box before a rollback.

use super::{fingerprint, free_path, run::interrupt};
use crate::{
    app::Context,
    args::CaptureArgs,
    output::{self, Output},
};
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
    let destination = Output::open(&args.output, &args.log, context.terminal)?;
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
    let captured = runtime.block_on(async {
        tokio::select! {
            biased;
            Some(reason) = interrupt::signalled() => Err(reason),
            captured = capture(&plan, TOOL) => Ok(captured),
        }
    });
    // A file system that hangs must not hold up what was got.
    runtime.shutdown_background();
    spinner.finish_and_clear();
    let captured = match captured {
        Ok(captured) => captured,
        Err(reason) => {
            archive.abandon();
            output::tell(&format!("interrupted ({reason}): nothing was written"));
            return Ok(interrupt::ENDED_BY_SIGNAL);
        }
    };
    let path = archive.write(&captured)?;
    something_was_got(&captured, &path)?;
    let report = report(&captured, &path);
    let code = exit_code(&report, None);
    destination.write(&report)?;
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
        let file = file.with_context(|| match part.exists() {
            true => format!("another capture writes {}, or was killed and left it: remove it then", part.display()),
            false => format!("cannot create {}", part.display()),
        })?;
        Ok(Self { path, part, file })
    }

    /// Leaves nothing of it.
    fn abandon(self) {
        // What cannot be removed has a name that says what it is.
        let _ = fs::remove_file(&self.part);
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
    let bytes: u64 = manifest.items.iter().map(|item| item.bytes).sum();
    report.why.push(format!(
        "{}: {} of {} in {:.1} s, {}",
        archive.display(),
        number::counted(captured.files.len() as u64, "file"),
        number::counted(bytes, "byte"),
        manifest.to_unix_s - manifest.from_unix_s,
        lacks(captured),
    ));
    for item in manifest.items.iter().filter(|item| !item.files.is_empty()) {
        report.read.push(row(&item.files.join(", "), &item.name, item.bytes));
    }
    let gap = |(item, why): (&str, &str)| Unread { path: item.into(), line: None, reason: why.into() };
    report.unread = manifest.gaps().map(gap).collect();
    report.notes.push(format!("firstcheck diagnose {}", archive.display()));
    report
}

/// What is missing: what was asked for and gave nothing by its name, the rest by its number.
fn lacks(captured: &Captured) -> String {
    let nothing: Vec<&str> =
        captured.asked().filter(|item| item.files.is_empty()).map(|item| item.name.as_str()).collect();
    let gaps = captured.manifest.gaps().count() as u64;
    let listed = format!("{} listed as missing", number::count(gaps));
    match (nothing.is_empty(), gaps) {
        (true, 0) => "nothing is missing".into(),
        (true, _) => listed,
        (false, _) => format!("NOTHING GOT of {}; {listed}", nothing.join(", ")),
    }
}

/// Fails where none of what was asked for gave anything: a rollback that waits for the capture would go on without one.
///
/// # Errors
/// Naming what was asked for, why nothing came of it, and what the archive holds all the same.
fn something_was_got(captured: &Captured, archive: &Path) -> anyhow::Result<()> {
    let of_host = captured.manifest.has_files();
    let asked: Vec<_> = captured.asked().collect();
    if asked.is_empty() && of_host || asked.iter().any(|item| !item.files.is_empty()) {
        return Ok(());
    }
    let reasons: Vec<&String> = asked.iter().flat_map(|item| &item.missing).collect();
    let first = reasons.first().map_or(String::new(), |first| format!(" ({first})"));
    let names: Vec<&str> = asked.iter().map(|item| item.name.as_str()).collect();
    let of = if names.is_empty() { String::new() } else { format!(" of {}{first}", names.join(", ")) };
    let kept = match of_host {
        true => format!("{} holds facts of this host alone", archive.display()),
        false => format!("{} is empty", archive.display()),
    };
    bail!("nothing was captured{of}: see to the addresses, files and process ids; {kept}");
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
