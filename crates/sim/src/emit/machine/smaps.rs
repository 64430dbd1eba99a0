//! `/proc/PID/smaps_rollup`: the memory of a process by kind.

use crate::memory::{HostUse, ProcessMemory};
use std::fmt::Write;

/// Snapshots of all processes of an engine, one after the other, each under a line that dates and names it. Process ids
/// count up from `pid`.
pub fn smaps_rollup(held: &HostUse, unix_seconds: f64, pid: u32) -> String {
    let mut text = String::new();
    for ((_, memory), pid) in held.processes().iter().zip(pid..) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# {unix_seconds:.3} pid={pid}");
        write_one(&mut text, memory);
    }
    text
}

fn write_one(text: &mut String, memory: &ProcessMemory) {
    let ProcessMemory { anonymous, swapped, shared, file } = *memory;
    let _ = writeln!(text, "55d0a4e00000-7ffc6d9fe000 ---p 00000000 00:00 0                          [rollup]");
    for (field, bytes) in [
        ("Rss", anonymous + shared + file),
        ("Pss", anonymous + shared / 2.0 + file / 2.0),
        ("Pss_Anon", anonymous),
        ("Pss_File", file / 2.0),
        ("Pss_Shmem", shared / 2.0),
        ("Shared_Clean", file),
        ("Shared_Dirty", shared),
        ("Private_Clean", 0.0),
        ("Private_Dirty", anonymous),
        ("Referenced", anonymous + shared + file),
        ("Anonymous", anonymous),
        ("LazyFree", 0.0),
        ("AnonHugePages", 0.0),
        ("Swap", swapped),
        ("SwapPss", swapped),
        ("Locked", 0.0),
    ] {
        let _ = writeln!(text, "{:<16}{:>8} kB", format!("{field}:"), (bytes / 1024.0).round());
    }
}
