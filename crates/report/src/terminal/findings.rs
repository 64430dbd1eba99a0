//! What the checks found: symptoms that are there in full, what is undecided with what would decide it, the rest by name.

use super::Page;
use crate::{
    layout::tame,
    number, source,
    tone::{self, Tone},
    words,
};
use firstcheck_model::{
    finding::{Cause, Explained, Finding, FollowUp, Outcome},
    measurement::{Fact, Missing},
};

/// Lays out all findings.
pub(super) fn findings(page: &mut Page, findings: &[Finding]) {
    for finding in findings {
        if let Outcome::Present { facts, causes, explains } = &finding.outcome {
            present(page, finding, facts, causes, explains.as_ref());
        }
    }
    let mut undecided = findings.iter().filter(|f| matches!(f.outcome, Outcome::Undecided { .. })).peekable();
    if undecided.peek().is_some() {
        page.heading("Undecided");
        for finding in undecided {
            page.prose("  ", &name(finding), Tone::Plain);
            if let Outcome::Undecided { missing } = &finding.outcome {
                lacks(page, "      ", missing);
            }
        }
    }
    let mut absent = findings.iter().filter(|f| matches!(f.outcome, Outcome::Absent { .. })).peekable();
    if absent.peek().is_some() {
        page.heading("Looked for and not there");
        for finding in absent {
            page.prose("  ", &name(finding), Tone::Plain);
            if let Outcome::Absent { why } = &finding.outcome {
                facts(page, "      ", why);
            }
        }
    }
    let elsewhere: Vec<String> = findings
        .iter()
        .filter_map(|f| match &f.outcome {
            Outcome::NotApplicable { why } => Some(format!("{} ({why})", f.code)),
            _ => None,
        })
        .collect();
    if !elsewhere.is_empty() {
        page.heading("Not applicable");
        page.prose("  ", &elsewhere.join(", "), Tone::Dim);
    }
}

fn name(finding: &Finding) -> String {
    format!("{} {}: {}", finding.code, finding.slug, finding.symptom)
}

fn present(page: &mut Page, finding: &Finding, shown: &[Fact], causes: &[Cause], explains: Option<&Explained>) {
    let under = finding.consequence_of.as_ref().map(|of| format!(", a consequence of {of}")).unwrap_or_default();
    page.heading(&tame(&format!("Finding {} {}{under}", finding.code, finding.slug)));
    let severity = page.paint(words::severity(finding.severity), tone::of_severity(finding.severity));
    page.line(&format!("  {severity}: {}", tame(&finding.symptom)));
    if let Some(e) = explains {
        page.prose("  ", &words::explained(e), Tone::Plain);
    }
    facts(page, "    ", shown);
    for cause in causes {
        match cause {
            Cause::Supported { id, means, facts: for_it, follow_up } => {
                page.prose("  ✔ supported: ", &format!("{means} ({id})"), Tone::Bold);
                facts(page, "      ", for_it);
                next(page, follow_up);
            }
            Cause::Excluded { id, means, facts: against } => {
                page.prose("  ✘ excluded: ", &format!("{means} ({id})"), Tone::Dim);
                facts(page, "      ", against);
            }
            Cause::Open { id, means, missing, follow_up } => {
                page.prose("  ? open: ", &format!("{means} ({id})"), Tone::Plain);
                lacks(page, "      ", missing);
                next(page, follow_up);
            }
        }
    }
}

fn facts(page: &mut Page, indent: &str, facts: &[Fact]) {
    for fact in facts {
        page.prose(&format!("{indent}• "), &source::sentence(fact), Tone::Plain);
        page.prose(&format!("{indent}  "), &format!("[{}]", source::short(&fact.source)), Tone::Dim);
    }
}

fn lacks(page: &mut Page, indent: &str, missing: &[Missing]) {
    for one in missing {
        page.prose(&format!("{indent}missing: "), &words::missing(one), Tone::Plain);
        page.prose(&format!("{indent}obtain:  "), &one.obtain, Tone::Plain);
    }
}

/// The follow-up; its command stands on a line of its own and is never wrapped, so that it can be copied.
fn next(page: &mut Page, follow_up: &FollowUp) {
    page.prose("      next: ", &follow_up.measure, Tone::Plain);
    let cost = match follow_up.requests {
        0 => "sends nothing".to_owned(),
        n => format!("sends {} requests", number::count(u64::from(n))),
    };
    let cost = page.paint(&format!("   # {cost}"), Tone::Dim);
    page.line(&format!("        $ {}{cost}", tame(&follow_up.command)));
    if let Some(mitigation) = &follow_up.mitigation {
        page.prose("      meanwhile: ", mitigation, Tone::Plain);
    }
}
