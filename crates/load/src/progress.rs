//! How far a run is, for whoever shows it.

use crate::stop::Stop;
use firstcheck_model::{moment::Moment, unit::Seconds};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The present moment of the run.
    pub at: Moment,
    /// When nothing is offered any more; `None` where a closed loop's trace decides.
    pub until: Option<Moment>,
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
    /// Mean time to first token of the requests that were answered so far, warm-up included; `None` before the first.
    pub ttft: Option<Seconds>,
    /// Their mean time between tokens, where the answers tell how many tokens they have.
    pub itl: Option<Seconds>,
    /// The longest time in the window for which an event loop of the client stood still: what is measured then is its own.
    pub stall: Seconds,
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
    pub answers: AnswerCounters,
    /// The longest stall of any shard's loop, nanoseconds.
    pub stall_ns: AtomicU64,
}

/// Sums over the requests that were answered.
#[derive(Debug, Default)]
pub(crate) struct AnswerCounters {
    answered: AtomicU64,
    ttft_ns: AtomicU64,
    gaps: AtomicU64,
    gaps_ns: AtomicU64,
}

/// What the answers of one shard add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    pub answered: u64,
    pub ttft_ns: u64,
    /// Gaps between tokens of streams whose number of tokens is known, and the time from their first token to their last.
    pub gaps: u64,
    pub gaps_ns: u64,
}

impl AnswerCounters {
    /// Adds what has become more since `before`.
    pub fn add(&self, now: Answers, before: Answers) {
        self.answered.fetch_add(now.answered - before.answered, Ordering::Relaxed);
        self.ttft_ns.fetch_add(now.ttft_ns - before.ttft_ns, Ordering::Relaxed);
        self.gaps.fetch_add(now.gaps - before.gaps, Ordering::Relaxed);
        self.gaps_ns.fetch_add(now.gaps_ns - before.gaps_ns, Ordering::Relaxed);
    }

    /// Mean time to first token, and mean time between tokens.
    pub fn means(&self) -> [Option<Seconds>; 2] {
        let mean = |sum: &AtomicU64, n: &AtomicU64| {
            let n = n.load(Ordering::Relaxed);
            (n > 0).then(|| Seconds(sum.load(Ordering::Relaxed) as f64 * 1e-9 / n as f64))
        };
        [mean(&self.ttft_ns, &self.answered), mean(&self.gaps_ns, &self.gaps)]
    }
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
