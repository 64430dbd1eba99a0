//! What an event loop has to do at which time: everything that waits for a time waits here.

use super::offer::Ready;
use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Wake {
    /// The heartbeat.
    Beat,
    /// The offering begins.
    Begin,
    /// The timed request that was rendered ahead is due.
    Timed,
    /// This stream of the closed loop starts.
    Stream(u32),
    /// Somebody has thought long enough: the next turn of a session is due.
    Turn(Box<Ready>),
    /// The patience with whatever this connection waits for may have run out.
    Patience(usize),
    /// Nothing is offered any more.
    OfferingOver,
    /// Answers are awaited no longer.
    DrainOver,
}

/// What is to be done, the earliest first; of equal times what was entered first.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: BinaryHeap<Reverse<Entry>>,
    entered: u64,
}

#[derive(Debug)]
struct Entry {
    due_ns: i64,
    number: u64,
    wake: Wake,
}

impl Agenda {
    /// Enters `wake` for `due_ns` on the run's clock.
    pub fn enter(&mut self, due_ns: i64, wake: Wake) {
        self.entered += 1;
        self.entries.push(Reverse(Entry { due_ns, number: self.entered, wake }));
    }

    /// The time of the earliest entry.
    pub fn earliest_ns(&self) -> Option<i64> {
        self.entries.peek().map(|Reverse(entry)| entry.due_ns)
    }

    /// Takes out the earliest entry that is due at `now_ns`, with its time.
    pub fn take_due(&mut self, now_ns: i64) -> Option<(i64, Wake)> {
        self.earliest_ns().filter(|due_ns| *due_ns <= now_ns)?;
        self.entries.pop().map(|Reverse(entry)| (entry.due_ns, entry.wake))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due_ns, self.number).cmp(&(other.due_ns, other.number))
    }
}
