//! What should be done every so often: how late it is done is how long the event loop stood still.

use crate::{schedule::agenda::Wake, shard::Shard};
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

impl Shard {
    /// Beats, and enters the next beat in the agenda: from the run's start on, and at the window's start whatever the
    /// rhythm.
    pub fn beat(&mut self, due_ns: i64) {
        let now_ns = self.clock.now_ns();
        self.look(now_ns, now_ns - due_ns);
        if now_ns - self.handed_over_ns >= HAND_OVER_NS {
            self.handed_over_ns = now_ns;
            self.columns.flush();
            self.wall_origin_ns = self.clock.origin_unix_ns();
        }
        self.publish();
        self.stopped |= self.common.stop.is_told();
        // After a stall the beats that were missed are not made up for.
        let next_ns = now_ns.max(due_ns) + BEAT_NS;
        let before_window = now_ns < self.window_start_ns;
        self.agenda.enter(if before_window { next_ns.min(self.window_start_ns) } else { next_ns }, Wake::Beat);
    }

    fn look(&mut self, now_ns: i64, late_ns: i64) {
        let watch = &mut self.watch;
        if watch.measuring {
            watch.longest_stall_ns = watch.longest_stall_ns.max(late_ns);
            watch.beats += 1;
            // While the streams are still starting, and once the trace is used up, an idle stream is as it should be.
            if now_ns >= self.ramp_ns && !self.offering.out_of_rows {
                watch.looks += 1;
                watch.busy += (self.in_flight + self.offering.thinking) as u64;
            }
        } else if now_ns >= self.window_start_ns && !self.offered_all && watch.window_ns == 0 {
            watch.measuring = true;
            watch.cpu_ns = -thread_cpu_ns();
            watch.window_ns = -now_ns;
        }
    }

    /// Ends the shard's measuring of itself; called on the shard's own thread when the last request was offered.
    pub fn close_window(&mut self) {
        self.offered_all = true;
        if self.watch.measuring {
            self.watch.measuring = false;
            self.watch.cpu_ns += thread_cpu_ns();
            self.watch.window_ns += self.clock.now_ns();
        }
    }
}
