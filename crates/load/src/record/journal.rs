//! The thread that writes rows to the bundle's journal, so that no event loop ever waits for a disk.

use firstcheck_bundle::{Rows, Writer};
use firstcheck_model::{event::Event, request::Request, signal::Series};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};

/// Events that may wait for the disk (about 160 MB, a minute at 64,000 a second); beyond it the run ends, since memory
/// must not grow.
const WAITING: usize = 4 << 20;

/// Rows to be written together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub events: Vec<Event>,
    pub requests: Vec<(u32, Request)>,
    pub signals: Vec<Series>,
}

/// Called once when the journal cannot be written any more, with the reason.
pub(crate) type OnFailure = Box<dyn Fn(&str) + Send>;

/// Where an emptied vector goes back to.
type Spares = Option<Sender<Vec<Event>>>;

/// Where rows are handed in. One a shard.
#[derive(Debug)]
pub(crate) struct Inlet {
    batches: Sender<(Batch, Spares)>,
    waiting: Arc<AtomicUsize>,
    spares: (Sender<Vec<Event>>, Receiver<Vec<Event>>),
}

impl Inlet {
    /// Hands in `batch`. After a failure of the journal rows are dropped: the run is ending.
    pub fn send(&self, batch: Batch) {
        self.waiting.fetch_add(batch.events.len(), Ordering::Relaxed);
        // The writing thread lives as long as an inlet does, unless it panicked; then `Journal::finish` tells.
        drop(self.batches.send((batch, Some(self.spares.0.clone()))));
    }

    /// An emptied vector of an earlier batch, if one came back: its memory is in place already.
    pub fn spare(&self) -> Option<Vec<Event>> {
        self.spares.1.try_recv().ok()
    }
}

/// The writing thread.
pub(crate) struct Journal {
    batches: Sender<(Batch, Spares)>,
    waiting: Arc<AtomicUsize>,
    thread: JoinHandle<Written>,
}

/// What the writing thread leaves behind.
pub(crate) struct Written {
    pub writer: Writer,
    /// The rows that were written at least once.
    pub seen: Vec<bool>,
    /// Why writing ended early.
    pub failed: Option<firstcheck_bundle::Error>,
}

impl Journal {
    /// Starts writing with `writer`.
    pub fn start(writer: Writer, on_failure: OnFailure) -> std::io::Result<Self> {
        let (batches, inbox) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&waiting);
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || write(writer, &inbox, &counter, &on_failure))?;
        Ok(Self { batches, waiting, thread })
    }

    /// A further place to hand rows in.
    pub fn inlet(&self) -> Inlet {
        Inlet { batches: self.batches.clone(), waiting: Arc::clone(&self.waiting), spares: channel() }
    }

    /// Waits until everything handed in is written. All inlets must have been dropped.
    ///
    /// `None` if the thread panicked.
    pub fn finish(self) -> Option<Written> {
        drop(self.batches);
        self.thread.join().ok()
    }
}

fn write(
    mut writer: Writer,
    inbox: &Receiver<(Batch, Spares)>,
    waiting: &AtomicUsize,
    on_failure: &OnFailure,
) -> Written {
    let mut seen = Vec::new();
    let mut failed = None;
    let mut behind = false;
    while let Ok((mut batch, spares)) = inbox.recv() {
        let left = waiting.fetch_sub(batch.events.len(), Ordering::Relaxed);
        if left > WAITING && !behind {
            behind = true;
            on_failure("the disk does not keep up with the rows");
        }
        if failed.is_some() {
            continue;
        }
        for (row, _) in &batch.requests {
            let row = *row as usize;
            if row >= seen.len() {
                seen.resize(row + 1, false);
            }
            seen[row] = true;
        }
        let rows = Rows { requests: &batch.requests, events: &batch.events, signals: &batch.signals, spans: &[] };
        if let Err(error) = writer.append(rows) {
            on_failure(&error.to_string());
            failed = Some(error);
        }
        if let Some(spares) = spares {
            batch.events.clear();
            // The shard may have ended; then its memory goes with it.
            drop(spares.send(batch.events));
        }
    }
    Written { writer, seen, failed }
}
