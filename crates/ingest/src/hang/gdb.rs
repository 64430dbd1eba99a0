//! Backtraces of gdb's `thread apply all bt`.

use firstcheck_model::hang::{StackDump, StackFrame, StackTool, ThreadStack};

/// Frames that a waiting lock is looked for in, from the innermost.
const LOCK_FRAMES: usize = 4;

/// Reads the backtraces of one process. Lines before the first thread and after the last frame are gdb's chatter, and a
/// frame that was wrapped goes on in the next line.
pub fn read_gdb(text: &str, rank: Option<u32>) -> Option<StackDump> {
    let mut dump = StackDump { tool: StackTool::Gdb, pid: None, command: None, rank, line: 0, threads: Vec::new() };
    let mut wrapped = String::new();
    for (number, line) in (1u64..).zip(text.lines()) {
        if let Some(thread) = thread_line(line) {
            finish_frame(&mut wrapped, &mut dump);
            if dump.line == 0 {
                dump.line = number;
            }
            dump.threads.push(thread);
        } else if line.starts_with('#') && line[1..].starts_with(|c: char| c.is_ascii_digit()) {
            finish_frame(&mut wrapped, &mut dump);
            wrapped.push_str(line);
        } else if !wrapped.is_empty() && line.starts_with(' ') {
            wrapped.push(' ');
            wrapped.push_str(line.trim());
        } else {
            finish_frame(&mut wrapped, &mut dump);
            if let Some((_, rest)) = line.split_once("(process ") {
                dump.pid = dump.pid.or_else(|| rest.split(')').next()?.trim().parse().ok());
            }
        }
    }
    finish_frame(&mut wrapped, &mut dump);
    (!dump.threads.is_empty()).then_some(dump)
}

/// `Thread 2 (Thread 0x7fd725f616c0 (LWP 837) "kv-worker"):`, `Thread 1 (LWP 12):`
fn thread_line(line: &str) -> Option<ThreadStack> {
    let rest = line.strip_prefix("Thread ")?;
    let (number, rest) = rest.split_once(" (")?;
    number.parse::<u32>().ok()?;
    rest.trim_end().strip_suffix(':')?;
    let os_id =
        rest.split_once("LWP ").and_then(|(_, after)| after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    let name = rest.split_once('"').and_then(|(_, after)| after.rsplit_once('"')).map(|(name, _)| name.to_owned());
    Some(ThreadStack { name, os_id, activity: None, holds_gil: None, waits_for: None, frames: Vec::new() })
}

fn finish_frame(wrapped: &mut String, dump: &mut StackDump) {
    let line = std::mem::take(wrapped);
    if line.is_empty() {
        return;
    }
    let Some(thread) = dump.threads.last_mut() else { return };
    if thread.waits_for.is_none() && thread.frames.len() < LOCK_FRAMES {
        thread.waits_for = lock_symbol(&line);
    }
    thread.frames.push(frame(&line));
}

/// The symbol of the lock that a frame waits for: `futex_word=0x55f9 <queue_lock>`, `mutex=0x55f9 <queue_lock>`.
fn lock_symbol(line: &str) -> Option<String> {
    let (_, after) = ["futex_word=", "futex=", "mutex=", "cond="].iter().find_map(|name| line.split_once(name))?;
    let argument = after.split([',', ')']).next()?;
    let symbol = argument.split_once('<')?.1.split('>').next()?;
    (symbol != "optimized out").then(|| symbol.to_owned())
}

/// `#4  0x000055f9 in worker (x=0x0) at h.c:5`, `#6  0x00007f in wait () from /lib/libtorch_cpu.so`
fn frame(line: &str) -> StackFrame {
    let rest = line.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    let rest = match rest.split_once(" in ") {
        Some((address, after)) if address.starts_with("0x") => after,
        _ => rest,
    };
    // Arguments begin at the first ` (`; a C++ name carries parentheses of its own without the space before.
    let function = rest.split(" (").next().unwrap_or(rest).trim();
    let place = rest.rsplit_once(" at ").or_else(|| rest.rsplit_once(" from ")).map(|(_, place)| place.trim());
    let numbered = place.and_then(|place| place.rsplit_once(':')).and_then(|(file, n)| Some((file, n.parse().ok()?)));
    let (file, line) = numbered.map_or((place, None), |(file, n)| (Some(file), Some(n)));
    StackFrame { function: function.to_owned(), file: file.map(str::to_owned), line }
}
