//! Preemption by recompute.

use super::{Scheduler, Workbench};
use crate::{
    config::Policy,
    request::{Slots, Status},
};

impl Scheduler {
    /// Throws a request out of the batch and puts it back into the queue: the one admitted last, at the head; under the
    /// priority policy the one that is last in its order, in its place. Its blocks are freed but stay findable until they
    /// are evicted; its generated tokens are kept and computed again as if they were prompt. What the step in hand gives
    /// it is still delivered. Returns its slot and where in the running batch it stood.
    pub(super) fn preempt(&mut self, bench: &mut Workbench<'_>) -> Option<(u32, usize)> {
        let place = self.victim(bench.config.policy, bench.slots)?;
        let slot = self.running.remove(place);
        let id = bench.slots.id_of(slot);
        let request = &mut bench.slots[slot];
        // Only under the priority policy may a victim have its share of this step already.
        if bench.config.policy == Policy::Priority
            && let Some(row) = self.batch.rows.iter().position(|row| row.id == id)
        {
            self.budget += self.batch.rows.remove(row).tokens;
        }
        bench.kv.free(request);
        request.life.thrown_out = Some((bench.now_ns, request.num_computed));
        request.life.preemptions += 1;
        request.num_computed = 0;
        request.drafts = 0;
        request.placeholders = 0;
        request.images_encoded = 0;
        request.status = Status::Preempted;
        self.batch.decisions.preempted += 1;
        match bench.config.policy {
            Policy::Fcfs => self.waiting.push_front(slot),
            Policy::Priority => self.insert(slot, bench.slots),
        }
        Some((slot, place))
    }

    fn victim(&self, policy: Policy, slots: &Slots) -> Option<usize> {
        match policy {
            Policy::Fcfs => self.running.len().checked_sub(1),
            Policy::Priority => {
                let order = |(_, slot): &(usize, &u32)| slots[**slot].order();
                self.running.iter().enumerate().max_by_key(order).map(|(place, _)| place)
            }
        }
    }

    /// Puts a request into its place of a queue ordered by priority.
    fn insert(&mut self, slot: u32, slots: &Slots) {
        let order = slots[slot].order();
        let place = self.waiting.partition_point(|held| slots[*held].order() <= order);
        self.waiting.insert(place, slot);
    }

    /// Puts a request that was taken in into the queue.
    pub(crate) fn enqueue(&mut self, slot: u32, policy: Policy, slots: &Slots) {
        match policy {
            Policy::Fcfs => self.waiting.push_back(slot),
            Policy::Priority => self.insert(slot, slots),
        }
    }

    /// Puts the queue into the order of a policy that has just come into force.
    pub(crate) fn reorder(&mut self, policy: Policy, slots: &Slots) {
        if policy == Policy::Priority {
            self.waiting.make_contiguous().sort_by_key(|slot| slots[*slot].order());
        }
    }

    /// Throws requests out that nothing calls for, where a bug does so.
    pub(super) fn preempt_for_nothing(&mut self, bench: &mut Workbench<'_>) {
        let defects = &bench.config.defects;
        if defects.preempt_every_steps == 0 || !self.steps.is_multiple_of(u64::from(defects.preempt_every_steps)) {
            return;
        }
        for _ in 0..defects.preempt_requests {
            if self.preempt(bench).is_none() {
                return;
            }
        }
    }
}
