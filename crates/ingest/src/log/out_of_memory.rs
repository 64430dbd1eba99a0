//! What PyTorch says of a device's memory when it has run out.

use super::scan::leading_number;
use firstcheck_model::{engine_log::DeviceMemory, unit::Bytes};

/// The figures of `CUDA out of memory. Tried to allocate …`; `None` of any other message.
///
/// The processes on the device are listed, the one that failed as *this process*; in a container it does not know its own
/// number and lists itself as any other. Then it is the smallest that holds what the framework has given out.
pub(super) fn out_of_memory(message: &str) -> Option<DeviceMemory> {
    let (_, rest) = message.split_once("Tried to allocate ")?;
    let after = |mark: &str| rest.split_once(mark).and_then(|(_, text)| size(text));
    let before = |mark: &str| rest.split_once(mark).and_then(|(text, _)| size_at_end(text));
    let allocated = after("Of the allocated memory ");
    let mut processes = listed(rest);
    let own = after("this process has ").or_else(|| {
        let least = allocated?;
        let able = processes.iter().enumerate().filter(|(_, held)| **held >= least.0);
        let (at, _) = able.min_by(|a, b| a.1.total_cmp(b.1))?;
        // One of several that hold the same is its own; the others are others.
        Some(Bytes(processes.remove(at)))
    });
    Some(DeviceMemory {
        tried: size(rest),
        total: after("has a total capacity of "),
        free: before(" is free.").or_else(|| before(" free.")),
        own,
        others: own.map(|_| Bytes(processes.iter().fold(0.0, |sum, held| sum + held))),
        allocated,
        unallocated: before(" is reserved by PyTorch but unallocated"),
    })
}

/// What the listed processes hold: `Process 412 has 8.00 GiB memory in use.`
fn listed(text: &str) -> Vec<f64> {
    let entries = text.split("Process ").skip(1);
    entries.filter_map(|entry| size(entry.split_once(" has ")?.1)).map(|held| held.0).collect()
}

/// A size as PyTorch writes it: `8.00 GiB`, `20.00 MiB`, `512 bytes`.
fn size(text: &str) -> Option<Bytes> {
    let mut words = text.split_whitespace();
    let number = leading_number(words.next()?)?;
    let unit = words.next()?.trim_end_matches(['.', ',']);
    let scale = match unit {
        "GiB" | "GB" => Bytes::GIB,
        "MiB" | "MB" => Bytes::MIB,
        "KiB" | "KB" => 1024.0,
        "bytes" | "B" => 1.0,
        _ => return None,
    };
    Some(Bytes(number * scale))
}

/// The size that a text ends with.
fn size_at_end(text: &str) -> Option<Bytes> {
    let at = text.trim_end().rmatch_indices(' ').nth(1)?.0;
    size(&text[at..])
}
