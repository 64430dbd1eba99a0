//! The page for a person at a terminal: the conclusion first, then what it rests on.

mod chart;
mod findings;
pub(crate) mod first_screen;
mod plots;
mod stages;

use crate::{
    Style, deployments, evidence, gated, isolation,
    layout::{Table, cut, tame, wrap},
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

    /// Columns that prose takes at least: fewer where the terminal has no more.
    pub(crate) fn least(&self) -> usize {
        if self.style.columns.is_some_and(|columns| columns < 40) { 8 } else { 20 }
    }

    /// An empty line and a heading.
    pub(crate) fn heading(&mut self, text: &str) {
        self.out.push('\n');
        match self.style.columns {
            Some(_) => self.prose("", text, Tone::Bold),
            None => {
                let text = self.paint(text, Tone::Bold);
                self.line(&text);
            }
        }
    }

    /// Prose: `lead` before its first line, the others under it, wrapped to the width.
    pub(crate) fn prose(&mut self, lead: &str, text: &str, tone: Tone) {
        let indent = crate::layout::width(lead);
        if self.style.columns.is_some_and(|columns| indent > columns / 2) {
            // A lead that takes half of a line is text itself.
            let spaces = " ".repeat(indent - crate::layout::width(lead.trim_start()));
            let deeper = format!("{spaces}  ");
            let text = format!("{} {text}", lead.trim());
            return self.hanging(&spaces, &deeper, &text, tone);
        }
        self.hanging(lead, &" ".repeat(indent), text, tone);
    }

    /// Text with `first` before its first line and `then` before the others.
    fn hanging(&mut self, first: &str, then: &str, text: &str, tone: Tone) {
        let indent = crate::layout::width(first).max(crate::layout::width(then));
        let columns = self.style.width.saturating_sub(indent).max(self.least());
        for (at, line) in self.fitting(&tame(text), columns).iter().enumerate() {
            let line = self.paint(line, tone);
            let _ = writeln!(self.out, "{}{line}", if at == 0 { first } else { then });
        }
    }

    /// `text` wrapped; on a terminal words that are longer than a line are broken.
    fn fitting(&self, text: &str, columns: usize) -> Vec<String> {
        let lines = wrap(text, columns);
        match self.style.columns {
            Some(_) => lines.iter().flat_map(|line| cut(line, columns)).collect(),
            None => lines,
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
            let columns = page.style.width.saturating_sub(indent.len()).max(page.least());
            let lines = page.fitting(&tame(first), columns);
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
    let most = if page.style.all { usize::MAX } else { gated::MOST_REASONS };
    let (shown, more): (Vec<_>, Vec<_>) = reasons.enumerate().partition(|(at, _)| at + 1 < most);
    for (_, reason) in shown {
        page.prose(&indent, reason, Tone::Plain);
    }
    if !more.is_empty() {
        let more = format!("and {}: --all", number::counted(more.len() as u64, "more reason"));
        page.prose(&indent, &more, Tone::Dim);
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
            page.prose("  ", &more, Tone::Plain);
        }
    }
}

fn table(page: &mut Page, table: &Table) {
    rows(page, table, "", &[]);
}

/// A table whose rows are painted in these tones; where the terminal is too narrow for it, a row below the other.
pub(crate) fn rows(page: &mut Page, table: &Table, indent: &str, tones: &[Tone]) {
    let tone = |at: usize| tones.get(at).copied().unwrap_or(Tone::Plain);
    let room = page.style.columns.map(|columns| columns.saturating_sub(indent.len()));
    if let Some(room) = room.filter(|room| table.width() > *room) {
        for (at, lines) in table.stacked(room).iter().enumerate() {
            for line in lines {
                let line = page.paint(line, tone(at));
                page.line(&format!("{indent}{line}"));
            }
        }
        return;
    }
    let (head, lines) = table.lines();
    if !head.is_empty() {
        let head = page.paint(&format!("{indent}{head}"), Tone::Dim);
        page.line(&head);
    }
    for (at, line) in lines.iter().enumerate() {
        let line = page.paint(line, tone(at));
        page.line(&format!("{indent}{line}"));
    }
}

fn differences(page: &mut Page, report: &Report) {
    if report.differences.is_empty() && report.one_sided.is_empty() {
        return;
    }
    page.heading("What differs");
    let (table, listed) = deployments::differences(&report.differences);
    let mut effect = None;
    let room = page.style.columns.map(|columns| columns.saturating_sub(4)).filter(|room| table.width() > *room);
    let lines: Vec<Vec<String>> = match room {
        Some(room) => table.stacked(room),
        None => table.lines().1.into_iter().map(|line| vec![line]).collect(),
    };
    for (lines, one) in lines.iter().zip(listed) {
        // Fields of one effect follow each other.
        if effect != Some(&one.effect) {
            page.prose("  ", one.effect.as_deref().unwrap_or(deployments::NOTHING_KNOWN), Tone::Dim);
            effect = Some(&one.effect);
        }
        lines.iter().for_each(|line| page.line(&format!("    {line}")));
    }
    if let Some(more) = deployments::more_differences(&report.differences) {
        page.prose("  ", &more, Tone::Plain);
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
    let dropped = narrowed(page, &mut laid.table);
    page.line("");
    let two_sides = report.sides.base.is_some();
    let tone = |claim: &Claim| match claim {
        Claim::Shown if !two_sides => Tone::Plain,
        claim => tone::of_claim(*claim),
    };
    let tones: Vec<Tone> = laid.claims.iter().map(tone).collect();
    rows(page, &laid.table, "", &tones);
    for footnote in laid.footnotes.iter().chain(&below).chain(&dropped) {
        page.prose("  ", footnote, Tone::Dim);
    }
}

/// Drops the columns that a reader misses least until the table fits the terminal, and says so.
fn narrowed(page: &Page, table: &mut Table) -> Option<String> {
    let room = page.style.columns?;
    let mut dropped = Vec::new();
    for (column, name) in metrics::LEAST_MISSED {
        if table.width() <= room {
            break;
        }
        table.clear(column);
        dropped.push(name);
    }
    (!dropped.is_empty()).then(|| format!("not shown for want of columns: {}", dropped.join(", ")))
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
        page.prose("  ", &format!("and {} more: --format json lists all", number::count(more as u64)), Tone::Plain);
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
    page.prose("", &format!("{}{seed}", report.tool), Tone::Dim);
}
