//! How long one waits: for a connection, for an answer's end, and from byte to byte.

use crate::{failure::Failure, options::Limits, wire::peer::ConnectionError};

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// For itself to be opened.
    Opening,
    /// For the socket to take the rest of the request.
    Sending,
    /// For the answer.
    Reading,
    /// For a request.
    Idle,
}

/// When patience runs out, and with which failure.
pub(crate) struct Patience {
    limits: Limits,
    connect_ns: i64,
    request_ns: i64,
    stall_ns: i64,
    /// For each connection the earliest entry in the agenda; `i64::MAX`: none. Bytes that come do not touch it: an entry
    /// that comes due too early is entered again, so a connection seldom has more than one.
    entered_ns: Vec<i64>,
}

impl Patience {
    pub fn new(limits: &Limits) -> Self {
        let nanoseconds = |time: std::time::Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        Self {
            limits: *limits,
            connect_ns: nanoseconds(limits.connect),
            request_ns: nanoseconds(limits.request),
            stall_ns: nanoseconds(limits.stall),
            entered_ns: Vec::new(),
        }
    }

    /// When patience runs out with what has lasted since `since_ns` and was last heard of at `heard_ns`.
    pub(super) fn end_ns(&self, phase: Phase, since_ns: i64, heard_ns: i64) -> i64 {
        match phase {
            Phase::Opening => since_ns.saturating_add(self.connect_ns),
            Phase::Sending => since_ns.saturating_add(self.request_ns),
            Phase::Reading => since_ns.saturating_add(self.request_ns).min(heard_ns.saturating_add(self.stall_ns)),
            Phase::Idle => i64::MAX,
        }
    }

    /// The failure of what ended at `now_ns` for want of patience.
    pub(super) fn failure(&self, phase: Phase, since_ns: i64, now_ns: i64) -> Failure {
        match phase {
            Phase::Opening => ConnectionError::ConnectTimeout { limit: self.limits.connect }.into(),
            Phase::Reading if now_ns < since_ns.saturating_add(self.request_ns) => Failure::stalled(self.limits.stall),
            Phase::Sending | Phase::Reading | Phase::Idle => Failure::timed_out(self.limits.request),
        }
    }

    /// Whether the connection `key` needs an entry in the agenda for `end_ns`; if so, it is taken as entered.
    pub fn needs_entry(&mut self, key: usize, end_ns: i64) -> bool {
        if self.entered_ns.len() <= key {
            self.entered_ns.resize(key + 1, i64::MAX);
        }
        let earlier = end_ns < self.entered_ns[key];
        if earlier {
            self.entered_ns[key] = end_ns;
        }
        earlier
    }

    /// Whether the entry of `key` for `due_ns` is the one that counts; if so, it is taken as done.
    pub fn take_entry(&mut self, key: usize, due_ns: i64) -> bool {
        match self.entered_ns.get_mut(key) {
            Some(entered_ns) if *entered_ns == due_ns => {
                *entered_ns = i64::MAX;
                true
            }
            _ => false,
        }
    }
}
