//! What the checks found, with the evidence of each sentence.

use super::class;
use crate::{source, tone, words};
use firstcheck_model::{
    finding::{Cause, Finding, FollowUp, Outcome},
    measurement::{Fact, Missing, Source},
    report::{Quote, Report},
};
use maud::{Markup, html};

/// All findings: symptoms that are there in full, the rest folded.
pub(super) fn findings(report: &Report) -> Markup {
    let (present, rest): (Vec<_>, Vec<_>) =
        report.findings.iter().partition(|finding| matches!(finding.outcome, Outcome::Present { .. }));
    html! {
        @for finding in present { (whole(finding, &report.quotes)) }
        @for (name, wanted) in FOLDED {
            @let of: Vec<_> = rest.iter().filter(|finding| wanted(&finding.outcome)).collect();
            @if !of.is_empty() {
                details {
                    summary { (name) " (" (of.len()) ")" }
                    @for finding in of { (whole(finding, &report.quotes)) }
                }
            }
        }
    }
}

type Wanted = fn(&Outcome) -> bool;

const FOLDED: [(&str, Wanted); 3] = [
    ("Could not be told", |outcome| matches!(outcome, Outcome::Undecided { .. })),
    ("Looked for and not there", |outcome| matches!(outcome, Outcome::Absent { .. })),
    ("Not applicable", |outcome| matches!(outcome, Outcome::NotApplicable { .. })),
];

fn whole(finding: &Finding, quotes: &[Quote]) -> Markup {
    let tone = match finding.outcome {
        Outcome::Present { .. } => class(tone::of_severity(finding.severity)),
        _ => "",
    };
    html! {
        article class=(tone) id={ "finding-" (finding.code) } {
            h3 { (finding.code) " " (finding.slug) }
            p {
                @if let Outcome::Present { .. } = finding.outcome {
                    strong class=(tone) { (words::severity(finding.severity)) ": " }
                }
                (finding.symptom)
                @if let Some(of) = &finding.consequence_of { " (a consequence of " (of) ")" }
            }
            @match &finding.outcome {
                Outcome::Present { facts: shown, causes, explains } => {
                    @if let Some(e) = explains { p { (words::explained(e)) } }
                    (facts(shown, quotes))
                    @for one in causes { (cause(one, quotes)) }
                }
                Outcome::Absent { why } => (facts(why, quotes)),
                Outcome::Undecided { missing } => (lacks(missing)),
                Outcome::NotApplicable { why } => p { (why) },
            }
        }
    }
}

fn cause(cause: &Cause, quotes: &[Quote]) -> Markup {
    match cause {
        Cause::Supported { id, means, facts: shown, follow_up } => html! {
            details open {
                summary { strong { "✔ supported: " (means) } " (" (id) ")" }
                (facts(shown, quotes)) (next(follow_up))
            }
        },
        Cause::Excluded { id, means, facts: shown } => html! {
            details { summary { "✘ excluded: " (means) " (" (id) ")" } (facts(shown, quotes)) }
        },
        Cause::Open { id, means, missing, follow_up } => html! {
            details {
                summary { "? open: " (means) " (" (id) ")" }
                (lacks(missing)) (next(follow_up))
            }
        },
    }
}

fn facts(facts: &[Fact], quotes: &[Quote]) -> Markup {
    html! {
        @if !facts.is_empty() {
            ul { @for fact in facts { li { (source::sentence(fact)) " " (evidence(&fact.source, quotes)) } } }
        }
    }
}

/// Where a sentence comes from, all of it.
fn evidence(source: &Source, quotes: &[Quote]) -> Markup {
    html! {
        span class="source" {
            @match source {
                Source::Lines { path, lines } => {
                    @match quotes.iter().position(|quote| quote.path == *path && quote.line == lines.start) {
                        Some(at) => a href={ "#quote-" (at + 1) } { code { (source::short(source)) } },
                        None => code { (source::short(source)) },
                    }
                }
                Source::Series { run, name, labels, .. } => {
                    code { (name) (labels) } " of " (run.0)
                }
                Source::Derived { by, from } if !from.is_empty() => {
                    (by) " from "
                    @for (at, one) in from.iter().enumerate() { @if at > 0 { ", " } (evidence(one, quotes)) }
                }
                other => { (source::short(other)) }
            }
        }
    }
}

/// The lines that findings rest on.
pub(super) fn quotes(quotes: &[Quote]) -> Markup {
    html! {
        @for (at, quote) in quotes.iter().enumerate() {
            h3 id={ "quote-" (at + 1) } { code { (quote.path) ":" (quote.line) } }
            pre tabindex="0" { code { (quote.quote) } }
        }
    }
}

fn lacks(missing: &[Missing]) -> Markup {
    html! {
        ul { @for one in missing { li { "missing: " (words::missing(one)) "; obtain: " (one.obtain) } } }
    }
}

/// The next measurement with its command and what it costs.
pub(super) fn measure(follow_up: &FollowUp) -> Markup {
    html! {
        p { "Next: " (follow_up.measure) " (" (words::cost(follow_up.requests)) ")" }
        pre tabindex="0" { code { (follow_up.command) } }
    }
}

fn next(follow_up: &FollowUp) -> Markup {
    html! {
        (measure(follow_up))
        @if let Some(mitigation) = &follow_up.mitigation { p { "Meanwhile: " (mitigation) } }
    }
}
