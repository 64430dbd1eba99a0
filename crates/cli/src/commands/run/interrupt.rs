//! Ctrl-C and a polite kill end a run and keep its bundle.

use firstcheck_load::Stop;
use std::{sync::mpsc, thread};

/// Exit code of what a signal has ended and that has no report to give: 128 and the number of an interrupt, as of a shell.
pub(in crate::commands) const ENDED_BY_SIGNAL: u8 = 130;

/// The first signal from the first poll on; `None` where none can be heard of.
pub(in crate::commands) async fn signalled() -> Option<&'static str> {
    let (ready, _) = mpsc::channel();
    first_signal(ready).await
}

/// Watches for the first signal, on a thread of its own that ends with the process.
pub(in crate::commands) fn watch(stop: Stop) {
    on_signal(move |reason| stop.interrupt(reason));
}

/// Calls `then` at the first signal, on a thread of its own that ends with the process. From its return on no signal is
/// missed.
fn on_signal(then: impl FnOnce(&'static str) + Send + 'static) {
    let (ready, is_ready) = mpsc::channel::<()>();
    let spawned = thread::Builder::new().name("signals".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        // Without a runtime there is no handler: the signal then ends the process, and the journal keeps the rows.
        if let Ok(runtime) = runtime
            && let Some(reason) = runtime.block_on(first_signal(ready))
        {
            then(reason);
        }
    });
    // Without a thread likewise. The wait ends with the sender, whatever became of it.
    if spawned.is_ok() {
        let _ = is_ready.recv();
    }
}

/// The first signal; `ready` goes once it cannot be missed.
#[cfg(unix)]
async fn first_signal(ready: mpsc::Sender<()>) -> Option<&'static str> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).ok()?;
    let mut terminate = signal(SignalKind::terminate()).ok()?;
    drop(ready);
    tokio::select! {
        received = interrupt.recv() => received.map(|()| "ctrl-c"),
        received = terminate.recv() => received.map(|()| "terminated"),
    }
}

#[cfg(not(unix))]
async fn first_signal(ready: mpsc::Sender<()>) -> Option<&'static str> {
    drop(ready);
    tokio::signal::ctrl_c().await.ok().map(|()| "ctrl-c")
}
