//! The host that the client runs on, just before a run.

/// Where Linux tells how many processes ran or waited, a minute's mean first.
const LOAD: &str = "/proc/loadavg";

/// Processes a core over the last minute; `None` where the host does not tell.
pub(super) fn load() -> Option<f64> {
    let text = std::fs::read_to_string(LOAD).ok()?;
    let processes: f64 = text.split_whitespace().next()?.parse().ok()?;
    let cores = std::thread::available_parallelism().ok()?.get();
    Some(processes / cores as f64)
}
