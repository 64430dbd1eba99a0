//! The page for a person at a terminal: the conclusion first, then what it rests on.

mod chart;
mod findings;
mod first_screen;
mod plots;
mod stages;

use crate::{
    Style, deployments, evidence, isolation,
    layout::{Table, tame, wrap},
    metrics, number, sides, signatures, sweep,
    tone::{self, Tone},
    words,
};
use anstyle::{AnsiColor, Color};
use firstcheck_model::{
    comparability::Level,
    report::{Claim, Report, Unread},
};
use std::fmt::Write as _;

/// Files listed as unread; the JSON report lists all.
const MOST_UNREAD: usize = 10;

/// Writes lines in a style.
pub(crate) struct Page {
    out: String,
    style: Style,
}

impl Page {
    /// `text` in `tone`.
    pub(crate) fn paint(&self, text: &str, tone: Tone) -> String {
        let plain = anstyle::Style::new();
        let colored = |color: AnsiColor| plain.fg_color(Some(Color::Ansi(color)));
        let style = match tone {
            _ if !self.style.color => return text.into(),
            Tone::Plain => return text.into(),
            Tone::Bad => colored(AnsiColor::Red).bold(),
            Tone::Good => colored(AnsiColor::Green),
            Tone::Warn => colored(AnsiColor::Yellow),
            Tone::Dim => plain.dimmed(),
            Tone::Bold => plain.bold(),
        };
        format!("{style}{text}{style:#}")
    }

    /// One line.
    pub(crate) fn line(&mut self, text: &str) {
        self.out += text;
        self.out.push('\n');
    }

    /// An empty line and a heading.
    pub(crate) fn heading(&mut self, text: &str) {
        self.out.push('\n');
        let text = self.paint(text, Tone::Bold);
        self.line(&text);
    }

    /// Prose: `lead` before its first line, the others under it, wrapped to the width.
    pub(crate) fn prose(&mut self, lead: &str, text: &str, tone: Tone) {
        let indent = crate::layout::width(lead);
        let columns = self.style.width.saturating_sub(indent).max(20);
        for (at, line) in wrap(&tame(text), columns).iter().enumerate() {
            let line = self.paint(line, tone);
            if at == 0 {
                let _ = writeln!(self.out, "{lead}{line}");
            } else {
                let _ = writeln!(self.out, "{}{line}", " ".repeat(indent));
            }
        }
    }
}

/// Lays out the page.
pub(crate) fn page(report: &Report, style: &Style) -> String {
    let mut page = Page { out: String::new(), style: *style };
    // What was read and not understood is in it where somebody asked for it.
    if report.verb == "diagnose" && !style.all && report.not_understood.is_empty() {
        first_screen::screen(&mut page, report);
        return page.out;
    }
    headline(&mut page, report);
    what_was_compared(&mut page, report);
    evidence_read(&mut page, report);
    comparability(&mut page, report);
    differences(&mut page, report);
    one_sided(&mut page, report);
    cells(&mut page, report);
    isolated(&mut page, report);
    swept(&mut page, report);
    metric_table(&mut page, report);
    signature_list(&mut page, report);
    stages::stages(&mut page, &report.stages);
    plots::plots(&mut page, report);
    findings::findings(&mut page, &report.findings);
    unread(&mut page, &report.unread);
    notes(&mut page, report);
    footer(&mut page, report);
    page.out
}

fn headline(page: &mut Page, report: &Report) {
    let tone = tone::of_verdict(report.verdict);
    let mut reasons = report.why.iter();
    let lead = match words::verdict(report.verdict) {
        Some(verdict) => verdict.to_owned(),
        None => report.verb.clone(),
    };
    let indent = " ".repeat(crate::layout::width(&lead) + 2);
    match reasons.next() {
        Some(first) => {
            // The lead is painted apart, so that the wrapped reason does not count its escape codes.
            let columns = page.style.width.saturating_sub(indent.len()).max(20);
            let lines = wrap(&tame(first), columns);
            let lead = page.paint(&lead, tone);
            for (at, line) in lines.iter().enumerate() {
                let line = if at == 0 { format!("{lead}  {line}") } else { format!("{indent}{line}") };
                page.line(&line);
            }
        }
        None => {
            let lead = page.paint(&lead, tone);
            page.line(&lead);
        }
    }
    for reason in reasons {
        page.prose(&indent, reason, Tone::Plain);
    }
    for reason in &report.invalid {
        page.prose("not to be believed: ", reason, Tone::Bad);
    }
    // The reader of ten seconds wants the answer here; its evidence stands under the findings.
    for (lead, text) in report.findings.iter().filter_map(words::found) {
        page.prose(&format!("{lead}: "), &text, Tone::Bold);
    }
}

fn what_was_compared(page: &mut Page, report: &Report) {
    if let Some((fingerprint, more)) = deployments::fingerprint(&report.sides) {
        page.line("");
        table(page, &fingerprint);
        more.iter().for_each(|more| page.line(more));
    } else if let Some(compared) = sides::sides(&report.sides) {
        page.line("");
        table(page, &compared.table);
        for (name, text) in &compared.shared {
            page.prose(&format!("{name} of both: "), text, Tone::Plain);
        }
    }
    for warning in sides::warnings(&report.sides, page.style.all) {
        page.prose("! ", &warning, Tone::Warn);
    }
}

fn evidence_read(page: &mut Page, report: &Report) {
    if !report.read.is_empty() {
        page.heading("Read");
        table(page, &evidence::read(&report.read));
        evidence::notes(&report.read).iter().for_each(|note| page.prose("  ! ", note, Tone::Warn));
    }
    if !report.not_understood.is_empty() {
        page.heading("Read and not understood");
        table(page, &evidence::not_understood(&report.not_understood));
        if let Some(more) = evidence::not_listed(&report.not_understood) {
            page.line(&format!("  {more}"));
        }
    }
}

fn table(page: &mut Page, table: &Table) {
    let (head, rows) = table.lines();
    if !head.is_empty() {
        let head = page.paint(&head, Tone::Dim);
        page.line(&head);
    }
    rows.iter().for_each(|row| page.line(row));
}

fn differences(page: &mut Page, report: &Report) {
    if report.differences.is_empty() && report.one_sided.is_empty() {
        return;
    }
    page.heading("What differs");
    let (table, listed) = deployments::differences(&report.differences);
    let mut effect = None;
    for (line, one) in table.lines().1.iter().zip(listed) {
        // Fields of one effect follow each other.
        if effect != Some(&one.effect) {
            page.prose("  ", one.effect.as_deref().unwrap_or(deployments::NOTHING_KNOWN), Tone::Dim);
            effect = Some(&one.effect);
        }
        page.line(&format!("    {line}"));
    }
    if let Some(more) = deployments::more_differences(&report.differences) {
        page.line(&format!("  {more}"));
    }
}

fn one_sided(page: &mut Page, report: &Report) {
    for sentence in deployments::one_sided(&report.one_sided) {
        page.prose("  ", &sentence, Tone::Plain);
    }
}

fn comparability(page: &mut Page, report: &Report) {
    if report.comparability.is_empty() {
        return;
    }
    page.heading("Whether it may be compared");
    for (one, more) in deployments::rulings(&report.comparability, page.style.all) {
        let tone = match one.level {
            Level::Blocks => Tone::Bad,
            Level::Warns => Tone::Warn,
            Level::Notes => Tone::Plain,
        };
        let lead = format!("  {:<6}  ", one.level.name());
        page.prose(&lead, &(deployments::ruling(one) + &deployments::more_rulings(more)), tone);
        page.prose("          mend: ", &one.mend, Tone::Dim);
    }
}

fn cells(page: &mut Page, report: &Report) {
    if !report.cells.is_empty() {
        page.heading("Cells");
        table(page, &signatures::cells(&report.cells));
    }
}

fn isolated(page: &mut Page, report: &Report) {
    let Some(found) = &report.isolation else { return };
    for (title, laid) in isolation::tables(found, page.style.all) {
        page.heading(title);
        table(page, &laid);
    }
}

fn swept(page: &mut Page, report: &Report) {
    let Some(found) = &report.sweep else { return };
    page.line("");
    table(page, &sweep::summary(found));
    for (title, laid) in sweep::levels(found) {
        page.heading(&title);
        table(page, &laid);
    }
}

fn signature_list(page: &mut Page, report: &Report) {
    for (at, row) in signatures::present(report).enumerate() {
        if at == 0 {
            page.heading("Signatures");
        }
        page.prose("  ● ", &signatures::title(row), Tone::Bold);
        row.facts.iter().for_each(|fact| page.prose("    • ", fact, Tone::Plain));
        page.prose("    look at: ", &signatures::leads(row), Tone::Plain);
    }
    if let Some(unknown) = signatures::unknown(report).filter(|_| page.style.all) {
        page.prose("  ", &unknown, Tone::Dim);
    }
}

fn metric_table(page: &mut Page, report: &Report) {
    if report.metrics.is_empty() {
        return;
    }
    let mut laid = metrics::metrics(report, page.style.all);
    let mut below = None;
    if report.metrics.iter().any(|row| row.mde.is_some()) {
        if laid.table.width() > page.style.width {
            laid.table.clear(metrics::MDE);
            below = metrics::mde_sentence(&report.metrics);
        } else {
            below = Some(format!("finds: {}", metrics::MDE_MEANS));
        }
    }
    let (head, rows) = laid.table.lines();
    page.line("");
    let head = page.paint(&head, Tone::Dim);
    page.line(&head);
    let two_sides = report.sides.base.is_some();
    for (text, claim) in rows.iter().zip(&laid.claims) {
        let tone = if two_sides || *claim != Claim::Shown { tone::of_claim(*claim) } else { Tone::Plain };
        let text = page.paint(text, tone);
        page.line(&text);
    }
    for footnote in laid.footnotes.iter().chain(&below) {
        page.prose("  ", footnote, Tone::Dim);
    }
}

fn unread(page: &mut Page, unread: &[Unread]) {
    if unread.is_empty() {
        return;
    }
    page.heading(&format!("Not read ({})", number::count(unread.len() as u64)));
    for one in unread.iter().take(MOST_UNREAD) {
        let place = one.line.map_or(String::new(), |line| format!(":{line}"));
        page.prose("  ", &format!("{}{place}: {}", one.path, one.reason), Tone::Warn);
    }
    if unread.len() > MOST_UNREAD {
        let more = unread.len() - MOST_UNREAD;
        page.line(&format!("  and {} more: --format json lists all", number::count(more as u64)));
    }
}

fn notes(page: &mut Page, report: &Report) {
    if report.notes.is_empty() {
        return;
    }
    page.heading("Notes");
    report.notes.iter().for_each(|note| page.prose("  ", note, Tone::Plain));
}

fn footer(page: &mut Page, report: &Report) {
    let seed = report.seed.map_or(String::new(), |seed| format!(" · seed {seed}"));
    page.line("");
    let line = page.paint(&tame(&format!("{}{seed}", report.tool)), Tone::Dim);
    page.line(&line);
}
