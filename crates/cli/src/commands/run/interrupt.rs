//! Ctrl-C and a polite kill end a run and keep its bundle.

use firstcheck_load::Stop;
use std::thread;

/// Watches for the first signal, on a thread of its own that ends with the process.
pub(in crate::commands) fn watch(stop: Stop) {
    let spawned = thread::Builder::new().name("signals".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        // Without a runtime there is no handler: the signal then ends the process, and the journal keeps the rows.
        if let Ok(runtime) = runtime {
            runtime.block_on(async {
                if let Some(reason) = first_signal().await {
                    stop.interrupt(reason);
                }
            });
        }
    });
    // Without a thread likewise.
    drop(spawned);
}

#[cfg(unix)]
async fn first_signal() -> Option<&'static str> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).ok()?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.ok().map(|()| "ctrl-c"),
        received = terminate.recv() => received.map(|()| "terminated"),
    }
}

#[cfg(not(unix))]
async fn first_signal() -> Option<&'static str> {
    tokio::signal::ctrl_c().await.ok().map(|()| "ctrl-c")
}
