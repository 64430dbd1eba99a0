//! Ending a run early, from any thread.

use std::sync::Arc;
use tokio::sync::watch;

/// Tells a run to end: whoever waits is woken, and the first reason given is the one that is kept.
#[derive(Debug, Clone)]
pub struct Stop(Arc<watch::Sender<Option<String>>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Stop {
    /// Ends the run as interrupted because of `reason`: what is in flight is cancelled, the bundle is finished.
    pub fn interrupt(&self, reason: &str) {
        self.0.send_if_modified(|known| {
            let first = known.is_none();
            if first {
                *known = Some(reason.to_owned());
            }
            first
        });
    }

    /// Why the run was told to end, if it was.
    pub fn reason(&self) -> Option<String> {
        self.0.borrow().clone()
    }

    /// Waits until the run is told to end.
    pub(crate) async fn interrupted(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        drop(self.0.subscribe().wait_for(Option::is_some).await);
    }
}
