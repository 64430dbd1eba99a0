//! One event loop with everything that its tasks share. A shard is one thread, so nothing in it is locked.

use crate::{
    clock::RunClock,
    failure::Failure,
    options::Options,
    progress::Counters,
    protocol::request::Renderer,
    record::columns::Columns,
    schedule::{alarm::Alarm, plan::Plan},
    secrets::Secrets,
    stop::Stop,
    watch_self::Watch,
    wire::connection::{Connection, ConnectionError, Peer},
};
use firstcheck_model::request::Fate;
use firstcheck_workload::trace::Trace;
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicUsize, atomic::Ordering},
};
use tokio::sync::{Notify, Semaphore};

/// Room for one read, in bytes.
pub(crate) const BUFFER: usize = 64 << 10;

/// What all shards of a run share; read-only but for the counters.
pub(crate) struct Common {
    pub trace: Arc<Trace>,
    pub plan: Plan,
    pub renderer: Renderer,
    pub peer: Peer,
    pub options: Options,
    pub streaming: bool,
    pub secrets: Secrets,
    pub stop: Stop,
    pub counters: Counters,
    /// The next row of the closed loop.
    pub next_when_free: AtomicUsize,
}

/// One event loop.
pub(crate) struct Shard {
    pub common: Arc<Common>,
    pub number: usize,
    pub clock: RunClock,
    pub alarm: Alarm,
    pub permits: Semaphore,
    pub buffer: RefCell<Box<[u8]>>,
    pub columns: RefCell<Columns>,
    pub idle: RefCell<Vec<Connection>>,
    pub watch: RefCell<Watch>,
    pub failures: RefCell<BTreeMap<String, u64>>,
    /// Unix time of moment 0 by the wall clock as it goes now, nanoseconds.
    pub wall_origin_ns: Cell<i64>,
    pub window_start_ns: i64,
    /// Moment after which nothing is offered any more; `i64::MAX`: the trace's end decides.
    pub end_ns: i64,
    pub offered_all: Cell<bool>,
    /// When all streams of a closed loop have started.
    pub ramp_ns: i64,
    /// Whether a stream of the closed loop found no row left.
    pub exhausted: Cell<bool>,
    pub in_flight: Cell<usize>,
    pub thinking: Cell<usize>,
    /// Tasks that still offer or await requests, and who is told when there are none left.
    pub live: Cell<usize>,
    pub quiet: Notify,
    published: Cell<Published>,
    sent: Cell<u64>,
    done: Cell<u64>,
    failed: Cell<u64>,
}

/// What the counters of the run have been told already.
#[derive(Debug, Clone, Copy, Default)]
struct Published {
    sent: u64,
    done: u64,
    failed: u64,
    events: u64,
}

impl Shard {
    /// A shard with nothing in flight. Must be called inside its runtime.
    pub fn new(common: Arc<Common>, number: usize, clock: RunClock, columns: Columns) -> std::io::Result<Self> {
        let options = &common.options;
        let shards = options.shards.max(1);
        let share = options.limits.in_flight / shards + usize::from(number < options.limits.in_flight % shards);
        let nanoseconds = |d: std::time::Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
        let window_start_ns = nanoseconds(options.warm_up);
        let end_ns = options.duration.map_or(i64::MAX, |d| window_start_ns.saturating_add(nanoseconds(d)));
        Ok(Self {
            number,
            clock,
            alarm: Alarm::new(clock)?,
            permits: Semaphore::new(share.max(1)),
            buffer: RefCell::new(vec![0; BUFFER].into_boxed_slice()),
            columns: RefCell::new(columns),
            idle: RefCell::default(),
            watch: RefCell::default(),
            failures: RefCell::default(),
            wall_origin_ns: Cell::new(clock.origin_unix_ns()),
            window_start_ns,
            end_ns,
            offered_all: Cell::new(false),
            ramp_ns: nanoseconds(options.ramp),
            exhausted: Cell::new(false),
            in_flight: Cell::new(0),
            thinking: Cell::new(0),
            live: Cell::new(0),
            quiet: Notify::new(),
            published: Cell::default(),
            sent: Cell::new(0),
            done: Cell::new(0),
            failed: Cell::new(0),
            common,
        })
    }

    /// The next row of the closed loop, if one is left.
    pub fn take_when_free(&self) -> Option<u32> {
        let at = self.common.next_when_free.fetch_add(1, Ordering::Relaxed);
        let row = self.common.plan.when_free.get(at).copied();
        self.exhausted.set(row.is_none());
        row
    }

    /// An idle connection that still works, or a new one; true: it has carried a request before.
    pub async fn connection(&self) -> Result<(Connection, bool), ConnectionError> {
        loop {
            let idle = self.idle.borrow_mut().pop();
            match idle {
                Some(mut connection) => {
                    if connection.is_fresh() {
                        return Ok((connection, true));
                    }
                    self.watch.borrow_mut().stale += 1;
                }
                None => break,
            }
        }
        self.watch.borrow_mut().opened += 1;
        Ok((self.common.peer.connect().await?, false))
    }

    /// Counts a request as sent.
    pub fn count_sent(&self) {
        self.sent.set(self.sent.get() + 1);
    }

    /// Counts the end of a request, and stops the run when too many have failed.
    pub fn count_done(&self, failure: Option<&Failure>) {
        self.done.set(self.done.get() + 1);
        let Some(failure) = failure else { return };
        *self.failures.borrow_mut().entry(failure.name.clone().into_owned()).or_default() += 1;
        self.failed.set(self.failed.get() + 1);
        if matches!(failure.fate, Fate::Failed | Fate::TimedOut) {
            let errors = self.common.counters.errors.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(limit) = self.common.options.limits.errors
                && errors > limit
            {
                let last = self.common.secrets.conceal(failure.text());
                self.common.stop.interrupt(&format!("more than {limit} requests failed, the last with: {last}"));
            }
        }
    }

    /// Tells the run's counters what is new.
    pub fn publish(&self) {
        let now = Published {
            sent: self.sent.get(),
            done: self.done.get(),
            failed: self.failed.get(),
            events: self.watch.borrow().all_events,
        };
        let before = self.published.replace(now);
        let counters = &self.common.counters;
        counters.sent.fetch_add(now.sent - before.sent, Ordering::Relaxed);
        counters.done.fetch_add(now.done - before.done, Ordering::Relaxed);
        counters.failed.fetch_add(now.failed - before.failed, Ordering::Relaxed);
        counters.events.fetch_add(now.events - before.events, Ordering::Relaxed);
    }
}
