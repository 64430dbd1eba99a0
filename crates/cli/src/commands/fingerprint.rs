//! `firstcheck fingerprint`: what a deployment says it is, and what differs between two.

use super::reading;
use crate::{app::Context, args::FingerprintArgs, output::Output};
use anyhow::{Context as _, bail};
use firstcheck_analyze::{compare::Differences, fingerprint};
use firstcheck_ingest::{Input, Limits, collect, file_of};
use firstcheck_model::{
    TOOL,
    evidence::Evidence,
    exit_code::FINE,
    fingerprint::Fingerprint,
    report::{Report, SideReport},
};
use firstcheck_observe::{Address, Headers, HttpClient, Settings, identify};
use std::path::PathBuf;

/// Asks and reports.
///
/// # Errors
/// An address that does not answer, a path that says nothing of a deployment, or an environment variable that holds no
/// key.
pub fn run(args: FingerprintArgs, context: &Context) -> anyhow::Result<u8> {
    let inputs: Vec<PathBuf> = std::iter::once(&args.first).chain(&args.second).map(PathBuf::from).collect();
    let output = Output::open(&args.output, &inputs, context.terminal)?;
    let headers = headers(args.key_env.as_deref())?;
    let mut report = Report::new("fingerprint", TOOL);
    let first = fingerprint(&args.first, &args, &headers, &mut report)?;
    match &args.second {
        None => {
            report.why.push(args.first.clone());
            report.sides.candidate = Some(side(first));
        }
        Some(name) => {
            let second = fingerprint(name, &args, &headers, &mut report)?;
            Differences::between(&first, &second).put(&mut report);
            report.why.push(format!("{} → {name}: {} fields differ", args.first, report.differences.len()));
            report.sides.base = Some(side(first));
            report.sides.candidate = Some(side(second));
        }
    }
    output.write(&report)?;
    Ok(FINE)
}

fn side(fingerprint: Fingerprint) -> SideReport {
    SideReport { fingerprint, runs: Vec::new() }
}

/// Headers with the key that an environment variable holds.
///
/// # Errors
/// A variable that is not set, or whose key cannot be sent.
pub(super) fn headers(key_env: Option<&str>) -> anyhow::Result<Headers> {
    let Some(name) = key_env else { return Ok(Headers::default()) };
    match std::env::var(name) {
        Ok(key) => Ok(Headers::default().bearer(key.trim())?),
        Err(_) => bail!("the environment variable {name} holds no key: set it, or leave out --key-env"),
    }
}

/// What is known of a deployment by its address, or by whatever a path holds of it.
fn fingerprint(
    name: &str,
    args: &FingerprintArgs,
    headers: &Headers,
    report: &mut Report,
) -> anyhow::Result<Fingerprint> {
    if name.contains("://") {
        return asked(name, headers, report);
    }
    let path = PathBuf::from(name);
    reading::must_exist(&path)?;
    if file_of(&path) != path {
        // One run of a file that holds several.
        let gathered = reading::runs(&[path])?;
        report.unread.extend(gathered.unread);
        return Ok(fingerprint::of(&Evidence::of(gathered.runs)));
    }
    let limits = Limits { whole_weights: args.hash_weights, ..Limits::default() };
    let collected = collect(vec![Input::Path(path)], &limits);
    let print = fingerprint::of(&collected.evidence);
    if print.is_empty() {
        let reasons: Vec<String> = collected.unread.iter().map(reading::say).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
        bail!("nothing in {name} says what a deployment is{reasons}");
    }
    report.unread.extend(collected.unread);
    Ok(print)
}

fn asked(name: &str, headers: &Headers, report: &mut Report) -> anyhow::Result<Fingerprint> {
    let address: Address = name.parse()?;
    let client = HttpClient::new(&Settings::default())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let identity = runtime.block_on(identify(&client, &address, headers));
    let identity = identity.with_context(|| format!("cannot ask {address}"))?;
    report.notes.extend(identity.notes);
    Ok(identity.fingerprint)
}
