//! How a line of the engine's log looks, by version.

use crate::emit::{calendar::Civil, version::Version};
use std::fmt::Write;

/// Process that writes a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    /// The API server.
    Api,
    /// The engine's core.
    Core,
    /// The worker of a rank; with a single GPU it is the core itself.
    Worker(u32),
}

/// How severe a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Debug,
    Info,
    Warning,
    Error,
}

impl Level {
    const fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }
}

/// A place in the source: folder, file, line in 0.16, line in 0.32. Before 0.10 and at other releases the lines differ;
/// a reader must not depend on them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site(pub(super) &'static str, pub(super) &'static str, pub(super) u32, pub(super) u32);

/// A message of the logger.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) process: Process,
    pub(super) level: Level,
    pub(super) site: Site,
    pub(super) message: String,
}

/// The look of one server's log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Style {
    pub(super) version: Version,
    /// Whether the server logs at DEBUG.
    pub(super) verbose: bool,
    /// Tensor-parallel ranks of the engine.
    pub(super) ranks: u32,
    /// Attention ranks of the server.
    pub(super) data_ranks: u32,
    /// Process id of the API server; the others follow.
    pub(super) pid: u32,
}

impl Style {
    /// Whether the release is at least 0.`minor`.
    pub(super) fn since(&self, minor: u32) -> bool {
        self.version >= Version::new(0, minor, 0)
    }

    pub(super) fn pid_of(&self, process: Process) -> u32 {
        match process {
            Process::Api => self.pid,
            Process::Core => self.pid + 182,
            Process::Worker(_) if self.ranks == 1 => self.pid + 182,
            Process::Worker(rank) => self.pid + 318 + rank,
        }
    }

    /// The name that the release gives the core's process.
    pub(super) fn core_name(&self) -> &'static str {
        if self.since(18) && self.data_ranks == 1 { "EngineCore" } else { "EngineCore_DP0" }
    }

    /// `(EngineCore pid=182) `, with the name that the release gives the process.
    pub(super) fn decoration(&self, process: Process) -> String {
        let pid = self.pid_of(process);
        let core = self.core_name();
        match process {
            Process::Api => format!("(APIServer pid={pid}) "),
            Process::Worker(rank) if self.ranks > 1 => format!("(Worker_TP{rank} pid={pid}) "),
            Process::Core | Process::Worker(_) => format!("({core} pid={pid}) "),
        }
    }

    /// Lines that do not come from the logger (progress bars, the server's own, the last traceback of a process): bare
    /// since 0.29, decorated before.
    pub(super) fn bare(&self, text: &mut String, process: Process, message: &str) {
        let decoration = if self.since(29) { String::new() } else { self.decoration(process) };
        for line in message.lines() {
            let _ = writeln!(text, "{decoration}{line}");
        }
    }

    /// A message of the logger: every line of it has the whole prefix.
    pub(super) fn line(&self, text: &mut String, at: Civil, line: &Line) {
        let Line { process, level, site, message } = line;
        if *level == Level::Debug && !self.verbose {
            return;
        }
        let Site(folder, file, old, new) = *site;
        // At DEBUG the file stands with its folder, on lines of every level.
        let folder = if self.verbose { folder } else { "" };
        let line = if self.since(29) { new } else { old };
        let decoration = self.decoration(*process);
        let Civil { month, day, hour, minute, second, .. } = at;
        for part in message.split('\n') {
            let _ = writeln!(
                text,
                "{decoration}{} {month:02}-{day:02} {hour:02}:{minute:02}:{second:02} [{folder}{file}:{line}] {part}",
                level.name()
            );
        }
    }
}

/// A whole number with commas between thousands.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in GiB with two decimals at most, as the engine rounds them.
pub(super) fn gib(bytes: f64) -> String {
    let rounded = (bytes / crate::memory::GIB * 100.0).round() / 100.0;
    // Minus zero is printed as zero.
    format!("{:?}", rounded + 0.0)
}
