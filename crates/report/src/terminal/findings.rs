//! What the checks found: symptoms that are there in full, what is undecided with what would decide it, the rest by name.

use super::Page;
use crate::{
    layout::tame,
    source,
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
        if !page.style.all {
            for (missing, codes) in by_lack(undecided.by_ref()) {
                page.prose(
                    &format!("  {}: ", codes.join(", ")),
                    &format!("missing {}", words::missing(missing)),
                    Tone::Plain,
                );
                page.prose("      obtain: ", &missing.obtain, Tone::Dim);
            }
        }
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
        if !page.style.all {
            let names: Vec<String> = absent.by_ref().map(|f| format!("{} {}", f.code, f.slug)).collect();
            page.prose("  ", &format!("{} (--all says by what)", names.join(", ")), Tone::Plain);
        }
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

/// What is missing, each once, with the checks that it would let tell.
fn by_lack<'f>(undecided: impl Iterator<Item = &'f Finding>) -> Vec<(&'f Missing, Vec<&'f str>)> {
    let mut lacks: Vec<(&Missing, Vec<&str>)> = Vec::new();
    for finding in undecided {
        let Outcome::Undecided { missing } = &finding.outcome else { continue };
        for one in missing {
            match lacks.iter_mut().find(|(known, _)| *known == one) {
                Some((_, codes)) => codes.push(&finding.code),
                None => lacks.push((one, vec![&finding.code])),
            }
        }
    }
    lacks
}

fn name(finding: &Finding) -> String {
    format!("{} {}: {}", finding.code, finding.slug, finding.symptom)
}

fn present(page: &mut Page, finding: &Finding, shown: &[Fact], causes: &[Cause], explains: Option<&Explained>) {
    let under = finding.consequence_of.as_ref().map(|of| format!(", a consequence of {of}")).unwrap_or_default();
    page.heading(&tame(&format!("Finding {} {}{under}", finding.code, finding.slug)));
    page.prose(
        &format!("  {}: ", words::severity(finding.severity)),
        &finding.symptom,
        tone::of_severity(finding.severity),
    );
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
            Cause::Excluded { .. } if !page.style.all => {}
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
    let excluded = causes.iter().filter_map(|cause| match cause {
        Cause::Excluded { id, .. } if !page.style.all => Some(id.as_str()),
        _ => None,
    });
    let excluded: Vec<&str> = excluded.collect();
    if !excluded.is_empty() {
        page.prose("  ✘ excluded: ", &format!("{} (--all says by what)", excluded.join(", ")), Tone::Dim);
    }
}

fn facts(page: &mut Page, indent: &str, facts: &[Fact]) {
    for (at, fact) in facts.iter().enumerate() {
        page.prose(&format!("{indent}• "), &source::sentence(fact), Tone::Plain);
        // Once below all facts that it stands for.
        let goes_on = facts.get(at + 1).is_some_and(|next| source::short(&next.source) == source::short(&fact.source));
        if page.style.all || !goes_on {
            page.prose(&format!("{indent}  "), &format!("[{}]", source::short(&fact.source)), Tone::Dim);
        }
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
    let cost = page.paint(&format!("   # {}", words::cost(follow_up.requests)), Tone::Dim);
    page.line(&format!("        $ {}{cost}", tame(&follow_up.command)));
    if let Some(mitigation) = &follow_up.mitigation {
        page.prose("      meanwhile: ", mitigation, Tone::Plain);
    }
}
