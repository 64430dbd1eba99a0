//! The thread of one shard, from its first connection to its last row.

use crate::{
    clock::RunClock,
    exchange::Slots,
    record::{columns::Columns, journal::Inlet},
    schedule::{agenda::Wake, timer::Timer},
    shard::{Common, Shard},
    watch_self::Watch,
    wire::connection::Connection,
};
use mio::{Events, Poll, Token, Waker};
use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, Sender},
    },
    time::{Duration, Instant},
};

/// Connections that an open loop opens before its first send, in all shards together.
const OPEN_LOOP_CONNECTIONS: usize = 16;
/// Changes that are taken from the poll at once.
const CHANGES: usize = 1024;
/// What is no connection in the poll.
const TIMER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);

/// What a shard leaves behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub watch: Watch,
    pub failures: BTreeMap<String, u64>,
    /// When it had offered all that it would, or was told to stop; nanoseconds on the run's clock.
    pub offered_ns: i64,
}

/// Runs shard `number`: opens connections, says so on `ready`, and begins when `start` brings the clock.
///
/// Without a clock (the run was given up) nothing is offered.
pub(crate) fn run(
    common: Arc<Common>,
    number: usize,
    inlet: Inlet,
    ready: Sender<()>,
    start: &Receiver<RunClock>,
) -> io::Result<Option<Ended>> {
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(CHANGES));
    let waker = Arc::new(Waker::new(poll.registry(), STOP)?);
    common.stop.wakes(&waker);
    let timer = Timer::new(poll.registry(), TIMER)?;
    let slots = connect(&common, number, &mut poll, &mut events)?;
    // The run waits for every shard; if it is gone there is nothing to start.
    if ready.send(()).is_err() {
        return Ok(None);
    }
    drop(ready);
    let Ok(clock) = start.recv() else { return Ok(None) };
    let mut shard = Shard::new(common, number, clock, Columns::new(inlet), poll, slots);
    let offered_ns = live(&mut shard, timer, events);
    shard.cancel_all();
    shard.columns.flush();
    shard.publish();
    Ok(Some(Ended { watch: shard.watch, failures: shard.failures, offered_ns: offered_ns? }))
}

/// Opens the connections that the first requests will want. One that cannot be opened is the affair of the request that
/// wants it.
fn connect(common: &Common, number: usize, poll: &mut Poll, events: &mut Events) -> io::Result<Slots> {
    let shards = common.options.shards.max(1);
    let wanted = if common.plan.streams > 0 { common.plan.streams } else { OPEN_LOOP_CONNECTIONS };
    let wanted = wanted.min(common.options.limits.in_flight);
    let mut slots = Slots::default();
    for _ in (number..wanted).step_by(shards) {
        match connect_one(common, Token(slots.next_key()), poll, events)? {
            Some(connection) => slots.put_idle(connection),
            None => break,
        }
    }
    Ok(slots)
}

fn connect_one(common: &Common, token: Token, poll: &mut Poll, events: &mut Events) -> io::Result<Option<Connection>> {
    let until = Instant::now() + common.options.limits.connect;
    let Ok(mut connection) = common.peer.open(poll.registry(), token) else { return Ok(None) };
    loop {
        match connection.establish(&common.peer, poll.registry(), token) {
            Ok(true) => return Ok(Some(connection)),
            Ok(false) => {}
            Err(_refused) => return Ok(None),
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || common.stop.is_told() {
            return Ok(None);
        }
        wait(poll, events, Some(left))?;
    }
}

/// Waits for changes; a signal brings none.
fn wait(poll: &mut Poll, events: &mut Events, limit: Option<Duration>) -> io::Result<()> {
    match poll.poll(events, limit) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            events.clear();
            Ok(())
        }
        outcome => outcome,
    }
}

/// Offers, measures and awaits answers; gives the moment at which the last request had been offered.
fn live(shard: &mut Shard, mut timer: Timer, mut events: Events) -> io::Result<i64> {
    shard.agenda.enter(0, Wake::Beat);
    shard.agenda.enter(0, Wake::Begin);
    let mut offered_ns = None;
    loop {
        let limit = if shard.has_work() {
            Some(Duration::ZERO)
        } else {
            timer.set(shard.agenda.earliest_ns().map(|due_ns| shard.clock.monotonic_ns(due_ns)))?
        };
        wait(&mut shard.poll, &mut events, limit)?;
        // Without need the clock is not read.
        let mut due = limit.is_some();
        for event in &events {
            shard.slots.prefetch(event.token().0);
        }
        for event in &events {
            match event.token() {
                TIMER => {
                    timer.fired();
                    due = true;
                }
                STOP => shard.stopped = shard.common.stop.is_told(),
                token => shard.on_change(token, event.is_read_closed() || event.is_error()),
            }
        }
        shard.read_again();
        if due {
            shard.do_what_is_due();
        }
        if shard.stopped {
            return Ok(offered_ns.unwrap_or_else(|| shard.end_offering()));
        }
        shard.start_waiting();
        if offered_ns.is_none() && shard.offering.is_over() {
            offered_ns = Some(shard.end_offering());
        }
        if let Some(offered_ns) = offered_ns
            && (shard.drained || shard.offering.is_quiet())
        {
            return Ok(offered_ns);
        }
    }
}

impl Shard {
    /// Whether there is something to be done before anything changes.
    #[inline]
    fn has_work(&self) -> bool {
        !self.again.is_empty() || self.offering.can_start()
    }

    /// Goes on reading where more was there than was read at once.
    fn read_again(&mut self) {
        if self.again.is_empty() {
            return;
        }
        for token in std::mem::take(&mut self.again) {
            self.on_change(token, false);
        }
    }

    fn do_what_is_due(&mut self) {
        let now_ns = self.clock.now_ns();
        while let Some((due_ns, wake)) = self.agenda.take_due(now_ns) {
            match wake {
                Wake::Beat => self.beat(due_ns),
                Wake::Begin => self.begin(),
                Wake::Timed => self.timed_is_due(),
                Wake::Stream(stream) => self.stream_is_free(stream, due_ns),
                Wake::Turn(ready) => self.turn_is_due(*ready),
                Wake::Patience(key) => self.lose_patience(key, due_ns, now_ns),
                Wake::OfferingOver => self.end_is_reached(now_ns),
                Wake::DrainOver => self.drained = true,
            }
        }
    }

    fn begin(&mut self) {
        if let Some(end_ns) = self.offering_end_ns() {
            self.agenda.enter(end_ns, Wake::OfferingOver);
        }
        self.begin_offering();
    }

    /// Everything was offered that will be; gives when that was so.
    fn end_offering(&mut self) -> i64 {
        self.close_window();
        self.common.counters.drained.fetch_add(1, Ordering::Relaxed);
        let now_ns = self.clock.now_ns();
        let ended_ns = self.offering_end_ns().map_or(now_ns, |end_ns| now_ns.min(end_ns));
        let drain_ns = i64::try_from(self.common.options.drain.as_nanos()).unwrap_or(i64::MAX);
        self.agenda.enter(ended_ns.saturating_add(drain_ns), Wake::DrainOver);
        ended_ns
    }

    /// When the offering ends by the clock: with the run's duration, or just after the last timed row where there is
    /// nothing else. `None`: with the last answer.
    fn offering_end_ns(&self) -> Option<i64> {
        let last_due = self.common.plan.last_due().and_then(|due| due.get()).map(|due| due.saturating_add(1));
        let duration = (self.end_ns != i64::MAX).then_some(self.end_ns);
        match (duration, last_due) {
            (Some(end), Some(last)) => Some(end.min(last)),
            (end, last) => end.or(last),
        }
    }
}
