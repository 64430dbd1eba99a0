//! Spans that services export over OTLP/HTTP (`POST /v1/traces`, protobuf or JSON, gzip or not).
//!
//! The receiver runs on a thread of its own, which ends when the receiver is dropped. Spans are handed on to whoever
//! listens; while nobody does they are taken and counted, so that an engine's exporter has no reason to complain. A body
//! is bounded as it is sent and as it is unpacked; how many are held at a time is bounded too, and so is how long one may
//! take. What cannot be read is refused with its reason and counted.
//!
//! # Example: an engine exports into a list
//! ```no_run
//! use firstcheck_observe::otlp::{Limits, Receiver};
//! use std::sync::mpsc::channel;
//!
//! let receiver = Receiver::start("127.0.0.1:4318".parse()?, Limits::default())?;
//! let (sender, spans) = channel();
//! receiver.listen(move |export| sender.send(export).is_ok());
//! // … vllm serve … --otlp-traces-endpoint http://127.0.0.1:4318/v1/traces
//! let tally = receiver.pause();
//! println!("{} spans in {} exports, {} refused", tally.spans, tally.exports, tally.refused);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod body;
mod connection;

use crate::error::{Error, Result};
use firstcheck_model::trace_span::TraceSpan;
use std::{
    fmt,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};
use tokio::sync::oneshot;

/// The path to which spans are posted.
pub const PATH: &str = "/v1/traces";

/// Bounds on what exporters may make the receiver hold.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Longest body as it is sent, bytes.
    pub body_bytes: usize,
    /// Longest body once it is unpacked, bytes.
    pub unpacked_bytes: usize,
    /// Most spans that a listener is handed; further ones are refused one by one and counted.
    pub spans: u64,
    /// Connections at a time; further ones wait to be accepted.
    pub connections: usize,
    /// Bodies that are read at a time.
    pub bodies: usize,
    /// Longest time that a body may take.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            unpacked_bytes: 64 << 20,
            spans: 2_000_000,
            connections: 1024,
            bodies: 4,
            patience: Duration::from_secs(10),
        }
    }
}

/// What became of exports since somebody listens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Exports that were taken.
    pub exports: u64,
    /// Spans that were handed on.
    pub spans: u64,
    /// Bodies that could not be read.
    pub refused: u64,
    /// Why the last of them could not.
    pub last_refusal: Option<String>,
    /// Spans that were not handed on because there were too many.
    pub beyond_limit: u64,
    /// Times that an exporter was told to come back later, because the listener could not keep up.
    pub put_off: u64,
}

/// Takes the spans of an export; `false`: not now, they will be sent again.
type Listener = Box<dyn FnMut(Vec<TraceSpan>) -> bool + Send>;

#[derive(Default)]
struct State {
    listener: Option<Listener>,
    tally: Tally,
}

/// What the receiver's connections share.
pub(crate) struct Shared {
    state: Mutex<State>,
    limits: Limits,
}

/// What to answer an export that could be read.
pub(crate) enum Taken {
    /// All spans but so many.
    AllBut(u64),
    /// None for now.
    Later,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Counters and a closure: a panic of the listener leaves nothing half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, mut spans: Vec<TraceSpan>) -> Taken {
        let mut state = self.state();
        let State { listener, tally } = &mut *state;
        let Some(listener) = listener else { return Taken::AllBut(0) };
        let room = usize::try_from(self.limits.spans.saturating_sub(tally.spans)).unwrap_or(usize::MAX);
        let beyond = spans.len().saturating_sub(room) as u64;
        spans.truncate(room);
        let count = spans.len() as u64;
        if count > 0 && !listener(spans) {
            tally.put_off += 1;
            return Taken::Later;
        }
        tally.exports += 1;
        tally.spans += count;
        tally.beyond_limit += beyond;
        Taken::AllBut(beyond)
    }

    fn refused(&self, reason: &str) {
        let tally = &mut self.state().tally;
        tally.refused += 1;
        tally.last_refusal = Some(reason.to_owned());
    }
}

/// A running receiver.
pub struct Receiver {
    addr: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Listens on `addr`; port 0 takes a free one, and [`Receiver::addr`] tells which.
    ///
    /// # Errors
    /// [`Error::Listen`].
    pub fn start(addr: SocketAddr, limits: Limits) -> Result<Self> {
        let failed = |source| Error::Listen { addr, source };
        let listener = TcpListener::bind(addr).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let shared = Arc::new(Shared { state: Mutex::default(), limits });
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let serve = move || runtime.block_on(connection::serve(listener, served, stopped));
        let thread = std::thread::Builder::new().name("otlp".into()).spawn(serve).map_err(failed)?;
        Ok(Self { addr: bound, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Where an exporter is to send spans.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.addr)
    }

    /// Hands the spans of each export to `listener` from now on, and counts anew. It is called on the receiver's thread
    /// and should not wait; `false` has the exporter send them again.
    pub fn listen(&self, listener: impl FnMut(Vec<TraceSpan>) -> bool + Send + 'static) {
        *self.shared.state() = State { listener: Some(Box::new(listener)), tally: Tally::default() };
    }

    /// Drops the listener, and tells what it was handed.
    pub fn pause(&self) -> Tally {
        let state = std::mem::take(&mut *self.shared.state());
        state.tally
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // An error means that the thread has ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; a destructor cannot pass it on.
            let _ = thread.join();
        }
    }
}
