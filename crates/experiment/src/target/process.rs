//! A server that was started: a group of processes of its own, which is ended for sure.

use crate::{error::Error, ledger};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::{
    fs::File,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Time between two looks at a process or a server that is waited for.
pub(super) const PAUSE: Duration = Duration::from_millis(100);
/// How long processes that were killed may take to be gone.
const KILLED: Duration = Duration::from_secs(10);
/// Lines of a log that an error repeats.
const LAST_LINES: usize = 15;
/// Most bytes of a log that are read for them.
const TAIL_BYTES: u64 = 64 << 10;

/// A started process with all that it has started. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    /// Starts `argv`, without a shell, with what it says going to `log`.
    ///
    /// # Errors
    /// A log that cannot be written, or a program that cannot be started.
    pub fn start(argv: &[String], log: &Path, environment: &[(&str, &str)]) -> Result<Self, Error> {
        let child = spawn(argv, log, environment)?;
        Ok(Self { child, log: log.to_owned() })
    }

    /// What the ledger notes of it.
    pub fn noted(&self) -> ledger::Process {
        let id = self.child.id();
        ledger::Process { id, began: began(id) }
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// The last lines that it said.
    pub fn last_words(&self) -> String {
        last_lines(&self.log)
    }

    /// Ends it: politely first, then for sure.
    pub fn stop(mut self, grace: Duration) {
        let group = Pid::from_child(&self.child);
        end_group(group, grace, &mut || {
            // Only a process that was waited for is gone.
            let _ = self.child.try_wait();
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.child);
        if test_kill_process_group(group).is_ok() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Runs `argv` to its end, for at most `limit`; what it says is added to `log`.
///
/// # Errors
/// A program that cannot be started, fails, or takes too long.
pub(super) fn run_hook(
    argv: &[String],
    log: &Path,
    environment: &[(&str, &str)],
    limit: Duration,
) -> Result<(), Error> {
    let mut running = Running::start(argv, log, environment)?;
    let begun = Instant::now();
    let failed = |how: String| Error::Hook { command: argv.join(" "), how, log: last_lines(log) };
    loop {
        match running.child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(failed(status.to_string())),
            Ok(None) if begun.elapsed() > limit => {
                return Err(failed(format!("not ended after {} s", limit.as_secs())));
            }
            Ok(None) => std::thread::sleep(PAUSE),
            Err(error) => return Err(failed(error.to_string())),
        }
    }
}

/// Ends what an interrupted experiment has left of a process group, if it is still that one.
pub(super) fn end_left(process: ledger::Process, grace: Duration) {
    let Some(group) = i32::try_from(process.id).ok().and_then(Pid::from_raw) else { return };
    // While a process of the group lives, the kernel gives its number to no other: only a leader can be another's.
    let leader = began(process.id);
    if leader.is_none() || leader == process.began {
        end_group(group, grace, &mut || {});
    }
}

fn end_group(group: Pid, grace: Duration, reap: &mut dyn FnMut()) {
    for (signal, patience) in [(Signal::TERM, grace), (Signal::KILL, KILLED)] {
        let begun = Instant::now();
        // An error means that no process of the group is left.
        if kill_process_group(group, signal).is_err() {
            return;
        }
        while begun.elapsed() < patience {
            reap();
            if test_kill_process_group(group).is_err() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

fn spawn(argv: &[String], log: &Path, environment: &[(&str, &str)]) -> Result<Child, Error> {
    let fail = |source| Error::File { action: "write", path: log.to_owned(), source };
    let [program, arguments @ ..] = argv else {
        return Err(Error::Start { program: String::new(), source: std::io::Error::other("the command is empty") });
    };
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    let out = File::options().append(true).create(true).open(log).map_err(fail)?;
    let err = out.try_clone().map_err(fail)?;
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
    command.spawn().map_err(|source| Error::Start { program: program.clone(), source })
}

/// When the kernel says that a process began, in ticks since the machine did.
fn began(id: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in brackets may hold blanks and brackets; what follows the last one does not.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// The last lines of a log, each with a mark before it.
fn last_lines(log: &Path) -> String {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let Ok(bytes) = read() else { return format!("{} cannot be read", log.display()) };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return format!("{} is empty", log.display());
    }
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    format!("the end of {}:\n  | {}", log.display(), last.join("\n  | "))
}
