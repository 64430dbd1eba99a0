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
    /// What the timer is set to, on the run's clock.
    set_ns: i64,
    limits: Limits,
    start_ns: i64,
    heard_ns: i64,
    /// Bytes came since the timer was last polled, and the timer has been polled at all.
    just_heard: bool,
    armed: bool,
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

impl Patience {
    /// Patience with a request that was sent at `start_ns`.
    pub fn new(clock: RunClock, limits: &Limits, start_ns: i64) -> Self {
        let first = limits.request.min(limits.stall);
        Self {
            clock,
            sleep: Box::pin(sleep_until(Instant::now() + first)),
            set_ns: start_ns.saturating_add(nanoseconds(first)),
            limits: *limits,
            start_ns,
            heard_ns: start_ns,
            just_heard: false,
            armed: false,
        }
    }

    /// Bytes came at `now_ns`.
    #[inline]
    pub fn heard(&mut self, now_ns: i64) {
        self.heard_ns = now_ns;
        self.just_heard = true;
    }

    /// Ready with the failure when patience has run out. To be polled by one task only, whose waker stays the same.
    ///
    /// Polling the timer costs more than reading an event. It can be left out when bytes were read in this very turn of
    /// the task, before the time to which the timer is set: then it has not fired yet, and will wake the task when it does.
    #[inline]
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Failure> {
        if std::mem::take(&mut self.just_heard) && self.armed && self.heard_ns < self.set_ns {
            return Poll::Pending;
        }
        self.poll_timer(context)
    }

    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<Failure> {
        self.armed = true;
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
            self.set_ns = end_ns.min(stall_ns);
            let left = u64::try_from(self.set_ns - now_ns).unwrap_or(0);
            self.sleep.as_mut().reset(Instant::now() + Duration::from_nanos(left));
        }
    }
}
