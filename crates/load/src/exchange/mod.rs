//! One request from its intended send to its end, whatever that is.

mod patience;
mod reader;
mod reading;

use crate::{failure::Failure, protocol::request::Rendered, shard::Shard, wire::connection::Connection};
use firstcheck_model::{
    moment::Moment,
    request::{Fate, Request},
};
use reading::Reading;
use std::rc::Rc;

/// Performs the request of `row`, which was intended for `intended_ns`, and records it.
///
/// Dropped before its end, the request is recorded as cancelled.
pub(crate) async fn perform(shard: &Rc<Shard>, row: u32, intended_ns: i64, rendered: Rendered) {
    let mut exchange = Exchange::new(shard, row, intended_ns, &rendered);
    let mut retried = false;
    loop {
        let (mut connection, reused) = match shard.connection().await {
            Ok(connection) => connection,
            Err(error) => return exchange.end(Some(&error.into())),
        };
        let outcome = match exchange.send(&mut connection, &rendered.bytes).await {
            Err(failure) => Err(failure),
            Ok(()) => match reader::read(exchange, connection).await {
                Some((returned, still_open, outcome)) => {
                    (exchange, connection) = (returned, still_open);
                    outcome
                }
                // The reading task is gone, and has recorded the request as cancelled.
                None => return,
            },
        };
        // An idle connection may be closed by the server in the very moment in which it is used again: nothing was
        // read of the request, so a fresh connection takes it, once.
        let silent = outcome.as_ref().is_err_and(Failure::is_silent_close) && !exchange.reading.has_started();
        if silent && reused && !retried {
            retried = true;
            shard.watch.borrow_mut().stale += 1;
            shard.idle.borrow_mut().clear();
            continue;
        }
        if outcome.is_ok() && exchange.reading.keeps_alive() {
            shard.idle.borrow_mut().push(connection);
        }
        let failure = outcome.err().or_else(|| exchange.reading.shortfall(exchange.forced));
        return exchange.end(failure.as_ref());
    }
}

/// A request in flight. Its row is written when it ends or is dropped.
struct Exchange {
    shard: Rc<Shard>,
    reading: Reading,
    /// Boxed, to keep what each event needs close together.
    request: Box<Request>,
    row: u32,
    forced: Option<u32>,
    ended: bool,
}

impl Exchange {
    fn new(shard: &Rc<Shard>, row: u32, intended_ns: i64, rendered: &Rendered) -> Self {
        let common = &shard.common;
        let mut request = Box::new(Request::offered(Moment::at(intended_ns)));
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

    async fn send(&mut self, connection: &mut Connection, bytes: &[u8]) -> Result<(), Failure> {
        self.note_send();
        let limit = self.shard.common.options.limits.request;
        let sent = tokio::time::timeout(limit, connection.send(bytes)).await;
        Ok(sent.map_err(|_| Failure::timed_out(limit))??)
    }

    /// Notes the send, and writes the row as that of a request in flight.
    fn note_send(&mut self) {
        let first = !self.request.sent.reached();
        self.request.sent = self.shard.clock.now();
        self.shard.columns.borrow_mut().request(self.row, (*self.request).clone());
        if !first {
            return;
        }
        self.shard.count_sent();
        let inside = self.request.intended >= Moment::at(self.shard.window_start_ns);
        if let Some(lag_ns) = self.request.sent.ns_since(self.request.intended).filter(|_| inside) {
            self.shard.watch.borrow_mut().send_lag.add_ns(lag_ns, 1);
        }
    }

    fn end(mut self, failure: Option<&Failure>) {
        let (intended, first) = (self.request.intended, self.reading.tokens_at.first);
        if let (None, Some(intended_ns), Some(ttft_ns)) = (failure, intended.get(), first.ns_since(intended)) {
            self.shard.watch.borrow_mut().first_tokens.push((intended_ns, ttft_ns));
        }
        let error = failure.map(|failure| self.shard.common.secrets.conceal(failure.text()));
        self.close(failure.map_or(Fate::Completed, |failure| failure.fate), error);
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
        self.shard.columns.borrow_mut().request(self.row, (**request).clone());
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
