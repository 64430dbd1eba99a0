//! One event loop with everything that it works on. A shard is one thread, so nothing in it is locked.

use crate::{
    clock::RunClock,
    exchange::{Patience, Slots},
    failure::Failure,
    options::Options,
    progress::{Answers, Counters},
    protocol::request::Renderer,
    record::columns::Columns,
    schedule::{agenda::Agenda, offer::Offering, plan::Plan},
    secrets::Secrets,
    stop::Stop,
    watch_self::Watch,
    wire::peer::Peer,
};
use firstcheck_model::request::Fate;
use firstcheck_workload::trace::Trace;
use mio::{Poll, Token};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicUsize, atomic::Ordering},
};

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
    pub poll: Poll,
    pub agenda: Agenda,
    pub slots: Slots,
    pub patience: Patience,
    /// Connections that have more to be read than was read at once.
    pub again: Vec<Token>,
    pub buffer: Box<[u8]>,
    pub columns: Columns,
    pub watch: Watch,
    pub offering: Offering,
    pub failures: BTreeMap<String, u64>,
    /// Unix time of moment 0 by the wall clock as it goes now, nanoseconds.
    pub wall_origin_ns: i64,
    pub window_start_ns: i64,
    /// Moment after which nothing is offered any more; `i64::MAX`: the trace's end decides.
    pub end_ns: i64,
    /// When all streams of a closed loop have started.
    pub ramp_ns: i64,
    pub offered_all: bool,
    /// When rows were last handed over.
    pub handed_over_ns: i64,
    /// Whether the run was told to end.
    pub stopped: bool,
    /// Whether the time to await answers is over.
    pub drained: bool,
    pub in_flight: usize,
    published: Published,
    sent: u64,
    done: u64,
    failed: u64,
    pub answers: Answers,
}

/// What the counters of the run have been told already.
#[derive(Debug, Clone, Copy, Default)]
struct Published {
    sent: u64,
    done: u64,
    failed: u64,
    events: u64,
    answers: Answers,
}

impl Shard {
    /// A shard with nothing in flight, and the connections in `slots`, which `poll` announces.
    pub fn new(
        common: Arc<Common>,
        number: usize,
        clock: RunClock,
        columns: Columns,
        poll: Poll,
        slots: Slots,
    ) -> Self {
        let options = &common.options;
        let shards = options.shards.max(1);
        let share = options.limits.in_flight / shards + usize::from(number < options.limits.in_flight % shards);
        let nanoseconds = |d: std::time::Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
        let window_start_ns = nanoseconds(options.warm_up);
        let end_ns = options.duration.map_or(i64::MAX, |d| window_start_ns.saturating_add(nanoseconds(d)));
        Self {
            number,
            clock,
            poll,
            agenda: Agenda::default(),
            slots,
            patience: Patience::new(&options.limits),
            again: Vec::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            columns,
            watch: Watch::default(),
            offering: Offering::new(number, share.max(1)),
            failures: BTreeMap::new(),
            wall_origin_ns: clock.origin_unix_ns(),
            window_start_ns,
            end_ns,
            ramp_ns: nanoseconds(options.ramp),
            offered_all: false,
            handed_over_ns: 0,
            stopped: false,
            drained: false,
            in_flight: 0,
            published: Published::default(),
            sent: 0,
            done: 0,
            failed: 0,
            answers: Answers::default(),
            common,
        }
    }

    /// Counts a request as sent.
    pub fn count_sent(&mut self) {
        self.sent += 1;
    }

    /// Counts the end of a request, and stops the run when too many have failed.
    pub fn count_done(&mut self, failure: Option<&Failure>) {
        self.done += 1;
        let Some(failure) = failure else { return };
        *self.failures.entry(failure.name.clone().into_owned()).or_default() += 1;
        self.failed += 1;
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
    pub fn publish(&mut self) {
        let now = Published {
            sent: self.sent,
            done: self.done,
            failed: self.failed,
            events: self.watch.all_events,
            answers: self.answers,
        };
        let before = std::mem::replace(&mut self.published, now);
        let counters = &self.common.counters;
        counters.sent.fetch_add(now.sent - before.sent, Ordering::Relaxed);
        counters.done.fetch_add(now.done - before.done, Ordering::Relaxed);
        counters.failed.fetch_add(now.failed - before.failed, Ordering::Relaxed);
        counters.events.fetch_add(now.events - before.events, Ordering::Relaxed);
        counters.answers.add(now.answers, before.answers);
        counters.stall_ns.fetch_max(self.watch.longest_stall_ns.max(0) as u64, Ordering::Relaxed);
    }
}
