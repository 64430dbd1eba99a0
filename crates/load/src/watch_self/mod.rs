//! What the client finds out about itself, and what may therefore not be believed.
//!
//! What single events tell (gaps that arrived together, the delay between kernel and client) is folded by the journal's
//! thread from the rows themselves; here is what only the event loop can see.

pub(crate) mod heartbeat;
pub(crate) mod verdict;

use firstcheck_model::distribution::Distribution;

/// What one shard saw of itself inside the window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    /// Whether the window is open: what is not counted by request is not counted outside.
    pub measuring: bool,
    /// Actual minus intended send, of the requests intended from the window's start on.
    pub send_lag: Distribution,
    /// Events of whatever kind.
    pub events: u64,
    /// Events of whatever kind, those outside the window included.
    pub all_events: u64,
    /// Longest lateness of the heartbeat, nanoseconds.
    pub longest_stall_ns: i64,
    /// Times the heartbeat looked.
    pub beats: u64,
    /// Beats at which all streams of a closed loop should have been busy.
    pub looks: u64,
    /// Sum over those of requests in flight and of streams that think.
    pub busy: u64,
    /// CPU time of the shard's thread in the window, nanoseconds.
    pub cpu_ns: i64,
    /// Length of the window as the shard saw it, nanoseconds.
    pub window_ns: i64,
    /// Idle connections that the server had closed when they were to be used again.
    pub stale: u64,
    /// Connections opened.
    pub opened: u64,
    /// Intended send and time to first token of each request that was answered, in nanoseconds.
    pub first_tokens: Vec<(i64, i64)>,
}

impl Watch {
    /// Notes a read that ended `events` events.
    #[inline]
    pub fn read(&mut self, events: u64) {
        self.all_events += events;
        if self.measuring {
            self.events += events;
        }
    }

    /// Adds what another shard saw; of stalls and CPU the worst shard counts.
    pub fn merge(&mut self, other: &Self) {
        self.send_lag.merge(&other.send_lag);
        self.events += other.events;
        self.all_events += other.all_events;
        self.longest_stall_ns = self.longest_stall_ns.max(other.longest_stall_ns);
        self.beats = self.beats.max(other.beats);
        self.looks = self.looks.max(other.looks);
        self.busy += other.busy;
        self.cpu_ns = self.cpu_ns.max(other.cpu_ns);
        self.window_ns = self.window_ns.max(other.window_ns);
        self.stale += other.stale;
        self.opened += other.opened;
        self.first_tokens.extend_from_slice(&other.first_tokens);
    }
}
