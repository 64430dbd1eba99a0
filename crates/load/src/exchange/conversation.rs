//! What a connection does next: a plain state machine, driven by what the poll announces and by the agenda.

use super::{Exchange, patience::Phase, reading::Read, slots::Slot};
use crate::{
    failure::Failure,
    schedule::{agenda::Wake, offer::Ready},
    shard::Shard,
};
use mio::Token;

impl Shard {
    /// Sends `ready` on a connection that is idle, or else on a new one.
    pub fn start(&mut self, ready: Ready) {
        self.in_flight += 1;
        let exchange = Exchange::new(&self.common, ready);
        match self.idle_connection() {
            Some(key) => {
                if let Some(slot) = self.slots.get(key) {
                    (slot.reused, slot.unread) = (true, false);
                }
                self.begin_to_send(key, exchange);
            }
            None => self.open(exchange),
        }
    }

    /// An idle connection that still works.
    fn idle_connection(&mut self) -> Option<usize> {
        loop {
            let key = self.slots.take_idle()?;
            if self.slots.get(key).is_some_and(|slot| !slot.closed && slot.connection.is_fresh()) {
                return Some(key);
            }
            self.slots.close(key);
            self.watch.stale += 1;
        }
    }

    /// Opens a connection for `exchange`.
    fn open(&mut self, mut exchange: Exchange) {
        self.watch.opened += 1;
        exchange.since_ns = self.clock.now_ns();
        let key = self.slots.next_key();
        match self.common.peer.open(self.poll.registry(), Token(key)) {
            Ok(connection) => {
                let (phase, exchange) = (Phase::Opening, Some(exchange));
                self.slots.put(Slot { connection, phase, closed: false, unread: false, reused: false, exchange });
                self.be_patient(key);
                self.establish(key);
            }
            Err(error) => self.end(exchange, Some(&error.into())),
        }
    }

    /// The poll announces that something has changed for `token`; `closed`: the peer has closed its side or broken off.
    #[inline]
    pub fn on_change(&mut self, token: Token, closed: bool) {
        let key = token.0;
        let Some(slot) = self.slots.get(key) else { return };
        slot.closed |= closed;
        match slot.phase {
            Phase::Reading => self.read(key),
            Phase::Opening => self.establish(key),
            Phase::Sending => {
                slot.unread = true;
                self.send(key);
            }
            // Whether it can still be used is found out when it is to be used.
            Phase::Idle => {}
        }
    }

    fn establish(&mut self, key: usize) {
        let Some(slot) = self.slots.get(key) else { return };
        match slot.connection.establish(&self.common.peer, self.poll.registry(), Token(key)) {
            Ok(false) => {}
            Ok(true) => {
                if let Some(exchange) = slot.exchange.take() {
                    self.begin_to_send(key, exchange);
                }
            }
            Err(error) => self.conclude(key, Err(error.into())),
        }
    }

    fn begin_to_send(&mut self, key: usize, mut exchange: Exchange) {
        self.note_send(&mut exchange);
        exchange.rest.written = 0;
        if let Some(slot) = self.slots.get(key) {
            (slot.phase, slot.exchange) = (Phase::Sending, Some(exchange));
        }
        self.send(key);
    }

    fn send(&mut self, key: usize) {
        let Some(Slot { connection, exchange: Some(exchange), phase, closed, unread, .. }) = self.slots.get(key) else {
            return;
        };
        let rest = &mut *exchange.rest;
        match connection.write(&rest.ready.rendered.bytes, &mut rest.written) {
            Ok(false) => self.be_patient(key),
            Ok(true) => {
                *phase = Phase::Reading;
                if std::mem::take(unread) || *closed {
                    self.again.push(Token(key));
                }
                self.be_patient(key);
            }
            Err(error) => self.conclude(key, Err(error.into())),
        }
    }

    /// Reads what is there, but no more than one buffer: if there may be more, it is the others' turn first.
    #[inline]
    fn read(&mut self, key: usize) {
        let Some(Slot { connection, exchange: Some(exchange), closed, .. }) = self.slots.get(key) else {
            return;
        };
        exchange.reading.prefetch();
        let outcome = loop {
            let bytes = match connection.read(&mut self.buffer) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return,
                Err(error) => break Err(error.into()),
            };
            let now_ns = self.clock.now_ns();
            exchange.heard_ns = now_ns;
            let (row, sent_ns, wall_origin_ns) = (exchange.row, exchange.since_ns, self.wall_origin_ns);
            let at = Read { row, now_ns, sent_ns, wall_origin_ns };
            match exchange.reading.feed(&bytes, at, &mut self.columns, &mut self.watch) {
                Ok(true) => break Ok(()),
                Ok(false) if bytes.full => return self.again.push(Token(key)),
                // A short read has emptied the socket (epoll(7), question 9): the system call that would only say so is
                // saved. The end of a stream is announced only once, though.
                Ok(false) if !*closed => return,
                Ok(false) => {}
                Err(failure) => break Err(failure),
            }
        };
        self.conclude(key, outcome);
    }

    /// The exchange on `key` has come to its end: `outcome`.
    fn conclude(&mut self, key: usize, outcome: Result<(), Failure>) {
        let Some(slot) = self.slots.get(key) else { return };
        let reused = slot.reused;
        let Some(mut exchange) = slot.exchange.take() else { return };
        let reading = &exchange.reading;
        if outcome.is_ok() && reading.keeps_alive() {
            self.slots.keep(key);
        } else {
            self.slots.close(key);
        }
        // An idle connection may be closed by the server in the very moment in which it is used again: nothing was
        // read of the request, so a fresh connection takes it, once.
        let silent = outcome.as_ref().is_err_and(Failure::is_silent_close) && !reading.has_started();
        if silent && reused && !exchange.rest.retried {
            exchange.rest.retried = true;
            self.watch.stale += 1;
            self.slots.close_idle();
            return self.open(exchange);
        }
        let failure = outcome.err().or_else(|| exchange.reading.shortfall(exchange.rest.forced));
        self.end(exchange, failure.as_ref());
    }

    /// Enters in the agenda when patience with the connection `key` runs out.
    fn be_patient(&mut self, key: usize) {
        let Some(Slot { phase, exchange: Some(exchange), .. }) = self.slots.get(key) else { return };
        let end_ns = self.patience.end_ns(*phase, exchange.since_ns, exchange.heard_ns);
        if self.patience.needs_entry(key, end_ns) {
            self.agenda.enter(end_ns, Wake::Patience(key));
        }
    }

    /// Gives up what the connection `key` waits for, if patience with it has run out.
    pub fn lose_patience(&mut self, key: usize, due_ns: i64, now_ns: i64) {
        if !self.patience.take_entry(key, due_ns) {
            return;
        }
        let Some(Slot { phase, exchange: Some(exchange), .. }) = self.slots.get(key) else { return };
        let since_ns = exchange.since_ns;
        if self.patience.end_ns(*phase, since_ns, exchange.heard_ns) > now_ns {
            return self.be_patient(key);
        }
        let failure = self.patience.failure(*phase, since_ns, now_ns);
        self.conclude(key, Err(failure));
    }
}
