//! A workload that failed as a gate case: what `ab` needs to offer it again, without any of its text.

use super::run::recorded::recorded;
use anyhow::{Context as _, bail};
use firstcheck_analyze::compare::Policy;
use firstcheck_model::{
    evidence::RunEvidence,
    report::{Claim, Report},
};
use firstcheck_workload::spec::{Source, Spec};
use serde::Serialize;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// Configuration of a case, in its folder.
pub(super) const CONFIG: &str = "firstcheck.toml";
/// Its requests, in its folder.
pub(super) const REQUESTS: &str = "workload.jsonl";
/// Longest name.
const LONGEST_NAME: usize = 100;

/// What `ab --config` reads.
#[derive(Serialize)]
struct Case<'c> {
    workload: Spec,
    compare: &'c Policy,
}

/// A folder for a case that is not there yet.
///
/// # Errors
/// A name that is none of a folder, or that is taken.
pub(super) fn folder(cases: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > LONGEST_NAME || name.starts_with('.') || !name.chars().all(fits) {
        bail!("a case is named by letters, digits and - _ . alone: `{name}` is no such name");
    }
    let folder = cases.join(name);
    if folder.exists() {
        bail!("{} is there already: name another case, or remove it", folder.display());
    }
    Ok(folder)
}

/// Writes the workload of `run` as a case, and says what was kept and how it is run.
///
/// # Errors
/// A run without lengths or times, or a folder that cannot be written.
pub(super) fn add(folder: &Path, run: &RunEvidence, report: &Report, policy: &Policy) -> anyhow::Result<String> {
    let (text, kept, left_out) = recorded(run).context("no case can be made")?;
    let fail = || format!("cannot write {}", folder.display());
    fs::create_dir_all(folder).with_context(fail)?;
    let file = folder.join(REQUESTS);
    fs::write(&file, text).with_context(fail)?;
    let window = run.info.window.and_then(|window| window.length());
    let workload =
        Spec { source: Source::Run, file: Some(file), duration_s: window.map(|length| length.0), ..Spec::default() };
    // Looks belong to the experiment that planned them.
    let policy = Policy { looks: Vec::new(), slo: policy.slo.or(run.info.slo), ..policy.clone() };
    let config =
        toml::to_string(&Case { workload, compare: &policy }).context("cannot write the case's configuration")?;
    let path = folder.join(CONFIG);
    let warm_up = run.info.window.and_then(|window| window.start.seconds()).unwrap_or(0.0).max(0.0);
    let command = format!("firstcheck ab --config {} --warm-up {warm_up}s --base OLD --candidate NEW", path.display());
    fs::write(&path, head(&command, report) + &config).with_context(fail)?;
    let left_out = match left_out {
        0 => String::new(),
        n => format!(" ({n} of unknown length were left out)"),
    };
    Ok(format!(
        "case {} of {kept} requests{left_out}: lengths, arrival times and what prompts share are kept, no text; {command}",
        folder.display()
    ))
}

/// What stands above the configuration. Metrics and sizes alone: reasons may name what a user would not share.
fn head(command: &str, report: &Report) -> String {
    let mut head = String::from(
        "# A gate case: the workload of a comparison without its text. Lengths, arrival times and what prompts share are kept.\n",
    );
    let _ = writeln!(head, "# {command}");
    let worse = report.metrics.iter().filter(|row| row.claim == Claim::Regressed && row.slice.is_none());
    for row in worse {
        let ratio = row.ratio.and_then(|ratio| ratio.finite()).map_or("without bound".into(), |r| format!("× {r:.3}"));
        let _ = writeln!(head, "# then worse: {} {} {ratio}", row.metric, row.stat);
    }
    head.push('\n');
    head
}
