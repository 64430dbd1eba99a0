//! Dumps of `py-spy dump`, as text (one or several in a row, with native frames and locals or not) and as JSON.

use crate::error::Error;
use firstcheck_model::{
    hang::{Activity, StackDump, StackFrame, StackTool, ThreadStack},
    report::Unread,
};
use serde::Deserialize;
use std::path::Path;

/// Reads the text form. Lines that are none of its are returned with their number.
pub fn read_py_spy_text(path: &Path, text: &str, rank: Option<u32>) -> (Vec<StackDump>, Vec<Unread>) {
    let (mut dumps, mut unread): (Vec<StackDump>, Vec<Unread>) = (Vec::new(), Vec::new());
    // Arguments and locals are indented deeper than frames and end with the next line that is not.
    let mut in_variables = false;
    for (number, line) in (1u64..).zip(text.lines()) {
        let indent = line.len() - line.trim_start().len();
        let content = line.trim();
        in_variables = in_variables && indent > 4;
        if content.is_empty() || in_variables {
            continue;
        }
        if indent == 0
            && let Some(process) = content.strip_prefix("Process ")
        {
            dumps.push(process_line(process, rank, number));
            continue;
        }
        let Some(dump) = dumps.last_mut() else {
            unread.push(unread_line(path, number, "a line before the first `Process` line"));
            continue;
        };
        if indent == 0 && content.starts_with("Python v") {
            continue;
        }
        if indent > 4 {
            in_variables = matches!(content, "Arguments:" | "Locals:");
        }
        if in_variables {
            continue;
        }
        match (indent, dump.threads.last_mut()) {
            (0, _) if content.starts_with("Thread ") => dump.threads.push(thread_line(content)),
            (1.., Some(thread)) => thread.frames.push(frame(content)),
            _ => unread.push(unread_line(path, number, "neither a thread nor a frame of py-spy")),
        }
    }
    (dumps, unread)
}

fn unread_line(path: &Path, line: u64, reason: &str) -> Unread {
    Unread { path: path.display().to_string(), line: Some(line), reason: reason.into() }
}

/// `29736: python serve.py`
fn process_line(rest: &str, rank: Option<u32>, line: u64) -> StackDump {
    let (pid, command) = rest.split_once(':').unwrap_or((rest, ""));
    let command = Some(command.trim().to_owned()).filter(|command| !command.is_empty());
    StackDump { tool: StackTool::PySpy, pid: pid.trim().parse().ok(), command, rank, line, threads: Vec::new() }
}

/// `Thread 29736 (idle): "MainThread"`, `Thread 0x7F… (active+gil): "worker"`
fn thread_line(line: &str) -> ThreadStack {
    let rest = line.trim_start_matches("Thread ");
    let id = rest.split([' ', ':', '(']).next().unwrap_or_default();
    let os_id = match id.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => id.parse().ok(),
    };
    let status = rest.split_once('(').and_then(|(_, after)| after.split_once(')')).map(|(status, _)| status);
    let says = |word: &str| status.is_some_and(|status| status.split('+').any(|part| part == word));
    let name = rest.split_once('"').and_then(|(_, after)| after.rsplit_once('"')).map(|(name, _)| name.to_owned());
    let activity =
        if says("idle") { Some(Activity::Idle) } else { (says("active") || says("gil")).then_some(Activity::Active) };
    ThreadStack { name, os_id, activity, holds_gil: status.map(|_| says("gil")), waits_for: None, frames: Vec::new() }
}

/// `all_reduce (torch/distributed/distributed_c10d.py:4181)`, `clock_nanosleep (libc.so.6)`: the last parenthesis, since
/// a C++ function carries some of its own.
fn frame(line: &str) -> StackFrame {
    let Some((function, place)) = line.strip_suffix(')').and_then(|line| line.rsplit_once(" (")) else {
        return StackFrame { function: line.to_owned(), file: None, line: None };
    };
    let numbered = place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let (file, line) = numbered.map_or((place, None), |(file, line)| (file, Some(line)));
    StackFrame { function: function.to_owned(), file: Some(file.to_owned()), line }
}

#[derive(Deserialize)]
struct JsonThread {
    pid: Option<u64>,
    thread_name: Option<String>,
    os_thread_id: Option<u64>,
    active: Option<bool>,
    owns_gil: Option<bool>,
    frames: Vec<JsonFrame>,
}

#[derive(Deserialize)]
struct JsonFrame {
    name: String,
    filename: Option<String>,
    short_filename: Option<String>,
    line: Option<i64>,
}

/// Reads the JSON form: a list of threads, of one process or of several.
///
/// # Errors
/// JSON that is malformed or is no list of threads.
pub fn read_py_spy_json(path: &Path, bytes: &[u8], rank: Option<u32>) -> Result<Vec<StackDump>, Error> {
    let threads: Vec<JsonThread> =
        serde_json::from_slice(bytes).map_err(|error| Error::json(path, "dump of py-spy", &error))?;
    let mut dumps: Vec<StackDump> = Vec::new();
    for thread in threads {
        let place = dumps.iter().position(|dump| dump.pid == thread.pid).unwrap_or(dumps.len());
        if place == dumps.len() {
            let (tool, pid) = (StackTool::PySpy, thread.pid);
            dumps.push(StackDump { tool, pid, command: None, rank, line: 1, threads: Vec::new() });
        }
        dumps[place].threads.push(ThreadStack {
            name: thread.thread_name,
            os_id: thread.os_thread_id,
            activity: thread.active.map(|active| if active { Activity::Active } else { Activity::Idle }),
            holds_gil: thread.owns_gil,
            waits_for: None,
            frames: thread.frames.into_iter().map(json_frame).collect(),
        });
    }
    Ok(dumps)
}

fn json_frame(frame: JsonFrame) -> StackFrame {
    let line = frame.line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0);
    StackFrame { function: frame.name, file: frame.short_filename.or(frame.filename), line }
}
