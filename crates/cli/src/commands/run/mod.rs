//! `firstcheck run`: a deployment is offered a workload, once or at several levels.

pub(super) mod interrupt;
pub(super) mod levels;
pub(super) mod recorded;
pub(super) mod settings;
pub(super) mod workload;

use crate::{
    app::Context,
    args::RunArgs,
    output::{self, Output},
    progress,
};
use anyhow::Context as _;
use firstcheck_analyze::compare::{Policy, describe};
use firstcheck_load::{Control, Finished};
use firstcheck_model::{
    TOOL,
    evidence::RunEvidence,
    exit_code::exit_code,
    report::{Report, Unread},
    run::RunState,
};
use firstcheck_observe::otlp::Tally;
use firstcheck_report::number;
use firstcheck_workload::{Skipped, error::Place};
use levels::Level;
use settings::Settings;
use std::{collections::BTreeSet, path::Path, sync::Arc};

/// Measures and reports.
///
/// # Errors
/// Arguments that do not go together, a workload that cannot be read, a bundle that cannot be written.
pub fn run(args: RunArgs, context: &Context) -> anyhow::Result<u8> {
    let output = Output::open(&args.output, &[], context.terminal)?;
    let settings = Settings::new(args, &context.config)?;
    let policy = context.config.policy(settings.slo);
    if let Some(url) = settings.spans_url() {
        output::tell(&format!("taking spans at {url}"));
    }
    let control = Control::default();
    interrupt::watch(control.stop.clone());
    let mut report = Report::new("run", TOOL);
    report.seed = Some(settings.seed);
    report.parameters = policy.parameters();
    for level in &settings.levels {
        let interrupted = measure(&settings, level, &control, context, &policy, &mut report)?;
        if interrupted {
            break;
        }
    }
    let code = exit_code(&report, None);
    output.write(&report)?;
    Ok(code)
}

/// Runs one level; whether it ended early.
fn measure(
    settings: &Settings,
    level: &Level,
    control: &Control,
    context: &Context,
    policy: &Policy,
    report: &mut Report,
) -> anyhow::Result<bool> {
    let (trace, skipped) = settings.trace(level)?;
    report.unread.extend(skipped);
    let folder = settings.folder(level);
    let shown = Arc::new(progress::Run::new(&context.progress, level.name.as_deref()));
    let watched = Arc::clone(&shown);
    let control = control.clone().on_progress(move |progress| watched.tell(progress));
    let finished =
        firstcheck_load::run(&Arc::new(trace), &settings.target, &settings.options(level), &folder, &control);
    shown.finish();
    let finished = finished.with_context(|| format!("cannot measure {}", settings.target.address))?;
    let run = read_back(&finished)?;
    add(report, level, &run, policy);
    report.notes.extend(finished.spans.as_ref().map(|tally| told(tally, &run)));
    report.notes.push(format!("bundle: {}", finished.dir.display()));
    Ok(matches!(finished.info.state, RunState::Interrupted { .. }))
}

/// What became of exported spans.
fn told(tally: &Tally, run: &RunEvidence) -> String {
    let known: BTreeSet<u32> = run.spans.iter().map(|span| span.request).collect();
    format!(
        "{} in {}; they tell the stages of {}",
        number::counted(tally.spans, "span"),
        number::counted(tally.exports, "export"),
        number::counted(known.len() as u64, "request")
    )
}

fn read_back(finished: &Finished) -> anyhow::Result<RunEvidence> {
    let dir: &Path = &finished.dir;
    let runs = firstcheck_ingest::read_runs(dir).with_context(|| format!("cannot read {} back", dir.display()))?;
    runs.into_iter().next().with_context(|| format!("{} holds no run", dir.display()))
}

/// Adds a level's run: its metrics are a slice where there are several levels.
fn add(report: &mut Report, level: &Level, run: &RunEvidence, policy: &Policy) {
    let described = describe(run, policy);
    let prefix = |text: String| match &level.name {
        Some(name) => format!("{name}: {text}"),
        None => text,
    };
    report.metrics.extend(described.metrics.into_iter().map(|mut row| {
        row.slice = level.name.clone();
        row
    }));
    report.why.extend(described.why.into_iter().map(prefix));
    report.invalid.extend(described.invalid.into_iter().map(prefix));
    report.notes.extend(described.notes.into_iter().map(prefix));
    report.unread.extend(described.unread);
    match (&mut report.sides.candidate, described.sides.candidate) {
        (Some(side), Some(more)) => side.runs.extend(more.runs),
        (side, more) => *side = more,
    }
}

/// A row of a source that was left out, as unread.
fn unread(path: &Path, skipped: &Skipped) -> Unread {
    let line = match skipped.place {
        Place::Line(line) => Some(line),
        Place::Conversation(_) => None,
    };
    Unread { path: path.display().to_string(), line, reason: format!("{}: {}", skipped.place, skipped.reason) }
}
