//! How far a run is, for whoever shows it.

use crate::stop::Stop;
use firstcheck_model::moment::Moment;
use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

/// In which part of a run one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Requests are sent, but not counted.
    WarmUp,
    /// Requests are sent and counted.
    Window,
    /// Nothing is sent any more; answers are awaited.
    Drain,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The present moment of the run.
    pub at: Moment,
    /// In which part it is.
    pub phase: Phase,
    /// Requests in the trace.
    pub planned: u64,
    /// Requests sent.
    pub sent: u64,
    /// Requests that ended, however.
    pub done: u64,
    /// Requests that did not end well.
    pub failed: u64,
    /// Events received.
    pub events: u64,
}

impl Progress {
    /// Requests in flight.
    pub fn in_flight(&self) -> u64 {
        self.sent.saturating_sub(self.done)
    }
}

/// Totals of all shards, told by each some 50 times a second.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub sent: AtomicU64,
    pub done: AtomicU64,
    pub failed: AtomicU64,
    pub events: AtomicU64,
    /// Failed and timed-out requests, against their limit.
    pub errors: AtomicU64,
    /// Shards that have offered all they will.
    pub drained: AtomicU64,
}

/// Who is told of the progress.
type Listener = Arc<dyn Fn(&Progress) + Send + Sync>;

/// A run seen from outside: how to end it early, and who is told how far it is.
#[derive(Clone, Default)]
pub struct Control {
    /// Ends the run early.
    pub stop: Stop,
    listener: Option<Listener>,
}

impl Control {
    /// Tells `listener` how far the run is, about ten times a second, on the thread that called `run`.
    pub fn on_progress(self, listener: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Arc::new(listener)), ..self }
    }

    pub(crate) fn tell(&self, progress: &Progress) {
        if let Some(listener) = &self.listener {
            listener(progress);
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("stop", &self.stop).finish_non_exhaustive()
    }
}
