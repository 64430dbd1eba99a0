//! The connections of one event loop, each with the request that it carries.

use super::{Exchange, patience::Phase};
use crate::{prefetch::prefetch, wire::connection::Connection};

/// How many bytes of a slot, from its start, an event needs.
const HOT: usize = 256;

/// One connection and what it is busy with.
///
/// A thousand streams bring a hundred thousand events a second, and between two events of a stream its memory has left
/// the cache. So what each event needs stands first, here and in all that lies within, what it does not need last or
/// boxed; and it is asked for before the system call that reads, so that it is there when the bytes are.
#[repr(C, align(64))]
pub(super) struct Slot {
    pub phase: Phase,
    /// The peer has closed its side or broken off: reads go on until they say so too.
    pub closed: bool,
    /// Something was announced while nobody read.
    pub unread: bool,
    /// It has waited for a request before this one.
    pub reused: bool,
    pub connection: Connection,
    /// `None` while it is idle.
    pub exchange: Option<Exchange>,
}

/// Connections by number, which is also their token in the poll.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Vec<Option<Slot>>,
    vacant: Vec<usize>,
    idle: Vec<usize>,
}

impl Slots {
    /// The number that the next connection will have.
    pub fn next_key(&self) -> usize {
        self.vacant.last().copied().unwrap_or(self.slots.len())
    }

    /// Puts `slot` where [`Self::next_key`] said.
    pub(super) fn put(&mut self, slot: Slot) {
        match self.vacant.pop() {
            Some(key) => self.slots[key] = Some(slot),
            None => self.slots.push(Some(slot)),
        }
    }

    /// Takes in an open connection that nobody needs yet, as [`Self::next_key`].
    pub fn put_idle(&mut self, connection: Connection) {
        self.idle.push(self.next_key());
        let phase = Phase::Idle;
        self.put(Slot { connection, phase, closed: false, unread: false, reused: true, exchange: None });
    }

    /// Has what an event on the connection `key` needs fetched into the cache.
    #[inline]
    pub fn prefetch(&self, key: usize) {
        if let Some(slot) = self.slots.get(key) {
            prefetch(slot, HOT);
        }
    }

    #[inline]
    pub(super) fn get(&mut self, key: usize) -> Option<&mut Slot> {
        self.slots.get_mut(key)?.as_mut()
    }

    /// Keeps the connection `key` for a later request.
    pub(super) fn keep(&mut self, key: usize) {
        if let Some(slot) = self.get(key) {
            slot.phase = Phase::Idle;
            slot.exchange = None;
            self.idle.push(key);
        }
    }

    /// Closes the connection `key`; gives the request that it carried.
    pub(super) fn close(&mut self, key: usize) -> Option<Exchange> {
        let slot = self.slots.get_mut(key)?.take()?;
        self.vacant.push(key);
        slot.exchange
    }

    /// The idle connection that was used last.
    pub(super) fn take_idle(&mut self) -> Option<usize> {
        self.idle.pop()
    }

    /// Closes all idle connections.
    pub(super) fn close_idle(&mut self) {
        while let Some(key) = self.idle.pop() {
            self.close(key);
        }
    }

    /// Closes all connections; gives the requests that they carried.
    pub(super) fn close_all(&mut self) -> Vec<Exchange> {
        self.idle.clear();
        (0..self.slots.len()).filter_map(|key| self.close(key)).collect()
    }
}
