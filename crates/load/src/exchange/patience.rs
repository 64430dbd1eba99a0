//! How long an answer is awaited: to its end, and from byte to byte.

use crate::{clock::RunClock, failure::Failure, options::Limits};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until};

/// Both time-outs of one request on one timer, which is set again only when it fires: bytes that come do not touch it.
pub(super) struct Patience {
    clock: RunClock,
    sleep: Pin<Box<Sleep>>,
    limits: Limits,
    start_ns: i64,
    heard_ns: i64,
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

impl Patience {
    /// Patience with a request that was sent at `start_ns`.
    pub fn new(clock: RunClock, limits: &Limits, start_ns: i64) -> Self {
        let sleep = Box::pin(sleep_until(Instant::now() + limits.request.min(limits.stall)));
        Self { clock, sleep, limits: *limits, start_ns, heard_ns: start_ns }
    }

    /// Bytes came at `now_ns`.
    #[inline]
    pub fn heard(&mut self, now_ns: i64) {
        self.heard_ns = now_ns;
    }

    /// Ready with the failure when patience has run out.
    #[inline]
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Failure> {
        loop {
            ready!(self.sleep.as_mut().poll(context));
            let now_ns = self.clock.now_ns();
            let end_ns = self.start_ns.saturating_add(nanoseconds(self.limits.request));
            let stall_ns = self.heard_ns.saturating_add(nanoseconds(self.limits.stall));
            if now_ns >= end_ns {
                return Poll::Ready(Failure::timed_out(self.limits.request));
            }
            if now_ns >= stall_ns {
                return Poll::Ready(Failure::stalled(self.limits.stall));
            }
            let left = u64::try_from(end_ns.min(stall_ns) - now_ns).unwrap_or(0);
            self.sleep.as_mut().reset(Instant::now() + Duration::from_nanos(left));
        }
    }
}
