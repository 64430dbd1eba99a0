//! A task that should run every so often: how late it runs is how long the event loop stood still.

use crate::shard::Shard;
use rustix::time::{ClockId, clock_gettime};

/// Time between two beats.
const BEAT_NS: i64 = 20_000_000;
/// Time after which rows are handed over and the wall clock is compared again.
const HAND_OVER_NS: i64 = 1_000_000_000;

/// CPU time of the calling thread, user and system, in nanoseconds.
fn thread_cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Beats until it is dropped, from the run's start on and at the window's start whatever the rhythm.
pub(crate) async fn beat(shard: &Shard) {
    let mut due = 0;
    let mut handed_over = due;
    loop {
        shard.alarm.until(due).await;
        let now = shard.clock.now_ns();
        look(shard, now, now - due);
        if now - handed_over >= HAND_OVER_NS {
            handed_over = now;
            shard.columns.borrow_mut().flush();
            shard.wall_origin_ns.set(shard.clock.origin_unix_ns());
        }
        shard.publish();
        // After a stall the beats that were missed are not made up for.
        let next = now.max(due) + BEAT_NS;
        due = if now < shard.window_start_ns { next.min(shard.window_start_ns) } else { next };
    }
}

fn look(shard: &Shard, now: i64, late_ns: i64) {
    let mut watch = shard.watch.borrow_mut();
    if watch.measuring {
        watch.longest_stall_ns = watch.longest_stall_ns.max(late_ns);
        watch.beats += 1;
        // While the streams are still starting, and once the trace is used up, an idle stream is as it should be.
        if now >= shard.ramp_ns && !shard.exhausted.get() {
            watch.looks += 1;
            watch.busy += (shard.in_flight.get() + shard.thinking.get()) as u64;
        }
    } else if now >= shard.window_start_ns && !shard.offered_all.get() && watch.window_ns == 0 {
        watch.measuring = true;
        watch.cpu_ns = -thread_cpu_ns();
        watch.window_ns = -now;
    }
}

/// Ends the shard's measuring of itself; called on the shard's own thread when the last request was offered.
pub(crate) fn close_window(shard: &Shard) {
    shard.offered_all.set(true);
    let mut watch = shard.watch.borrow_mut();
    if watch.measuring {
        watch.measuring = false;
        watch.cpu_ns += thread_cpu_ns();
        watch.window_ns += shard.clock.now_ns();
    }
}
