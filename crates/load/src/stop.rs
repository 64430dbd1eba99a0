//! Ending a run early, from any thread.

use mio::Waker;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Tells a run to end: its event loops are woken, and the first reason given is the one that is kept.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    reason: Option<String>,
    loops: Vec<Weak<Waker>>,
}

impl Stop {
    /// Ends the run as interrupted because of `reason`: what is in flight is cancelled, the bundle is finished.
    pub fn interrupt(&self, reason: &str) {
        let mut state = self.state();
        if state.reason.is_some() {
            return;
        }
        state.reason = Some(reason.to_owned());
        for waker in state.loops.iter().filter_map(Weak::upgrade) {
            // A loop that cannot be woken asks at its next heartbeat.
            drop(waker.wake());
        }
    }

    /// Why the run was told to end, if it was.
    pub fn reason(&self) -> Option<String> {
        self.state().reason.clone()
    }

    /// Whether the run was told to end.
    pub(crate) fn is_told(&self) -> bool {
        self.state().reason.is_some()
    }

    /// Has `waker` woken when the run is told to end, for as long as it exists.
    pub(crate) fn wakes(&self, waker: &Arc<Waker>) {
        let mut state = self.state();
        // A stop outlives the loops of its earlier runs.
        state.loops.retain(|known| known.strong_count() > 0);
        state.loops.push(Arc::downgrade(waker));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is done under the lock that could leave the state half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
