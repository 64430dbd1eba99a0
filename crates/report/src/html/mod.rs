//! One self-contained page for a browser: no network, light and dark, printable, and readable without its script.

mod figures;
mod findings;
mod plot;
mod sections;
mod summary;
mod table;

use crate::{
    RenderError, Style, gated,
    layout::{self, steers},
    tone::{self, Tone},
    words,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use firstcheck_model::report::Report;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A section: its anchor, its name, what stands in it.
pub(crate) struct Section {
    anchor: &'static str,
    name: &'static str,
    inner: Markup,
}

impl Section {
    /// A section with that name.
    pub(crate) fn new(anchor: &'static str, name: &'static str, inner: Markup) -> Self {
        Self { anchor, name, inner }
    }
}

/// The hash by which the page allows its own style or script, and nothing else.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// Lays out the page.
pub(crate) fn page(report: &Report, style: &Style) -> Result<String, RenderError> {
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    let sections = sections::of(report, style.all)?;
    let title = format!("firstcheck: {}", gated::title(report));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a class="skip" href="#content" { "Skip to the content" }
                header { div class="wide" { (headline(report)) (contents(&sections)) } }
                main id="content" class="wide" {
                    @for section in &sections {
                        section aria-labelledby=(section.anchor) {
                            h2 id=(section.anchor) { (section.name) }
                            (section.inner)
                        }
                    }
                }
                footer class="wide" {
                    (report.tool)
                    @if let Some(seed) = report.seed { ", seed " (seed) }
                    ". Only the JSON report is an interface; this page is for people."
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // Whatever text came from outside, nothing on the page steers what is around it.
    Ok(page.into_string().chars().map(|c| if steers(c) && c != '\n' { ' ' } else { c }).collect::<String>() + "\n")
}

fn headline(report: &Report) -> Markup {
    let class = class(tone::of_verdict(report.verdict));
    let (first, more) = gated::reasons(report);
    let found: Vec<_> = report.findings.iter().filter_map(words::found).collect();
    html! {
        h1 { "firstcheck " (report.verb) " " span class={ "badge " (class) } { (gated::title(report)) } }
        @if !report.why.is_empty() || !report.invalid.is_empty() || !found.is_empty() {
            ul {
                @for why in first { li { (why) } }
                @for why in &report.invalid { li class="bad" { strong { "not to be believed: " } (why) } }
                @for (lead, text) in &found { li { strong { (lead) ": " } (text) } }
            }
            @if !more.is_empty() {
                details { summary { (more.len()) " more reasons" } ul { @for why in more { li { (why) } } } }
            }
        }
    }
}

fn contents(sections: &[Section]) -> Markup {
    html! {
        nav aria-label="Contents" {
            ul { @for section in sections { li { a href={ "#" (section.anchor) } { (section.name) } } } }
        }
    }
}

/// The class of a tone.
pub(crate) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Bad => "bad",
        Tone::Good => "good",
        Tone::Warn => "warn",
        Tone::Dim => "muted",
        Tone::Plain | Tone::Bold => "",
    }
}

/// A table laid out.
pub(crate) fn laid(name: &str, table: &layout::Table) -> Markup {
    table::of(name, &table.shown(), &[])
}
