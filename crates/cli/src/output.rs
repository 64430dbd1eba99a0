//! Where results go: standard output or a file, opened before the work begins; and how errors are said.

use crate::{
    args::{Color, OutputArgs},
    told,
};
use anyhow::{Context as _, bail};
use firstcheck_model::report::Report;
use firstcheck_report::{Format, Style, render, steers, without_commands};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

/// Columns beyond which prose is not drawn out, however wide the terminal is.
const WIDEST: usize = 120;
/// Columns below which no line can be laid out.
const NARROWEST: usize = 20;

/// What standard output can show.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    color: Color,
}

impl Terminal {
    /// Colour as asked; `auto`: where standard output is a terminal, `NO_COLOR` is unset or empty and `TERM` is not `dumb`.
    pub fn new(color: Color) -> Self {
        Self { color }
    }

    fn style(self, to_file: bool) -> Style {
        let terminal = io::stdout().is_terminal() && !to_file;
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb"),
        };
        let columns = columns().filter(|_| terminal);
        let width = columns.map_or(Style::default().width, |columns| columns.min(WIDEST));
        Style { color, width, columns, ..Style::default() }
    }
}

/// Columns of the terminal, where they are known; one that says it has next to none does not know.
fn columns() -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size()?;
    Some(usize::from(columns)).filter(|columns| *columns >= NARROWEST)
}

/// A destination that is open.
pub struct Output {
    format: Format,
    all: bool,
    terminal: Terminal,
    file: Option<Destination>,
}

impl Output {
    /// Opens the destination, so that a path that cannot be written is known before a run is spent on it. What is there
    /// stays until the report is written.
    ///
    /// # Errors
    /// A file that cannot be created, or that is one of the `inputs` or part of one that is a bundle.
    pub fn open(args: &OutputArgs, inputs: &[PathBuf], terminal: Terminal) -> anyhow::Result<Self> {
        let file = args.output.as_deref().map(|path| Destination::open(path, inputs)).transpose()?;
        Ok(Self { format: args.format().into(), all: args.all, terminal, file })
    }

    /// Writes a report that was just made, with the call that made it and the lines that its findings rest on.
    ///
    /// # Errors
    /// As [`Output::again`].
    pub fn write(self, report: &Report) -> anyhow::Result<()> {
        let mut report = report.clone();
        told::complete(&mut report);
        self.again(&report)
    }

    /// Writes a report as it is.
    ///
    /// # Errors
    /// A destination that cannot be written; a reader that has gone away is none.
    pub fn again(self, report: &Report) -> anyhow::Result<()> {
        let style = Style { all: self.all, ..self.terminal.style(self.file.is_some()) };
        let text = render(report, self.format, &style)?;
        match self.file {
            Some(file) => {
                let place = file.path.display().to_string();
                file.write(&text)?;
                // A job that only ends with a code leaves its reader to guess.
                if let Some(line) = firstcheck_report::headline(report) {
                    tell(&format!("{line}; the report is in {place}"));
                }
                Ok(())
            }
            None => print(&text),
        }
    }
}

/// A file that is open and not yet written.
struct Destination {
    path: PathBuf,
    /// None where it was not there before: it is made when it is written, so that nothing empty stays of a call that was
    /// killed.
    file: Option<File>,
}

impl Destination {
    fn open(path: &Path, inputs: &[PathBuf]) -> anyhow::Result<Self> {
        if let Some(input) = inputs.iter().find(|input| holds(input, path)) {
            bail!("--output {} would overwrite {}: name another file", path.display(), input.display());
        }
        let fleeting = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.with_context(|| format!("cannot create {}", path.display()))?;
        if fleeting {
            // An empty file that cannot be removed is no harm.
            let _ = fs::remove_file(path);
        }
        Ok(Self { path: path.into(), file: (!fleeting).then_some(file) })
    }

    fn write(self, text: &str) -> anyhow::Result<()> {
        let file = match self.file {
            Some(file) => Ok(file),
            None => File::create(&self.path),
        };
        let written = file.and_then(|mut file| {
            // A device or a pipe has no length to cut.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            file.write_all(text.as_bytes())
        });
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Whether `path` is the file `input`, or lies in it where that is a bundle. What is not there is neither.
fn holds(input: &Path, path: &Path) -> bool {
    let (Ok(input), Ok(path)) = (fs::canonicalize(input), fs::canonicalize(path)) else { return false };
    path == input || (input.join("run.json").is_file() && path.starts_with(&input))
}

/// Writes to standard output; a reader that has gone away (`| head`) is no error.
///
/// # Errors
/// Any other failure of standard output.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("cannot write standard output"),
        _ => Ok(()),
    }
}

/// Says on standard error what a user has to know before the work is done.
pub fn tell(text: &str) {
    // Nobody waits for it where there is no standard error.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Says what failed on standard error, and each cause on a line of its own.
pub fn print_error(error: &anyhow::Error) {
    let mut text = format!("error: {error}\n");
    let mut last = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Some errors repeat their source in their own text.
        if !last.ends_with(&cause) {
            text += &format!("cause: {cause}\n");
        }
        last = cause;
    }
    // Nothing is left to tell it to where even this cannot be printed.
    let _ = io::stderr().write_all(harmless(&text).as_bytes());
}

/// What steers a terminal, but for line breaks, as its escape: names of files and texts in them may hold it.
fn harmless(text: &str) -> String {
    let show = |c: char| match c {
        '\n' => "\n".to_owned(),
        c if steers(c) => c.escape_default().to_string(),
        c => c.to_string(),
    };
    without_commands(text.chars().map(show).collect())
}
