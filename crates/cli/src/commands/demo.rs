//! `firstcheck demo`: the whole way once.

use super::free_folder;
use crate::{app::Context, args::DemoArgs, output::Output, progress, told};
use anyhow::Context as _;
use firstcheck_experiment::demo::{DemoOptions, demo};
use firstcheck_model::{exit_code::FINE, metric::Metric, report::Report};
use firstcheck_report::{Format, Style, number, render};
use std::path::Path;

/// The report as a page, beside the bundles.
const PAGE: &str = "report.html";

/// Runs the demonstration and reports the pairs that decide; what the live pair showed is a note.
///
/// # Errors
/// A folder that cannot be written, or a server that cannot be started on loopback.
pub fn run(args: DemoArgs, context: &Context) -> anyhow::Result<u8> {
    let output = Output::open(&args.output, &[], context.terminal)?;
    let out = match args.out {
        Some(out) => out,
        None => free_folder(Path::new(""), "firstcheck-demo")?,
    };
    let mut shown = progress::Experiment::new(&context.progress);
    let options = DemoOptions { seed: args.seed, fast: args.fast, pairs: args.pairs, out: out.clone() };
    let mut outcome = demo(&options, &mut |event| shown.tell(&event))?;
    shown.finish();
    if let Some(live) = &outcome.live {
        outcome.report.notes.push(live_note(live));
    }
    outcome.report.notes.push(format!(
        "{} in {}: firstcheck report {} describes one",
        number::counted(outcome.bundles.len() as u64, "bundle"),
        out.display(),
        outcome.bundles.first().map_or_else(|| out.display().to_string(), |first| first.display().to_string()),
    ));
    let page = out.join(PAGE);
    outcome.report.notes.push(format!("the page for a browser: {}", page.display()));
    told::complete(&mut outcome.report);
    let html = render(&outcome.report, Format::Html, &Style::default())?;
    std::fs::write(&page, html).with_context(|| format!("cannot write {}", page.display()))?;
    output.again(&outcome.report)?;
    Ok(FINE)
}

/// The live pair in a sentence: it shows effects and decides nothing.
fn live_note(live: &Report) -> String {
    let shown: Vec<String> = [(Metric::Ttft, "p95"), (Metric::LongestGap, "p95"), (Metric::Goodput, "total")]
        .into_iter()
        .filter_map(|(metric, stat)| {
            let row = live.metric(metric, stat)?;
            let values =
                format!("{} → {}", number::quantity(row.base, &row.unit), number::quantity(row.candidate, &row.unit));
            let name = if stat == "total" { metric.label().to_owned() } else { format!("{} {stat}", metric.label()) };
            Some(format!("{name} {values} ({})", number::change_of(row.ratio)))
        })
        .collect();
    format!("the live pair, over HTTP, shows and decides nothing: {}", shown.join(", "))
}
