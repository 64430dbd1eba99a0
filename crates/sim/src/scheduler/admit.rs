//! Admission of waiting requests.

use super::{Decisions, Scheduled, Scheduler, Workbench};
use crate::{
    kv_cache::Ask,
    request::{RequestState, Status},
};

impl Scheduler {
    /// Admits from the head of the queue while budget, seats and blocks last. It never preempts: a head that does not
    /// fit waits, and everyone behind it.
    pub(super) fn admit(&mut self, bench: &mut Workbench<'_>, budget: &mut u32, decisions: &mut Decisions) {
        let config = bench.config;
        let cap = self.prefill_cap(config);
        while *budget > 0 && self.running.len() < config.max_num_seqs as usize {
            let Some(slot) = self.waiting.front().copied() else { return };
            let request = &mut bench.slots[slot];
            let hit = bench.kv.lookup(request, bench.language, &mut self.hit);
            let behind = (request.num_tokens() - hit).min(cap);
            if !config.enable_chunked_prefill && behind > *budget {
                return;
            }
            let tokens = behind.min(*budget);
            let watermark = if self.running.is_empty() { 0 } else { config.watermark_blocks() };
            let ask = Ask { tokens, watermark, whole: config.scheduler_reserve_full_isl };
            if !bench.kv.allocate(request, bench.language, &self.hit, ask) {
                return;
            }
            self.waiting.pop_front();
            self.running.push(slot);
            settle(request, hit, bench.now_ns, decisions);
            self.batch.push(Scheduled { id: bench.slots.id_of(slot), tokens, samples: false });
            *budget -= tokens;
            decisions.admitted += 1;
        }
    }
}

/// Books an admission: the first one counts in the prefix statistics and ends the queue stage; a later one ends a
/// preempted wait and says how much has to be computed again.
fn settle(request: &mut RequestState, hit: u32, now_ns: i64, decisions: &mut Decisions) {
    if request.life.scheduled_ns.is_none() {
        request.life.scheduled_ns = Some(now_ns);
        request.life.cached_tokens = hit;
        decisions.prefix_queries += u64::from(request.num_tokens());
        decisions.prefix_hits += u64::from(hit);
    }
    if let Some((since_ns, computed)) = request.life.thrown_out.take() {
        request.life.preempted_ns += now_ns - since_ns;
        request.life.recomputed_tokens += u64::from(computed.saturating_sub(hit));
    }
    request.status = Status::Running;
    request.num_computed = hit;
}
