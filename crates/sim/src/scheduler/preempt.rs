//! Preemption by recompute.

use super::{Scheduler, Workbench};
use crate::request::Status;

impl Scheduler {
    /// Throws the request admitted last out of the batch and puts it at the head of the queue. Its blocks are freed but
    /// stay findable until they are evicted; its generated tokens are kept and computed again as if they were prompt.
    pub(super) fn preempt_tail(&mut self, bench: &mut Workbench<'_>) -> Option<u32> {
        let slot = self.running.pop()?;
        let request = &mut bench.slots[slot];
        bench.kv.free(request);
        request.life.thrown_out = Some((bench.now_ns, request.num_computed));
        request.life.preemptions += 1;
        request.num_computed = 0;
        request.status = Status::Preempted;
        self.waiting.push_front(slot);
        Some(slot)
    }
}
