//! Aligned columns and wrapped lines, ignorant of what they say.

/// Which way a column's cells lean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table: a head and rows of cells. Columns whose cells are all empty vanish when it is laid out.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

/// What of a table is shown: columns with anything in them, and the rows' cells in these.
#[derive(Debug, Clone)]
pub(crate) struct Shown<'t> {
    pub(crate) columns: Vec<(&'t str, Align)>,
    pub(crate) rows: Vec<Vec<&'t str>>,
}

impl Table {
    /// A table with these columns.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        Self { columns: columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect(), rows: Vec::new() }
    }

    /// Adds a row, its cells made safe for a terminal; cells beyond the columns are ignored, missing ones are empty.
    pub(crate) fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells.iter().map(|cell| tame(cell)).collect());
    }

    /// Empties a column, so that it vanishes.
    pub(crate) fn clear(&mut self, column: usize) {
        for row in &mut self.rows {
            if let Some(cell) = row.get_mut(column) {
                cell.clear();
            }
        }
    }

    fn kept(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|at| self.rows.iter().any(|row| !row[*at].is_empty())).collect()
    }

    fn widths(&self, kept: &[usize]) -> Vec<usize> {
        let cells = |at: usize| self.rows.iter().map(move |row| width(&row[at]));
        kept.iter().map(|at| cells(*at).chain([width(&self.columns[*at].0)]).max().unwrap_or(0)).collect()
    }

    /// Columns that its widest line takes.
    pub(crate) fn width(&self) -> usize {
        let kept = self.kept();
        self.widths(&kept).iter().map(|width| width + 2).sum::<usize>().saturating_sub(2)
    }

    /// The head and each row as padded lines, two spaces between columns, none at the end.
    pub(crate) fn lines(&self) -> (String, Vec<String>) {
        let kept = self.kept();
        let widths = self.widths(&kept);
        let line = |cells: &[&str]| {
            let mut out = String::new();
            for ((cell, at), wide) in cells.iter().zip(&kept).zip(&widths) {
                let space = " ".repeat(wide.saturating_sub(width(cell)));
                match self.columns[*at].1 {
                    Align::Left => out += &format!("{cell}{space}  "),
                    Align::Right => out += &format!("{space}{cell}  "),
                }
            }
            out.trim_end().to_owned()
        };
        let head = line(&kept.iter().map(|at| self.columns[*at].0.as_str()).collect::<Vec<_>>());
        let rows = self.rows.iter().map(|row| line(&kept.iter().map(|at| row[*at].as_str()).collect::<Vec<_>>()));
        (head, rows.collect())
    }

    /// The table for a place that is too narrow for it: each row is its first cell, and below it each of the others with
    /// the name of its column, wrapped. The lines of each row together.
    pub(crate) fn stacked(&self, columns: usize) -> Vec<Vec<String>> {
        let kept = self.kept();
        let of = |row: &Vec<String>| {
            let mut lines = Vec::new();
            let filled = kept.iter().filter(|at| !row[**at].is_empty());
            for (nth, at) in filled.enumerate() {
                let name = &self.columns[*at].0;
                let named =
                    if nth == 0 || name.is_empty() { row[*at].clone() } else { format!("{name}: {}", row[*at]) };
                let indent = if nth == 0 { "" } else { "  " };
                let room = columns.saturating_sub(indent.len()).max(1);
                lines.extend(
                    wrap(&named, room).iter().flat_map(|line| cut(line, room)).map(|line| format!("{indent}{line}")),
                );
            }
            lines
        };
        self.rows.iter().map(of).collect()
    }

    /// Its columns and rows as they are shown.
    pub(crate) fn shown(&self) -> Shown<'_> {
        let kept = self.kept();
        Shown {
            columns: kept.iter().map(|at| (self.columns[*at].0.as_str(), self.columns[*at].1)).collect(),
            rows: self.rows.iter().map(|row| kept.iter().map(|at| row[*at].as_str()).collect()).collect(),
        }
    }

    /// The table in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let kept = self.kept();
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = line(kept.iter().map(|at| escape(&self.columns[*at].0)).collect());
        let rule = |at: &usize| if self.columns[*at].1 == Align::Right { "---:" } else { "---" };
        out += &line(kept.iter().map(|at| rule(at).to_owned()).collect());
        for row in &self.rows {
            out += &line(kept.iter().map(|at| escape(&row[*at])).collect());
        }
        out
    }
}

/// Columns that a text takes: every character this crate prints of itself is one column wide.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Stands between two characters that mean something together, and shows nothing.
const APART: char = '\u{200b}';

/// Text from outside made safe for a Markdown cell or line: no table bars, no line breaks or other control characters, no
/// markup, no HTML, and nobody is mentioned who would be told of it.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '@' | '#' => out.extend([c, APART]),
            c if steers(c) => out.push(' '),
            '|' | '*' | '`' | '<' | '[' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// Text from outside made safe for a terminal and for the log of a job: what steers it becomes spaces, and what a workflow
/// would take for its commands is parted.
pub(crate) fn tame(text: &str) -> String {
    without_commands(text.chars().map(|c| if steers(c) { ' ' } else { c }).collect())
}

/// Text in which nothing is a command of a workflow of GitHub Actions (`::error::`, `##[group]`), whatever its name and
/// wherever a line may begin. Names like `std::vector` stay as they are.
pub fn without_commands(text: String) -> String {
    if !text.contains("::") && !text.contains("##[") {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        let named = || rest.get(2..).is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
        let begins = before.is_whitespace() && rest.starts_with("::") && named();
        out.push(c);
        if begins || rest.starts_with("##[") {
            out.push(APART);
        }
        before = c;
    }
    out
}

/// Whether a character steers what is around it and shows nothing: control characters (escape sequences, line breaks),
/// and those that turn the direction of a text, so that it reads as something else.
pub fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` broken between words into lines of at most `columns`; a longer word stands alone. No line breaks within
/// `n = 8` or `5 %`.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in unbroken(text) {
        if !line.is_empty() && width(&line) + 1 + width(&word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += &word;
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// A line in pieces of at most `columns`: a word that is longer than a line has to be broken somewhere.
pub(crate) fn cut(line: &str, columns: usize) -> Vec<String> {
    let all: Vec<char> = line.chars().collect();
    if all.is_empty() {
        return vec![String::new()];
    }
    all.chunks(columns.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// Words of `text`; an equals sign with both its neighbours is one, and a number with its percent sign.
fn unbroken(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if word == "=" || word.starts_with('%') || last.ends_with(" =") => {
                last.push(' ');
                *last += word;
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}
