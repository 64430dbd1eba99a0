//! `firstcheck diagnose`: what was read, what was not, and what the checks find in it.

mod live;
mod probe;
mod symptom;

use super::reading;
use crate::{
    app::Context,
    args::{BaseArg, DiagnoseArgs},
    output::Output,
    progress::Late,
};
use anyhow::bail;
use firstcheck_analyze::examine::{examine, examine_against};
use firstcheck_ingest::{Collected, Fetched, Input, Limits, collect_watched};
use firstcheck_model::{
    exit_code::exit_code,
    report::{NotUnderstood, ReadRow, Report},
};
use firstcheck_observe::Address;
use firstcheck_report::number;
use jiff::{SignedDuration, Timestamp};
use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    time::Instant,
};

/// Reads and reports.
///
/// # Errors
/// A path that is not there, an address that does not answer, or a destination that cannot be written.
pub fn run(args: DiagnoseArgs, context: &Context) -> anyhow::Result<u8> {
    let side = Sources::of(args.sources.iter().chain(&args.asked.live).cloned());
    if let Some(path) = args.asked.live.iter().find(|path| !is_address(path)) {
        bail!(
            "--live {}: give an address, as http://127.0.0.1:8000; files and folders come without --live",
            path.display()
        );
    }
    let base = Sources::of(args.base.iter().filter_map(|base| match base {
        BaseArg::Source(path) => Some(path.clone()),
        BaseArg::Span(_) => None,
    }));
    let mut spans = args.base.iter().filter_map(|base| match base {
        BaseArg::Span(when) => Some(*when),
        BaseArg::Source(_) => None,
    });
    let span = spans.next();
    if spans.next().is_some() || (span.is_some() && !base.is_empty()) {
        bail!("--base is either one span of a Prometheus or files, folders and addresses");
    }
    let files: Vec<PathBuf> = side.files().chain(base.files()).cloned().collect();
    let output = Output::open(&args.output, &files, context.terminal)?;
    for path in &files {
        reading::must_exist(path)?;
    }
    side.must_not_be(&base)?;
    let asked_about = args.symptom.as_deref().map(symptom::meant).transpose()?;
    let asking = context.progress.spinner();
    let (addresses, base_addresses) = (&side.addresses, &base.addresses);
    let asked = live::Asked { addresses, base: base_addresses, span, args: &args.asked, probe: &args.probe };
    let live = live::ask(&asked, &context.progress, &|said| asking.set_message(said));
    asking.finish_and_clear();
    let live = live?;
    let began = Instant::now();
    let progress = context.progress.late();
    let paths: Vec<PathBuf> = side.paths.iter().chain(&live.probed).cloned().collect();
    let candidate = read(&paths, live.candidate, &progress);
    let read = Read { candidate, base: read(&base.paths, live.base, &progress) };
    progress.finish();
    let mut report = report(read, args.verbose, context);
    report.notes.extend(live.notes);
    report.notes.extend(live.probed.iter().map(|bundle| format!("bundle of the probe: {}", bundle.display())));
    if let Some(checks) = asked_about {
        symptom::narrow(&mut report, &checks);
    }
    report.took_s = Some(began.elapsed().as_secs_f64());
    let code = exit_code(&report, args.fail_on.map(Into::into));
    output.write(&report)?;
    Ok(code)
}

/// What a user named of one side.
struct Sources {
    addresses: Vec<String>,
    /// Files and folders, and `-`.
    paths: Vec<PathBuf>,
}

impl Sources {
    fn of(all: impl Iterator<Item = PathBuf>) -> Self {
        let (addresses, paths): (Vec<PathBuf>, Vec<PathBuf>) = all.partition(|path| is_address(path));
        let addresses = addresses.iter().map(|address| address.to_string_lossy().into_owned()).collect();
        Self { addresses, paths }
    }

    fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.paths.is_empty()
    }

    /// Fails where both sides name one thing: compared with itself it shows nothing, and the checks would call that well.
    ///
    /// # Errors
    /// Naming both.
    fn must_not_be(&self, base: &Self) -> anyhow::Result<()> {
        for (ours, theirs) in self.files().flat_map(|ours| base.files().map(move |theirs| (ours, theirs))) {
            if overlap(ours, theirs) {
                bail!(
                    "{} and --base {} are one, or one lies in the other: compared with itself it shows nothing; give \
                     --base what a healthy deployment left",
                    ours.display(),
                    theirs.display()
                );
            }
        }
        let same = |address: &&String| base.addresses.iter().any(|other| bare(other) == bare(address));
        if let Some(address) = self.addresses.iter().find(same) {
            let address: Address = address.parse()?;
            bail!(
                "{address} is asked on both sides: compared with itself it shows nothing; give --base another \
                 deployment, or an earlier span of a Prometheus (24h-ago)"
            );
        }
        Ok(())
    }

    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.paths.iter().filter(|path| !is_stdin(path))
    }
}

/// Whether one of them is the other or lies in it. What has no real path (`FILE#2`) is told by its words.
fn overlap(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (one, other) = (real(one), real(other));
    one.starts_with(&other) || other.starts_with(&one)
}

/// An address as it is compared: a slash at its end leads nowhere else.
fn bare(address: &str) -> &str {
    address.trim_end_matches('/')
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("http://") || text.starts_with("https://"))
}

/// What was read of the deployment, and of the span to compare with.
struct Read {
    candidate: Collected,
    base: Collected,
}

fn read(paths: &[PathBuf], fetched: Vec<Fetched>, progress: &Late) -> Collected {
    let mut stdin = std::io::stdin().lock();
    let mut source: Option<&mut dyn io::Read> = Some(&mut stdin);
    let inputs = paths.iter().filter_map(|path| match is_stdin(path) {
        true => source.take().map(|source| Input::Stream("-", source)),
        false => Some(Input::Path(path.clone())),
    });
    let inputs = inputs.chain(fetched.into_iter().map(Input::Fetched)).collect();
    collect_watched(inputs, &Limits::default(), progress.watch())
}

fn report(all: Read, verbose: bool, context: &Context) -> Report {
    let Collected { evidence, mut read, unread, mut not_understood } = all.candidate;
    let config = &context.config;
    let mut report = match all.base.read.is_empty() {
        true => examine(&evidence, &config.compare, &config.check),
        false => examine_against(&evidence, &all.base.evidence, &config.compare, &config.check),
    };
    report.unread = unread;
    report.why.push(summary(&read, report.unread.len()));
    report.why.extend(covered(&read, Timestamp::now()));
    report.why.extend(deployment(&read));
    if read.is_empty() {
        report.invalid.push("nothing that was given could be read as evidence".into());
    }
    read.extend(all.base.read);
    report.unread.extend(all.base.unread);
    not_understood.extend(all.base.not_understood);
    report.notes.extend(uncounted(&not_understood, verbose));
    if verbose {
        report.not_understood = not_understood;
    }
    report.read = read;
    report
}

fn summary(read: &[ReadRow], unread: usize) -> String {
    let files: BTreeSet<&str> = read.iter().map(|row| row.path.as_str()).collect();
    let listed = if unread == 0 { "nothing was left unread".into() } else { format!("{unread} listed as not read") };
    format!("{} read, {listed}", number::count(files.len() as u64))
}

/// The span of time that the artefacts cover, and how old the newest is.
fn covered(read: &[ReadRow], now: Timestamp) -> Option<String> {
    let time = |seconds: f64| Timestamp::from_second(seconds as i64).ok();
    let from = time(read.iter().filter_map(|row| row.from_unix_s).reduce(f64::min)?)?;
    let to = time(read.iter().filter_map(|row| row.to_unix_s).reduce(f64::max)?)?;
    let age = now.duration_since(to);
    let age = if age < SignedDuration::ZERO {
        "in the future by this machine's clock".into()
    } else {
        format!("{} old", in_words(age))
    };
    Some(format!("covers {from} to {to}; the newest is {age}"))
}

/// A duration in its largest unit.
fn in_words(age: SignedDuration) -> String {
    let minutes = age.as_mins();
    match minutes {
        0..=1 => format!("{} s", age.as_secs()),
        2..=119 => format!("{minutes} min"),
        120..=2879 => format!("{} h", minutes / 60),
        _ => format!("{} days", number::count((minutes / 1440).unsigned_abs())),
    }
}

/// Engines with their versions, and replicas.
fn deployment(read: &[ReadRow]) -> Option<String> {
    let engines: BTreeSet<&str> = read.iter().filter_map(|row| row.engine.as_deref()).collect();
    let several = engines.len() > 1;
    let of = |engine: &str| {
        // An answer of /version names no engine: it speaks of the only one there is.
        let rows = read.iter().filter(|row| row.engine.as_deref().map_or(!several, |named| named == engine));
        let versions: BTreeSet<&str> = rows.filter_map(|row| row.version.as_deref()).collect();
        let versions: Vec<&str> = versions.into_iter().collect();
        format!("{engine} {}", versions.join(" and ")).trim_end().to_owned()
    };
    let mut parts: Vec<String> = engines.iter().map(|engine| of(engine)).collect();
    let replicas: BTreeSet<&String> = read.iter().flat_map(|row| &row.replicas).collect();
    match replicas.len() {
        0 => {}
        1..=4 => parts.push(format!("replicas {}", replicas.into_iter().cloned().collect::<Vec<_>>().join(" · "))),
        more => parts.push(format!("{more} replicas and ranks")),
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// How much was read and not understood.
fn uncounted(all: &[NotUnderstood], verbose: bool) -> Option<String> {
    let lines: u64 = all.iter().filter(|one| one.what == "line").map(|one| one.count).sum();
    let series: u64 = all.iter().filter(|one| one.what == "series").map(|one| one.count).sum();
    let mut parts = Vec::new();
    if lines > 0 {
        parts.push(number::counted(lines, "line"));
    }
    if series > 0 {
        parts.push(format!("{} series", number::count(series)));
    }
    let more = if verbose { "" } else { ": --verbose lists them" };
    (!parts.is_empty())
        .then(|| format!("{} were read and say nothing that firstcheck knows{more}", parts.join(" and ")))
}
