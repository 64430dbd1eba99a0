//! What can go wrong between bytes and evidence.

use std::path::{Path, PathBuf};

/// Why an input could not be read: what failed, where, and how to mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The path as it was given.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that holds several runs has fewer than asked for.
    #[error("{path} holds {runs} runs, there is no run {number}")]
    NoSuchRun {
        /// The file.
        path: PathBuf,
        /// The run asked for, counted from 1.
        number: usize,
        /// How many there are.
        runs: usize,
    },
    /// A pipe, a socket or a device.
    #[error("{path} is no regular file but a pipe, a socket or a device: save its content to a file and give that")]
    NotAFile {
        /// The path as it was given.
        path: PathBuf,
    },
    /// More bytes than the limit.
    #[error("{path} has {bytes} bytes, more than the limit of {limit}: split it, or raise the limit")]
    TooLarge {
        /// The path as it was given.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It looks like a format that is known, but is not well-formed.
    #[error("{path}{}: malformed {format}: {reason}", line_of(*line))]
    Malformed {
        /// The path as it was given.
        path: PathBuf,
        /// The line, counted from 1, where there is one.
        line: Option<u64>,
        /// What it was taken for.
        format: &'static str,
        /// Why, and how to mend it.
        reason: String,
    },
    /// A stream that breaks off: a damaged or cut archive, or one that expands beyond the bounds.
    #[error("{path} breaks off: {reason}")]
    Damaged {
        /// The path as it was given.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// No format that is known.
    #[error(
        "cannot tell what {path} is: give a run bundle, a result file of vllm bench serve, sglang.bench_serving, \
         aiperf, guidellm or inference-perf, or a folder that holds one"
    )]
    Unknown {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A format that is known, but holds no run.
    #[error("{path} is {what} and holds no run: give the benchmark's result file, or the folder that holds both")]
    NotARun {
        /// The path as it was given.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// A folder without any result.
    #[error("no run bundle or benchmark result in {path}{}", unread_of(*unread))]
    NothingFound {
        /// The folder as it was given.
        path: PathBuf,
        /// Files in it that looked like a result but could not be read.
        unread: u64,
    },
    /// Answers of a server that hold no sample.
    #[error("{path} holds no sample: {why}")]
    NoSample {
        /// The path as it was given.
        path: PathBuf,
        /// Why, in the server's words where it gave some.
        why: String,
    },
    /// A bundle that cannot be opened.
    #[error("cannot open the run bundle {path}: {source}")]
    Bundle {
        /// The folder as it was given.
        path: PathBuf,
        /// Why.
        source: Box<firstcheck_bundle::Error>,
    },
}

fn line_of(line: Option<u64>) -> String {
    line.map_or_else(String::new, |n| format!(": line {n}"))
}

fn unread_of(unread: u64) -> String {
    if unread == 0 { String::new() } else { format!(" ({unread} files could not be read)") }
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    pub(crate) fn malformed(
        path: &Path,
        line: impl Into<Option<u64>>,
        format: &'static str,
        reason: impl Into<String>,
    ) -> Self {
        Self::Malformed { path: path.into(), line: line.into(), format, reason: reason.into() }
    }

    pub(crate) fn json(path: &Path, format: &'static str, error: &serde_json::Error) -> Self {
        let mend = if error.is_eof() { "; it ends early, was the benchmark killed while writing it?" } else { "" };
        Self::malformed(path, error.line() as u64, format, format!("{error}{mend}"))
    }

    /// The path it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::NoSuchRun { path, .. }
            | Self::NotAFile { path }
            | Self::TooLarge { path, .. }
            | Self::Malformed { path, .. }
            | Self::Damaged { path, .. }
            | Self::Unknown { path }
            | Self::NotARun { path, .. }
            | Self::NothingFound { path, .. }
            | Self::NoSample { path, .. }
            | Self::Bundle { path, .. } => path,
        }
    }

    /// The line it is about, counted from 1.
    pub fn line(&self) -> Option<u64> {
        if let Self::Malformed { line, .. } = self { *line } else { None }
    }

    /// As a report lists it.
    pub fn unread(&self) -> firstcheck_model::report::Unread {
        let (path, line, reason) = (self.path().display().to_string(), self.line(), self.reason());
        firstcheck_model::report::Unread { path, line, reason }
    }

    /// Why, without path and line where they are told apart.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Malformed { format, reason, .. } => format!("malformed {format}: {reason}"),
            Self::Damaged { reason, .. } => format!("breaks off: {reason}"),
            Self::NoSample { why, .. } => format!("no sample: {why}"),
            other => other.to_string(),
        }
    }
}
