//! Where results go: standard output or a file, opened before the work begins; and how errors are said.

use crate::args::{Color, OutputArgs};
use anyhow::Context as _;
use firstcheck_model::report::Report;
use firstcheck_report::{Format, Style, render};
use std::{
    fs::File,
    io::{self, IsTerminal, Write},
    path::PathBuf,
};

/// Columns beyond which prose is not drawn out, however wide the terminal is.
const WIDEST: usize = 120;
/// Columns below which wrapping only makes it worse.
const NARROWEST: usize = 40;

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
        let width = match columns() {
            Some(columns) if terminal => columns.min(WIDEST),
            _ => Style::default().width,
        };
        Style { color, width }
    }
}

/// Columns of the terminal, where they are known and enough to wrap at.
fn columns() -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size()?;
    Some(usize::from(columns)).filter(|columns| *columns >= NARROWEST)
}

/// A destination that is open.
pub struct Output {
    format: Format,
    terminal: Terminal,
    file: Option<(PathBuf, File)>,
}

impl Output {
    /// Opens the destination, so that a path that cannot be written is known before a run is spent on it.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn open(args: &OutputArgs, terminal: Terminal) -> anyhow::Result<Self> {
        let file = match &args.output {
            None => None,
            Some(path) => {
                let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
                Some((path.clone(), file))
            }
        };
        Ok(Self { format: args.format.into(), terminal, file })
    }

    /// Writes the report.
    ///
    /// # Errors
    /// A destination that cannot be written; a reader that has gone away is none.
    pub fn write(self, report: &Report) -> anyhow::Result<()> {
        let text = render(report, self.format, &self.terminal.style(self.file.is_some()))?;
        match self.file {
            Some((path, mut file)) => {
                file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
            }
            None => print(&text),
        }
    }
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
    let _ = io::stderr().write_all(text.as_bytes());
}
