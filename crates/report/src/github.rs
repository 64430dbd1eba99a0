//! Workflow commands of GitHub Actions: what stands in the way as errors, what to look at as warnings, the rest as one
//! notice. A step shows ten of each, so the weightiest come first.

use crate::{
    gated::{self, Weight},
    layout::tame,
    words,
};
use firstcheck_model::{
    finding::{Cause, Finding, Outcome},
    measurement::Source,
    report::Report,
};

/// Lines of a conclusion.
const MOST_LINES: usize = 8;
/// Slices that are annotated; those that are fine are not.
const MOST_SLICES: usize = 3;

/// Lays out the report.
pub(crate) fn page(report: &Report) -> String {
    let mut out = annotation(
        gated::of_verdict(report),
        &format!("firstcheck: {}", gated::title(report)),
        &or(shortened(&gated::conclusion(report)), &report.tool),
        None,
    );
    let mut fine = Vec::new();
    let mut slices = 0;
    for row in gated::rows(report) {
        if row.slice.is_some() {
            // A slice repeats what its whole says.
            slices += usize::from(gated::of_claim(row.claim) == Weight::Fails);
            if slices > MOST_SLICES || gated::of_claim(row.claim) != Weight::Fails {
                continue;
            }
        }
        let (weight, name, told) = (gated::of_claim(row.claim), words::row(row), gated::judged(row));
        match weight {
            Weight::Fine => fine.push(format!("{name}: {told}")),
            _ => out += &annotation(weight, &name, &told, None),
        }
    }
    for finding in &report.findings {
        let title = format!("{} {}", finding.code, finding.slug);
        let told = gated::told(finding).join("\n");
        match &finding.outcome {
            Outcome::Present { .. } => {
                let text = format!("{}\n{told}", finding.symptom);
                out += &annotation(gated::of_finding(finding), &title, &text, line(finding));
            }
            Outcome::Undecided { .. } => fine.push(format!("{title}: undecided; {}", told.replace('\n', "; "))),
            Outcome::Absent { .. } => fine.push(format!("{title}: not there")),
            Outcome::NotApplicable { why } => fine.push(format!("{title}: not applicable: {why}")),
        }
    }
    if !fine.is_empty() {
        out += &annotation(Weight::Fine, "firstcheck: what stands in nobody's way", &fine.join("\n"), None);
    }
    out
}

/// The first lines, and how many there are.
fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match lines.len().saturating_sub(MOST_LINES) {
        0 => text.to_owned(),
        more => format!("{}\nand {more} more", lines[..MOST_LINES].join("\n")),
    }
}

fn or(text: String, instead: &str) -> String {
    if text.is_empty() { instead.to_owned() } else { text }
}

fn annotation(weight: Weight, title: &str, message: &str, at: Option<(&str, u32)>) -> String {
    let command = match weight {
        Weight::Fails => "error",
        Weight::Untold | Weight::Warns => "warning",
        Weight::Fine => "notice",
    };
    let place = at.map_or(String::new(), |(path, line)| format!("file={},line={line},", property(path)));
    format!("::{command} {place}title={}::{}\n", property(title), data(message))
}

/// The first line of a file that speaks for a finding.
fn line(finding: &Finding) -> Option<(&str, u32)> {
    let Outcome::Present { facts, causes, .. } = &finding.outcome else { return None };
    let supported = causes.iter().filter_map(|cause| match cause {
        Cause::Supported { facts, .. } => Some(facts),
        _ => None,
    });
    let mut all = supported.flatten().chain(facts);
    all.find_map(|fact| match &fact.source {
        Source::Lines { path, lines } => Some((path.as_str(), lines.start)),
        _ => None,
    })
}

/// A message: its line breaks are part of it, anything else that steers is not.
fn data(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| tame(line).replace('%', "%25")).collect();
    lines.join("%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    tame(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}
