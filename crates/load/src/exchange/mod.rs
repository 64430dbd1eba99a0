//! One request from its intended send to its end, whatever that is.

mod patience;
mod reading;

use crate::{
    failure::Failure,
    protocol::request::Rendered,
    shard::Shard,
    wire::connection::{Connection, ConnectionError},
};
use firstcheck_model::{
    moment::Moment,
    request::{Fate, Request},
};
use patience::Patience;
use reading::{Read, Reading};
use std::{future::poll_fn, rc::Rc, task::Poll};

/// Performs the request of `row`, which was intended for `intended_ns`, and records it.
///
/// Dropped before its end, the request is recorded as cancelled.
pub(crate) async fn perform(shard: &Rc<Shard>, row: u32, intended_ns: i64, rendered: Rendered) {
    let mut exchange = Exchange::new(shard, row, intended_ns, &rendered);
    let mut outcome = exchange.attempt(&rendered.bytes).await;
    if let Err(Attempt::Stale) = outcome {
        // An idle connection may be closed by the server in the very moment in which it is used again: nothing was
        // read of the request, so a fresh connection takes it, once.
        shard.watch.borrow_mut().stale += 1;
        shard.idle.borrow_mut().clear();
        outcome = exchange.attempt(&rendered.bytes).await;
    }
    match outcome {
        Ok(()) => exchange.end(None),
        Err(Attempt::Failed(failure)) => exchange.end(Some(&failure)),
        Err(Attempt::Stale) => {
            exchange.end(Some(&Failure::new(Fate::Failed, "reset", "twice before a byte of the answer")));
        }
    }
}

/// Why an attempt did not end well.
enum Attempt {
    /// A connection that had been idle broke before a byte of the answer.
    Stale,
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Attempt {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// A request in flight. Its row is written when it ends or is dropped.
struct Exchange {
    shard: Rc<Shard>,
    row: u32,
    request: Request,
    forced: Option<u32>,
    reading: Reading,
    ended: bool,
}

impl Exchange {
    fn new(shard: &Rc<Shard>, row: u32, intended_ns: i64, rendered: &Rendered) -> Self {
        let common = &shard.common;
        let mut request = Request::offered(Moment::at(intended_ns));
        let offered = common.trace.items.get(row as usize);
        request.requested_tokens = offered.and_then(|o| o.max_tokens());
        request.session = offered.and_then(|o| o.session);
        request.prompt_hash = Some(rendered.prompt_hash);
        request.trace_id = Some(rendered.trace_id.clone());
        shard.in_flight.set(shard.in_flight.get() + 1);
        let forced = offered.and_then(|o| o.output_tokens);
        let reading = Reading::new(&common.options.bounds, common.streaming);
        Self { shard: Rc::clone(shard), row, request, forced, reading, ended: false }
    }

    async fn attempt(&mut self, bytes: &[u8]) -> Result<(), Attempt> {
        let (mut connection, reused) = self.shard.connection().await?;
        self.note_send();
        let outcome = self.talk(&mut connection, bytes).await;
        if let Err(failure) = &outcome
            && reused
            && failure.is_silent_close()
            && !self.reading.has_started()
        {
            return Err(Attempt::Stale);
        }
        outcome?;
        if self.reading.keeps_alive() {
            self.shard.idle.borrow_mut().push(connection);
        }
        self.reading.shortfall(self.forced).map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Notes the send, and writes the row as that of a request in flight.
    fn note_send(&mut self) {
        let first = !self.request.sent.reached();
        self.request.sent = self.shard.clock.now();
        self.shard.columns.borrow_mut().request(self.row, self.request.clone());
        if !first {
            return;
        }
        self.shard.count_sent();
        let inside = self.request.intended >= Moment::at(self.shard.window_start_ns);
        if let Some(lag_ns) = self.request.sent.ns_since(self.request.intended).filter(|_| inside) {
            self.shard.watch.borrow_mut().send_lag.add_ns(lag_ns, 1);
        }
    }

    async fn talk(&mut self, connection: &mut Connection, bytes: &[u8]) -> Result<(), Failure> {
        let Self { shard, reading, request, .. } = self;
        let limits = &shard.common.options.limits;
        let sent_ns = request.sent.get().unwrap_or_else(|| shard.clock.now_ns());
        let sending = tokio::time::timeout(limits.request, connection.send(bytes)).await;
        sending.map_err(|_| Failure::timed_out(limits.request))??;
        let mut patience = Patience::new(shard.clock, limits, sent_ns);
        loop {
            poll_fn(|context| match connection.poll_readable(context) {
                Poll::Ready(ready) => Poll::Ready(ready.map_err(|e| Failure::from(ConnectionError::from(e)))),
                Poll::Pending => patience.poll(context).map(Err),
            })
            .await?;
            let mut buffer = shard.buffer.borrow_mut();
            let Some(read) = connection.read(&mut buffer)? else { continue };
            let now_ns = shard.clock.now_ns();
            patience.heard(now_ns);
            let at = Read { row: self.row, now_ns, sent_ns, wall_origin_ns: shard.wall_origin_ns.get() };
            let (mut columns, mut watch) = (shard.columns.borrow_mut(), shard.watch.borrow_mut());
            if reading.feed(&read, at, &mut columns, &mut watch)? {
                return Ok(());
            }
        }
    }

    fn end(mut self, failure: Option<&Failure>) {
        let (intended, first) = (self.request.intended, self.reading.tokens_at.first);
        if let (None, Some(intended_ns), Some(ttft_ns)) = (failure, intended.get(), first.ns_since(intended)) {
            self.shard.watch.borrow_mut().first_tokens.push((intended_ns, ttft_ns));
        }
        self.close(failure.map_or(Fate::Completed, |failure| failure.fate), failure.map(Failure::text));
        self.shard.count_done(failure);
    }

    /// Writes the row as that of a request that has ended.
    fn close(&mut self, fate: Fate, error: Option<String>) {
        self.ended = true;
        let (reading, request) = (&self.reading, &mut self.request);
        let usage = reading.answer.usage();
        request.fate = fate;
        request.error = error;
        request.done = self.shard.clock.now();
        request.first_byte = reading.first_byte;
        request.first_token = reading.tokens_at.first;
        request.last_token = reading.tokens_at.last;
        request.finish = reading.answer.finish();
        request.prompt_tokens = usage.prompt_tokens;
        request.output_tokens = usage.completion_tokens;
        request.cached_tokens = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        self.shard.columns.borrow_mut().request(self.row, request.clone());
        self.shard.in_flight.set(self.shard.in_flight.get() - 1);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.ended {
            self.close(Fate::Cancelled, Some("cancelled".to_owned()));
            self.shard.count_done(None);
        }
    }
}
