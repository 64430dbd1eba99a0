//! `firstcheck report`: a JSON report laid out again, or a run described.

use super::reading;
use crate::{app::Context, args::ReportArgs, output::Output, told};
use anyhow::{Context as _, bail};
use firstcheck_analyze::compare::describe;
use firstcheck_model::{
    exit_code::exit_code,
    report::{Report, SCHEMA},
};
use firstcheck_report::redact;
use serde::Deserialize;
use std::path::Path;

/// More bytes than any report has.
const LARGEST: u64 = 256 << 20;

/// Lays out and reports.
///
/// # Errors
/// A path that is not there, that is neither a report nor holds a run, or that holds several runs.
pub fn run(args: ReportArgs, context: &Context) -> anyhow::Result<u8> {
    let output = Output::open(&args.output, std::slice::from_ref(&args.path), context.terminal)?;
    reading::must_exist(&args.path)?;
    let report = match read_report(&args.path)? {
        Some(report) => report,
        None => {
            let mut gathered = reading::runs(std::slice::from_ref(&args.path))?;
            let described = match gathered.runs.as_slice() {
                [run] => describe(run, &context.config.policy(args.slo)),
                several => {
                    let labels: Vec<&str> = several.iter().map(|run| run.label.as_str()).collect();
                    bail!("{} holds {} runs: name one of {}", args.path.display(), labels.len(), labels.join(", "))
                }
            };
            let mut report = described;
            report.verb = "report".into();
            report.unread.append(&mut gathered.unread);
            told::complete(&mut report);
            report
        }
    };
    let code = exit_code(&report, args.fail_on.map(Into::into));
    // Lines are quoted where they are read: a report from elsewhere names files that are not those here.
    let report = if args.redact { redact(&report)? } else { report };
    output.again(&report)?;
    Ok(code)
}

/// The report in `path`; `None` where it is no report of firstcheck.
fn read_report(path: &Path) -> anyhow::Result<Option<Report>> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    if firstcheck_ingest::file_of(path) != path {
        // One run of a result file is no report.
        return Ok(None);
    }
    let metadata = std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Ok(None);
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let Ok(head) = serde_json::from_slice::<Head>(&bytes) else { return Ok(None) };
    if head.schema != SCHEMA {
        if head.schema.starts_with("firstcheck.report/") {
            bail!("{} is a {}, this version reads {SCHEMA}", path.display(), head.schema);
        }
        return Ok(None);
    }
    let report = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} says that it is a {SCHEMA} and is not", path.display()))?;
    Ok(Some(report))
}
