//! `firstcheck import`: result files of other tools as bundles.

use super::{free_folder, reading};
use crate::{app::Context, args::ImportArgs, output::Output};
use anyhow::{Context as _, bail};
use firstcheck_analyze::compare::{Policy, describe};
use firstcheck_bundle::write_recording;
use firstcheck_experiment::drive::LEDGER;
use firstcheck_ingest::gather_recordings;
use firstcheck_model::{TOOL, exit_code::exit_code, recording::Recording, report::Report};
use std::path::{Path, PathBuf};

/// Imports and reports.
///
/// # Errors
/// A file that is not there, files that hold no result, or a folder that cannot be written.
pub fn run(args: ImportArgs, context: &Context) -> anyhow::Result<u8> {
    let output = Output::open(&args.output, &args.files, context.terminal)?;
    for path in &args.files {
        reading::must_exist(path)?;
    }
    must_be_free(&args.out)?;
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    let mut report = Report::new("import", TOOL);
    let mut imported = 0_usize;
    for path in &args.files {
        match gather_recordings(path) {
            Ok((recordings, unread)) => {
                report.unread.extend(unread);
                for recording in recordings {
                    let bundle = bundle_folder(&args.out, path, &mut imported)?;
                    write(&bundle, path, recording, &context.config.policy(None), &mut report)?;
                }
            }
            Err(error) => report.unread.push(error.unread()),
        }
    }
    if imported == 0 {
        let reasons: Vec<String> = report.unread.iter().map(reading::say).collect();
        bail!("nothing was imported: {}", reasons.join("; "));
    }
    let code = exit_code(&report, None);
    output.write(&report)?;
    Ok(code)
}

/// Fails in a bundle and in the folder of an experiment: what is put there would be taken for a part of it.
///
/// # Errors
/// Naming the folder.
fn must_be_free(out: &Path) -> anyhow::Result<()> {
    let real = std::fs::canonicalize(out).unwrap_or_else(|_| out.to_owned());
    if let Some(bundle) = real.ancestors().find(|folder| folder.join("run.json").is_file()) {
        bail!("{} is or lies in the bundle of a run ({}): name another folder", out.display(), bundle.display());
    }
    if real.join(LEDGER).is_file() {
        bail!("{} is the folder of an experiment, whose runs are its own: name another folder", out.display());
    }
    Ok(())
}

/// `OUT/NAME`, the file's name without its ending; numbered where that is taken.
fn bundle_folder(out: &Path, path: &Path, imported: &mut usize) -> anyhow::Result<PathBuf> {
    *imported += 1;
    let name = path.file_stem().map_or_else(|| "run".into(), |stem| stem.to_string_lossy().into_owned());
    free_folder(out, &name)
}

fn write(bundle: &Path, path: &Path, recording: Recording, policy: &Policy, report: &mut Report) -> anyhow::Result<()> {
    write_recording(bundle, &recording).with_context(|| format!("cannot write {}", bundle.display()))?;
    report.notes.push(format!("{} → {}", path.display(), bundle.display()));
    let described = describe(&recording.into_evidence(bundle.display().to_string()), policy);
    match (&mut report.sides.candidate, described.sides.candidate) {
        (Some(side), Some(more)) => {
            // Metrics of several runs would stand beside each other without a name.
            side.runs.extend(more.runs);
            report.metrics.clear();
        }
        (side, more) => {
            *side = more;
            report.metrics = described.metrics;
        }
    }
    Ok(())
}
