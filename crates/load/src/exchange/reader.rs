//! The task that reads one answer.
//!
//! A thousand streams bring a hundred thousand events a second, and between two events of a stream its memory has left
//! the cache. So the reading is a task of its own that is polled without the futures that await it, with all that an
//! event needs in one place: each future on the way would cost a cache miss an event.

use super::{
    Exchange,
    patience::Patience,
    reading::{Read, Reading},
};
use crate::{
    failure::Failure,
    wire::connection::{Connection, ConnectionError},
};
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::sync::oneshot;

/// What comes back: the request, its connection, and how reading ended.
type Returned = (Exchange, Connection, Result<(), Failure>);

/// Reads the answer to `exchange` to its end; `None` if the reading task did not live to tell.
pub(super) async fn read(exchange: Exchange, connection: Connection) -> Option<Returned> {
    let (reply, answer) = oneshot::channel();
    let (shard, sent) = (&exchange.shard, exchange.request.sent);
    let sent_ns = sent.get().unwrap_or_else(|| shard.clock.now_ns());
    let patience = Patience::new(shard.clock, &shard.common.options.limits, sent_ns);
    tokio::task::spawn_local(Reader { work: Some((exchange, connection)), sent_ns, patience, reply: Some(reply) });
    answer.await.ok()
}

struct Reader {
    work: Option<(Exchange, Connection)>,
    sent_ns: i64,
    patience: Patience,
    reply: Option<oneshot::Sender<Returned>>,
}

impl Future for Reader {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let Some((exchange, connection)) = &mut this.work else { return Poll::Ready(()) };
        let outcome = ready!(poll(exchange, connection, this.sent_ns, &mut this.patience, context));
        if let (Some((exchange, connection)), Some(reply)) = (this.work.take(), this.reply.take()) {
            // Whoever awaits the answer is dropped with the whole run only; then the request records itself as cancelled.
            drop(reply.send((exchange, connection, outcome)));
        }
        Poll::Ready(())
    }
}

/// Reads what is there; ready when the answer is complete or has failed.
#[inline]
fn poll(
    exchange: &mut Exchange,
    connection: &mut Connection,
    sent_ns: i64,
    patience: &mut Patience,
    context: &mut Context<'_>,
) -> Poll<Result<(), Failure>> {
    let Exchange { shard, row, reading, .. } = exchange;
    loop {
        match connection.poll_readable(context) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => return Poll::Ready(Err(ConnectionError::from(error).into())),
            Poll::Pending => return patience.poll(context).map(Err),
        }
        let mut buffer = shard.buffer.borrow_mut();
        let read = match connection.read(&mut buffer) {
            Ok(Some(read)) => read,
            Ok(None) => continue,
            Err(error) => return Poll::Ready(Err(error.into())),
        };
        let now_ns = shard.clock.now_ns();
        patience.heard(now_ns);
        let at = Read { row: *row, now_ns, sent_ns, wall_origin_ns: shard.wall_origin_ns.get() };
        let (mut columns, mut watch) = (shard.columns.borrow_mut(), shard.watch.borrow_mut());
        match Reading::feed(reading, &read, at, &mut columns, &mut watch) {
            Ok(false) => {}
            Ok(true) => return Poll::Ready(Ok(())),
            Err(failure) => return Poll::Ready(Err(failure)),
        }
    }
}
