//! Findings as the cases write them.

use firstcheck_model::finding::{Cause, Finding, Outcome};
use std::fmt::Write;

/// The finding of the check `own` whatever it is, and every other that is present.
pub fn render(findings: &[Finding], own: &str) -> String {
    let mut text = String::new();
    for finding in findings {
        let present = matches!(finding.outcome, Outcome::Present { .. });
        if present || finding.slug == own {
            one(&mut text, finding);
        }
    }
    text
}

fn one(text: &mut String, finding: &Finding) {
    let under = finding.consequence_of.as_ref().map(|of| format!(", a consequence of {of}")).unwrap_or_default();
    let (word, detail) = match &finding.outcome {
        Outcome::Present { .. } => ("present", under),
        Outcome::Absent { .. } => ("absent", String::new()),
        Outcome::Undecided { missing } => {
            ("undecided", format!(": {}", missing.iter().map(|m| m.what.as_str()).collect::<Vec<_>>().join("; ")))
        }
        Outcome::NotApplicable { why } => ("not applicable", format!(": {why}")),
    };
    writeln!(text, "{} {} {word}{detail}", finding.code, finding.slug).unwrap();
    match &finding.outcome {
        Outcome::Absent { why } => why.iter().for_each(|fact| writeln!(text, "  | {}", fact.text).unwrap()),
        Outcome::Present { facts, causes, explains } => {
            facts.iter().for_each(|fact| writeln!(text, "  | {}", fact.text).unwrap());
            for cause in causes {
                let (status, lines): (&str, Vec<&str>) = match cause {
                    Cause::Supported { facts, .. } => ("supported", facts.iter().map(|f| f.text.as_str()).collect()),
                    Cause::Excluded { facts, .. } => ("excluded", facts.iter().map(|f| f.text.as_str()).collect()),
                    Cause::Open { missing, .. } => ("open", missing.iter().map(|m| m.what.as_str()).collect()),
                };
                assert!(!lines.is_empty(), "{} {}: {status} without a word", finding.code, cause.id());
                writeln!(text, "  {} {status}", cause.id()).unwrap();
                lines.iter().for_each(|line| writeln!(text, "    | {line}").unwrap());
            }
            if let Some(e) = explains {
                writeln!(text, "  explains {:.3} of {:.3} {} {}", e.explained, e.delta, e.unit, e.metric).unwrap();
            }
        }
        Outcome::Undecided { .. } | Outcome::NotApplicable { .. } => {}
    }
}
