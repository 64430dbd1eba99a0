//! Thresholds that measurements share: what counts as a window that can be believed.
//!
//! They are configured as sections of their own beside those of the checks: `[check.window]`.

use crate::declare::Param;

/// A threshold of a shared measurement.
#[derive(Debug, Clone, Copy)]
pub struct Shared {
    /// Its section in `[check.<section>]`.
    pub section: &'static str,
    /// Name, default, unit and meaning.
    pub param: Param,
}

const fn shared(
    section: &'static str,
    name: &'static str,
    default: f64,
    unit: &'static str,
    meaning: &'static str,
) -> Shared {
    Shared { section, param: Param { name, default, unit, meaning } }
}

/// Shortest window of which the server's counters are used.
pub static SHORTEST: Shared =
    shared("window", "shortest", 10.0, "s", "a shorter window tells nothing of rates and means");
/// How much of a window its samples may leave uncovered at either end.
pub static STALE: Shared =
    shared("window", "stale", 0.2, "1", "share of the window that scraped samples may leave uncovered at either end");
/// How far the server's count of finished requests may be from the client's.
pub static FOREIGN: Shared = shared(
    "window",
    "foreign",
    0.02,
    "1",
    "share of finished requests that may be others' before means of the window are not the client's",
);

/// Share of zero gaps from which gaps between events are not read as the server's.
pub static COALESCED: Shared = shared(
    "events",
    "coalesced",
    0.05,
    "1",
    "share of event gaps below 50 µs from which a client or proxy delivers in bursts and the gaps are not the server's",
);

/// How sure a change within a run must be to count as its onset.
pub static ONSET_P: Shared =
    shared("onset", "p", 1e-3, "1", "chance at which a run without a change would show one as large");
/// How large.
pub static ONSET_RATIO: Shared =
    shared("onset", "ratio", 1.5, "1", "ratio of the medians after and before from which a change is an onset");

/// All of them, in the order of sections and names.
pub static SHARED: &[&Shared] = &[&COALESCED, &ONSET_P, &ONSET_RATIO, &FOREIGN, &SHORTEST, &STALE];
