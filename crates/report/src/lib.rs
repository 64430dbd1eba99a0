//! One report, several renderings.
//!
//! [`render`] lays out a [`Report`]; it computes nothing that the report does not hold. The terminal page is for a
//! person who has ten seconds, HTML for a team that looks closer, Markdown for a pull request, JUnit and annotations for a
//! pipeline, JSON for programs. Only JSON is an interface: its schema lies in `docs/schema/`.

mod deployments;
mod evidence;
mod gated;
mod github;
mod html;
mod isolation;
mod junit;
mod layout;
mod markdown;
mod metrics;
pub mod number;
mod redact;
mod sides;
mod signatures;
mod source;
mod stages;
mod sweep;
mod terminal;
mod tone;
mod words;

pub use layout::{steers, without_commands};
pub use redact::redact;

use firstcheck_model::report::Report;

/// How a report is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For a person at a terminal.
    Terminal,
    /// The serde form of the report, indented: the interface for programs.
    Json,
    /// Tables for a pull request: what decides, the rest folded.
    Markdown,
    /// Cases that whatever reads JUnit's XML lists: the verdict, each gated metric, each check.
    Junit,
    /// Annotations of GitHub Actions.
    Github,
    /// One self-contained page for a browser.
    Html,
}

/// What the place where it is printed can show, and how much a reader wants. Only [`Format::Terminal`] reads colour and
/// width; JSON holds everything whatever is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether ANSI colours are understood.
    pub color: bool,
    /// Columns before a line wraps.
    pub width: usize,
    /// Whether rows are shown that decide nothing.
    pub all: bool,
    /// Columns that no table may exceed, as those of a terminal; `None`: a file or a pipe has none.
    pub columns: Option<usize>,
}

impl Default for Style {
    /// No colour, 100 columns, what decides: what a file or a pipe gets.
    fn default() -> Self {
        Self { color: false, width: 100, all: false, columns: None }
    }
}

/// A report that cannot be laid out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// It has no JSON form.
    #[error("cannot write the report as json")]
    Json(#[from] serde_json::Error),
    /// A figure cannot be drawn.
    #[error("cannot draw a figure: {0}")]
    Figure(String),
}

/// The verdict and its first reason in one line, for who reads the report elsewhere; `None` where nothing was judged.
pub fn headline(report: &Report) -> Option<String> {
    let verdict = words::verdict(report.verdict)?;
    let why = report.invalid.first().or(report.why.first());
    Some(why.map_or(verdict.to_owned(), |why| format!("{verdict}: {}", layout::tame(why))))
}

/// Lays `report` out; the text ends with a line break.
///
/// # Errors
/// [`RenderError::Json`] when a report has no JSON form, which no report of this version should cause.
///
/// # Example
/// ```
/// use firstcheck_model::report::{Report, Verdict};
/// use firstcheck_report::{Format, Style, render};
/// let mut report = Report::new("compare", "firstcheck 0.1.0");
/// report.verdict = Verdict::Inconclusive;
/// report.why.push("one run a side cannot pass".into());
/// let page = render(&report, Format::Terminal, &Style::default()).unwrap();
/// assert!(page.starts_with("INCONCLUSIVE  one run a side cannot pass\n"));
/// ```
pub fn render(report: &Report, format: Format, style: &Style) -> Result<String, RenderError> {
    match format {
        Format::Terminal => Ok(terminal::page(report, style)),
        Format::Markdown => Ok(markdown::page(report, style)),
        Format::Junit => Ok(junit::page(report)),
        Format::Github => Ok(github::page(report)),
        Format::Html => html::page(report, style),
        Format::Json => {
            let mut text = serde_json::to_string_pretty(report)?;
            text.push('\n');
            Ok(text)
        }
    }
}
