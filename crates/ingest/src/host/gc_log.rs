//! Lines in which Python's garbage collector tells of a collection.
//!
//! Three programs write them: SGLang's warning of a long collection, vLLM's collector log, and `gc.DEBUG_STATS` of
//! Python itself (its last line of three carries the duration).

use crate::log::scan::{number_after, whole_after};
use firstcheck_model::unit::Seconds;

/// A collection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GcPause {
    /// Generation; `None`: the line does not tell it.
    pub generation: Option<u32>,
    /// How long it took.
    pub length: Seconds,
    /// Objects that were alive in all generations, where stated.
    pub objects: Option<u64>,
}

/// The collection that a line tells of. Whatever stands before it (a time, a process) is passed over.
///
/// # Example: SGLang's warning
/// ```
/// use firstcheck_ingest::host::gc_pause;
/// let line = "[2026-01-02 03:04:05] LONG GARBAGE COLLECTION DETECTED | Generation 2 | Duration: 0.4120s | # Objects: \
///             gen0=10, gen1=20, gen2=2000000 | This may cause latency jitter.";
/// let pause = gc_pause(line).ok_or("no collection")?;
/// assert_eq!((pause.generation, pause.length.0, pause.objects), (Some(2), 0.412, Some(2_000_030)));
/// assert_eq!(gc_pause("gc: done, 12 unreachable, 0 uncollectable, 0.0123s elapsed").map(|p| p.length.0), Some(0.0123));
/// # Ok::<(), &str>(())
/// ```
pub fn gc_pause(line: &str) -> Option<GcPause> {
    if let Some((_, rest)) = line.split_once("LONG GARBAGE COLLECTION DETECTED") {
        let objects: Vec<u64> = ["gen0=", "gen1=", "gen2="].iter().filter_map(|name| whole_after(rest, name)).collect();
        return Some(GcPause {
            generation: whole_after(rest, "Generation ").and_then(|n| u32::try_from(n).ok()),
            length: seconds(number_after(rest, "Duration: ")?)?,
            objects: (objects.len() == 3).then(|| objects.iter().sum()),
        });
    }
    if let Some((_, rest)) = line.split_once("gc: done") {
        let before = rest.split_once("s elapsed")?.0;
        let length = before.rsplit([',', ' ']).next()?.parse().ok()?;
        return seconds(length).map(|length| GcPause { generation: None, length, objects: None });
    }
    if let Some((_, rest)) = line.split_once("GC took ") {
        let (milliseconds, after) = rest.split_once("ms to complete")?;
        let length = seconds(milliseconds.trim().parse::<f64>().ok()? / 1e3)?;
        let generation = whole_after(after, "generation ").and_then(|n| u32::try_from(n).ok());
        return Some(GcPause { generation, length, objects: whole_after(after, "(out of ") });
    }
    None
}

fn seconds(value: f64) -> Option<Seconds> {
    (value.is_finite() && value >= 0.0).then_some(Seconds(value))
}
