//! The thread that writes rows to the bundle's journal, so that no event loop ever waits for a disk.

use firstcheck_bundle::{Rows, Writer};
use firstcheck_model::{
    event::{Event, StreamFold, Streams},
    moment::Moment,
    request::{Request, Requests},
    run::RunInfo,
    signal::Series,
    trace_span::TraceSpan,
};
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
    pub traces: Vec<TraceSpan>,
    /// What is known of the run by now, to stand in `run.json` should the run be killed.
    pub info: Option<Box<RunInfo>>,
}

impl Batch {
    /// Rows whose number is not bounded by that of the requests.
    fn heavy(&self) -> usize {
        self.events.len() + self.traces.len()
    }
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
        self.waiting.fetch_add(batch.heavy(), Ordering::Relaxed);
        // The writing thread lives as long as an inlet does, unless it panicked; then `Journal::finish` tells.
        drop(self.batches.send((batch, Some(self.spares.0.clone()))));
    }

    /// Events and spans that wait for the disk, of all inlets.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
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
    /// What the events of the requests from the window on fold into.
    pub streams: Streams,
    /// Why writing ended early.
    pub failed: Option<firstcheck_bundle::Error>,
}

impl Journal {
    /// Starts writing a run of at most `rows` requests with `writer`. Requests intended before `window_start` are written
    /// like all others, but not folded.
    pub fn start(writer: Writer, rows: usize, window_start: Moment, on_failure: OnFailure) -> std::io::Result<Self> {
        let (batches, inbox) = channel::<(Batch, Spares)>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&waiting);
        let thread = std::thread::Builder::new().name("journal".into()).spawn(move || {
            let mut scribe = Scribe::new(writer, rows, window_start, on_failure);
            while let Ok((batch, spares)) = inbox.recv() {
                let waiting = counter.fetch_sub(batch.heavy(), Ordering::Relaxed);
                scribe.write(batch, spares, waiting);
            }
            scribe.end()
        })?;
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

/// The state of the writing thread.
struct Scribe {
    writer: Writer,
    on_failure: OnFailure,
    window_start: Moment,
    seen: Vec<bool>,
    inside: Vec<bool>,
    fold: StreamFold,
    failed: Option<firstcheck_bundle::Error>,
    behind: bool,
}

impl Scribe {
    fn new(writer: Writer, rows: usize, window_start: Moment, on_failure: OnFailure) -> Self {
        Self {
            writer,
            on_failure,
            window_start,
            seen: vec![false; rows],
            inside: vec![false; rows],
            fold: StreamFold::new(rows),
            failed: None,
            behind: false,
        }
    }

    fn write(&mut self, mut batch: Batch, spares: Spares, waiting: usize) {
        if waiting > WAITING && !self.behind {
            self.behind = true;
            (self.on_failure)("the disk does not keep up with the rows");
        }
        if self.failed.is_some() {
            return;
        }
        self.fold(&batch);
        let rows = Rows {
            requests: &batch.requests,
            events: &batch.events,
            signals: &batch.signals,
            traces: &batch.traces,
            ..Rows::default()
        };
        let updated = batch.info.as_ref().map_or(Ok(()), |info| self.writer.update(info));
        if let Err(error) = updated.and_then(|()| self.writer.append(rows)) {
            (self.on_failure)(&error.to_string());
            self.failed = Some(error);
        }
        if let Some(spares) = spares {
            batch.events.clear();
            // The shard may have ended; then its memory goes with it.
            drop(spares.send(batch.events));
        }
    }

    fn fold(&mut self, batch: &Batch) {
        for (row, request) in &batch.requests {
            let row = *row as usize;
            if let (Some(seen), Some(inside)) = (self.seen.get_mut(row), self.inside.get_mut(row)) {
                *seen = true;
                *inside = request.intended >= self.window_start;
            }
        }
        for event in &batch.events {
            let inside = self.inside.get(event.request as usize).copied().unwrap_or(false);
            self.fold.add(event, inside);
        }
    }

    fn end(self) -> Written {
        // What a stream's total says of its tokens does not matter here: the client is judged by events.
        let streams = self.fold.finish(&Requests::default(), None);
        Written { writer: self.writer, seen: self.seen, streams, failed: self.failed }
    }
}
