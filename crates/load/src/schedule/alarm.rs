//! Waking at absolute times, to a few microseconds.
//!
//! tokio's own timers count milliseconds, so each send would be up to one late by construction. Here a timerfd on the
//! monotonic clock is set to the earliest time that somebody waits for; it is armed with absolute times, so lateness
//! never adds up. Elsewhere than on Linux tokio's timers have to do.

use crate::clock::RunClock;
use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::BinaryHeap,
    future::poll_fn,
    io,
    rc::Rc,
    task::{Poll, Waker},
};

/// One who waits.
#[derive(Debug, Default)]
struct Waiter {
    fired: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

struct Entry {
    due_ns: i64,
    waiter: Rc<Waiter>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.due_ns == other.due_ns
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.due_ns.cmp(&other.due_ns)
    }
}

/// Wakes tasks of one thread at times of the run's clock. Somebody must [`Alarm::drive`] it.
pub(crate) struct Alarm {
    clock: RunClock,
    waiting: RefCell<BinaryHeap<Reverse<Entry>>>,
    timer: timer::Timer,
}

impl Alarm {
    /// An alarm that nobody waits for. Must be called inside a tokio runtime with I/O.
    pub fn new(clock: RunClock) -> io::Result<Self> {
        Ok(Self { clock, waiting: RefCell::default(), timer: timer::Timer::new()? })
    }

    /// Waits until `due_ns` on the run's clock.
    pub async fn until(&self, due_ns: i64) {
        if self.clock.now_ns() >= due_ns {
            return;
        }
        let waiter = Rc::new(Waiter::default());
        let earliest = {
            let mut waiting = self.waiting.borrow_mut();
            waiting.push(Reverse(Entry { due_ns, waiter: Rc::clone(&waiter) }));
            waiting.peek().is_some_and(|Reverse(first)| Rc::ptr_eq(&first.waiter, &waiter))
        };
        if earliest {
            self.timer.set(self.clock.monotonic_ns(due_ns));
        }
        poll_fn(|context| {
            if waiter.fired.get() {
                return Poll::Ready(());
            }
            waiter.waker.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    /// Wakes whoever is due, until the reactor fails.
    pub async fn drive(&self) -> io::Error {
        loop {
            if let Err(error) = self.timer.fired().await {
                return error;
            }
            let now = self.clock.now_ns();
            let next = loop {
                let mut waiting = self.waiting.borrow_mut();
                match waiting.peek() {
                    None => break None,
                    Some(Reverse(first)) if first.due_ns > now => break Some(first.due_ns),
                    Some(_) => {}
                }
                let Some(Reverse(due)) = waiting.pop() else { break None };
                drop(waiting);
                due.waiter.fired.set(true);
                if let Some(waker) = due.waiter.waker.take() {
                    waker.wake();
                }
            };
            if let Some(due_ns) = next {
                self.timer.set(self.clock.monotonic_ns(due_ns));
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod timer {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };
    use std::{io, os::fd::OwnedFd};
    use tokio::io::{Interest, unix::AsyncFd};

    /// A timerfd in tokio's reactor.
    pub(super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        pub fn new() -> io::Result<Self> {
            let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            #[expect(deprecated, reason = "its successor is unsafe; an OwnedFd keeps what that one demands")]
            AsyncFd::with_interest(timer, Interest::READABLE).map(Self)
        }

        /// Sets the time, replacing what was set before.
        pub fn set(&self, monotonic_ns: i64) {
            // Zero would disarm the timer.
            let at = monotonic_ns.max(1);
            let once = Itimerspec {
                it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: Timespec { tv_sec: at / 1_000_000_000, tv_nsec: at % 1_000_000_000 },
            };
            let set = timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::ABSTIME, &once);
            debug_assert!(set.is_ok(), "a valid time on an open timer: {set:?}");
        }

        /// Waits until the time has come.
        pub async fn fired(&self) -> io::Result<()> {
            loop {
                let mut ready = self.0.readable().await?;
                let mut count = [0_u8; 8];
                match ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut count)?)) {
                    Ok(read) => return read.map(drop),
                    Err(_would_block) => {}
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod timer {
    use crate::clock::RunClock;
    use std::{cell::Cell, io, time::Duration};
    use tokio::sync::Notify;

    /// tokio's timer in the place of a timerfd.
    pub(super) struct Timer {
        at: Cell<Option<i64>>,
        changed: Notify,
        monotonic: RunClock,
    }

    impl Timer {
        pub fn new() -> io::Result<Self> {
            Ok(Self { at: Cell::new(None), changed: Notify::new(), monotonic: RunClock::monotonic() })
        }

        pub fn set(&self, monotonic_ns: i64) {
            self.at.set(Some(monotonic_ns));
            self.changed.notify_one();
        }

        pub async fn fired(&self) -> io::Result<()> {
            loop {
                let Some(at) = self.at.get() else {
                    self.changed.notified().await;
                    continue;
                };
                let left = u64::try_from(at - self.monotonic.now_ns()).unwrap_or(0);
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_nanos(left)) => {
                        self.at.set(None);
                        return Ok(());
                    }
                    () = self.changed.notified() => {}
                }
            }
        }
    }
}
