//! Offering a plan: the open loop by the clock, the closed loop by its streams, sessions turn by turn.

use super::agenda::Wake;
use crate::{protocol::request::Rendered, shard::Shard};
use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
};

/// Most requests that are started before the loop looks at its connections again.
const STARTS_A_ROUND: usize = 64;

/// A request that is ready to be sent, ahead of its time so that the send does not wait for it.
#[derive(Debug)]
pub(crate) struct Ready {
    pub row: u32,
    pub due_ns: i64,
    pub rendered: Rendered,
    /// The stream of the closed loop that goes on when this request, with all that follows it, has ended.
    pub stream: Option<u32>,
    /// Whether the clock alone starts it, and the end of the offering keeps it from being sent.
    timed: bool,
}

/// What is left of the timed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timed {
    Left,
    UsedUp,
    /// The next one is due after the run's end.
    BeyondEnd,
}

/// How far a shard's part of the plan has been offered.
///
/// Shard *s* of *n* takes every *n*-th timed row and every *n*-th stream. The followers of a row are offered by the
/// shard that offered the row.
#[derive(Debug)]
pub(crate) struct Offering {
    timed: Timed,
    next_timed: usize,
    /// The next timed row, until it is due.
    ahead: Option<Ready>,
    /// What is due and waits for a place among the requests that may be in flight.
    waiting: VecDeque<Ready>,
    places: usize,
    /// Streams, and requests outside streams with all that follows them, that have not come to their end.
    live: usize,
    /// Streams whose user thinks: they are driven although nothing is in flight.
    pub thinking: usize,
    /// Whether a stream of the closed loop found no row left.
    pub out_of_rows: bool,
    /// Whether the time has come after which nothing is offered.
    pub end_reached: bool,
}

impl Offering {
    /// The part of shard `number`, which may have `places` requests in flight.
    pub fn new(number: usize, places: usize) -> Self {
        Self {
            timed: Timed::Left,
            next_timed: number,
            ahead: None,
            waiting: VecDeque::new(),
            places,
            live: 0,
            thinking: 0,
            out_of_rows: false,
            end_reached: false,
        }
    }

    /// Whether nothing of what was begun is left to be awaited.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.live == 0
    }

    /// Whether everything was offered that will be.
    #[inline]
    pub fn is_over(&self) -> bool {
        match self.timed {
            Timed::Left => false,
            Timed::UsedUp => self.end_reached || self.is_quiet(),
            Timed::BeyondEnd => self.end_reached,
        }
    }

    /// Whether a request can be started.
    #[inline]
    pub fn can_start(&self) -> bool {
        self.places > 0 && !self.waiting.is_empty()
    }
}

impl Shard {
    /// Enters in the agenda what starts by the clock.
    pub fn begin_offering(&mut self) {
        let (streams, shards) = (self.common.plan.streams, self.common.options.shards.max(1));
        for stream in (self.number..streams).step_by(shards) {
            self.offering.live += 1;
            let share = stream as f64 / streams as f64;
            let start_ns = (self.ramp_ns as f64 * share) as i64;
            self.agenda.enter(start_ns, Wake::Stream(stream as u32));
        }
        self.prepare_timed();
    }

    /// Renders the next timed row and enters it in the agenda.
    fn prepare_timed(&mut self) {
        loop {
            let Some((due_ns, row)) = self.common.plan.timed.get(self.offering.next_timed).copied() else {
                self.offering.timed = Timed::UsedUp;
                return;
            };
            if due_ns >= self.end_ns {
                self.offering.timed = Timed::BeyondEnd;
                return;
            }
            self.offering.next_timed += self.common.options.shards.max(1);
            if let Some(rendered) = self.render(row) {
                self.offering.ahead = Some(Ready { row, due_ns, rendered, stream: None, timed: true });
                self.agenda.enter(due_ns, Wake::Timed);
                return;
            }
        }
    }

    /// The timed row that was rendered ahead is due.
    pub fn timed_is_due(&mut self) {
        if let Some(ready) = self.offering.ahead.take() {
            self.offering.live += 1;
            self.offering.waiting.push_back(ready);
        }
    }

    /// A stream of the closed loop is free since `free_ns`.
    pub fn stream_is_free(&mut self, stream: u32, free_ns: i64) {
        while free_ns < self.end_ns
            && let Some(row) = self.take_when_free()
        {
            if let Some(rendered) = self.render(row) {
                let ready = Ready { row, due_ns: free_ns, rendered, stream: Some(stream), timed: false };
                return self.offering.waiting.push_back(ready);
            }
        }
        self.offering.live -= 1;
    }

    /// The next turn of a session is due.
    pub fn turn_is_due(&mut self, ready: Ready) {
        self.offering.thinking -= 1;
        self.offering.waiting.push_back(ready);
    }

    /// Starts what is due and has a place. Some may be left: [`Offering::can_start`].
    pub fn start_waiting(&mut self) {
        for _ in 0..STARTS_A_ROUND {
            if !self.offering.can_start() {
                return;
            }
            let Some(ready) = self.offering.waiting.pop_front() else { return };
            let timed = ready.timed;
            if timed && self.clock.now_ns() >= self.end_ns {
                self.offering.live -= 1;
                self.offering.timed = Timed::BeyondEnd;
                continue;
            }
            self.offering.places -= 1;
            self.start(ready);
            if timed {
                self.prepare_timed();
            }
        }
    }

    /// The time has come after which nothing is offered. What the clock alone starts and found no place until the run's
    /// end is not sent any more.
    pub fn end_is_reached(&mut self, now_ns: i64) {
        let offering = &mut self.offering;
        offering.end_reached = true;
        if now_ns < self.end_ns {
            return;
        }
        let before = offering.waiting.len();
        offering.waiting.retain(|ready| !ready.timed);
        offering.live -= before - offering.waiting.len();
        offering.ahead = None;
        if offering.timed == Timed::Left {
            offering.timed = Timed::BeyondEnd;
        }
    }

    /// The request of `row` has ended: its followers are next, and then its stream.
    pub fn go_on(&mut self, row: u32, stream: Option<u32>, ended_ns: i64) {
        self.in_flight -= 1;
        self.offering.places += 1;
        let common = Arc::clone(&self.common);
        let mut followers = common.plan.followers(row);
        let first = followers.next();
        for (follower, think_ns) in followers {
            self.offering.live += 1;
            if !self.think(follower, None, ended_ns.saturating_add(think_ns)) {
                self.offering.live -= 1;
            }
        }
        if first.is_some_and(|(follower, think_ns)| self.think(follower, stream, ended_ns.saturating_add(think_ns))) {
            return;
        }
        match stream {
            Some(stream) => self.stream_is_free(stream, ended_ns),
            None => self.offering.live -= 1,
        }
    }

    /// Enters the turn `row` for `due_ns`; false if the run has ended by then.
    fn think(&mut self, row: u32, stream: Option<u32>, due_ns: i64) -> bool {
        let rendered = if due_ns < self.end_ns { self.render(row) } else { None };
        let Some(rendered) = rendered else { return false };
        self.offering.thinking += 1;
        let ready = Ready { row, due_ns, rendered, stream, timed: false };
        self.agenda.enter(due_ns, Wake::Turn(Box::new(ready)));
        true
    }

    fn render(&self, row: u32) -> Option<Rendered> {
        let common = &self.common;
        common.trace.items.get(row as usize).map(|offered| common.renderer.render(row, offered))
    }

    /// The next row of the closed loop, if one is left.
    fn take_when_free(&mut self) -> Option<u32> {
        let at = self.common.next_when_free.fetch_add(1, Ordering::Relaxed);
        let row = self.common.plan.when_free.get(at).copied();
        self.offering.out_of_rows = row.is_none();
        row
    }
}
