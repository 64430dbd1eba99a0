//! Admission of waiting requests.

use super::{Decisions, Scheduled, Scheduler, Workbench};
use crate::{
    kv_cache::Ask,
    request::{RequestState, Status},
};

/// How many tokens a request needs not compute, before it is admitted.
enum Found {
    /// So many, now.
    Now(u32),
    /// They are being copied: it waits.
    Later,
    /// There is no room for the copy: nobody is admitted.
    NoRoom,
}

impl Scheduler {
    /// Admits from the head of the queue while budget, seats and blocks last. It never preempts: a head that does not
    /// fit waits, and everyone behind it. A head that waits for something of its own lets the others pass.
    pub(super) fn admit(&mut self, bench: &mut Workbench<'_>) {
        let config = bench.config;
        let cap = self.prefill_cap(config);
        let seats = config.max_num_seqs as usize;
        let lookahead = config.speculation.as_ref().map_or(0, |drafting| drafting.tokens);
        while self.budget > 0 && self.running.len() < seats && !config.defects.stuck_head {
            let Some(slot) = self.waiting.front().copied() else { break };
            let request = &mut bench.slots[slot];
            let left = self.budget;
            if request.blocked_until_ns > bench.now_ns || request.in_flight > 0 {
                self.set_aside();
                continue;
            }
            let found = match self.find(bench, slot) {
                Found::Now(found) => found,
                Found::Later => {
                    self.set_aside();
                    continue;
                }
                Found::NoRoom => {
                    self.held_up_ns = Some(bench.now_ns);
                    break;
                }
            };
            let request = &mut bench.slots[slot];
            let behind = (request.num_tokens() - found).min(cap);
            if !config.enable_chunked_prefill && behind > left {
                break;
            }
            let mut tokens = behind.min(left);
            if let (Some(images), Some(encoder)) = (&mut self.images, &config.encoder) {
                tokens = images.allow(encoder, request, found, tokens);
            }
            if tokens == 0 {
                break;
            }
            let watermark = if self.running.is_empty() { 0 } else { config.watermark_blocks() };
            let ask = Ask { tokens, lookahead, watermark, whole: config.scheduler_reserve_full_isl };
            if !bench.kv.allocate(request, bench.language, &self.hit, ask) {
                if self.running.is_empty() && self.release_loaded(bench, slot) {
                    continue;
                }
                self.held_up_ns = Some(bench.now_ns);
                break;
            }
            self.waiting.pop_front();
            self.running.push(slot);
            self.budget -= tokens;
            settle(request, found, bench.now_ns, &mut self.batch.decisions);
            self.batch.rows.push(Scheduled { id: bench.slots.id_of(slot), tokens, samples: false, drafts: 0 });
        }
        while let Some(slot) = self.aside.pop() {
            self.waiting.push_front(slot);
        }
    }

    /// Lets the followers pass the head for this step.
    fn set_aside(&mut self) {
        self.aside.extend(self.waiting.pop_front());
    }

    /// Takes the blocks back that requests in the queue hold for what was copied for them: nobody runs, and the head does
    /// not fit beside them. Returns whether there were any.
    fn release_loaded(&self, bench: &mut Workbench<'_>, head: u32) -> bool {
        let mut released = false;
        for slot in self.waiting.iter().chain(&self.aside).filter(|slot| **slot != head) {
            let request = &mut bench.slots[*slot];
            if request.num_computed > 0 {
                bench.kv.free(request);
                request.num_computed = 0;
                released = true;
            }
        }
        released
    }

    /// Looks for tokens that need not be computed; the blocks found on the GPU are left in `self.hit`.
    fn find(&mut self, bench: &mut Workbench<'_>, slot: u32) -> Found {
        let request = &mut bench.slots[slot];
        if request.num_computed > 0 {
            // Its blocks came from the tier, and it holds them.
            self.hit.clear();
            return Found::Now(request.num_computed);
        }
        let local = bench.kv.lookup(request, bench.language, &mut self.hit);
        request.found = (local, 0);
        // The last token is computed here, whatever came: its logits are what is asked for.
        let came = std::mem::take(&mut request.features.transferred_tokens).min(request.num_tokens() - 1);
        if came > local {
            let watermark = if self.running.is_empty() { 0 } else { bench.config.watermark_blocks() };
            let tokens = came - local;
            let ask = Ask { tokens, lookahead: 0, watermark, whole: bench.config.scheduler_reserve_full_isl };
            if !bench.kv.allocate(request, bench.language, &self.hit, ask) {
                request.features.transferred_tokens = came;
                return Found::NoRoom;
            }
            self.hit.clear();
            request.found = (local, tokens);
            request.num_computed = came;
            return Found::Now(came);
        }
        let Some(offload) = &bench.config.offload else { return Found::Now(local) };
        let hit = self.hit.len();
        let blocks = bench.kv.worth(offload, request, hit, bench.now_ns);
        if blocks == 0 {
            return Found::Now(local);
        }
        let tokens = blocks * bench.config.block_size;
        let watermark = if self.running.is_empty() { 0 } else { bench.config.watermark_blocks() };
        let ask = Ask { tokens, lookahead: 0, watermark, whole: bench.config.scheduler_reserve_full_isl };
        if !bench.kv.allocate(request, bench.language, &self.hit, ask) {
            return Found::NoRoom;
        }
        let until_ns = bench.kv.load(offload, request, hit, blocks, bench.now_ns);
        self.hit.clear();
        request.found = (local, tokens);
        request.num_computed = local + tokens;
        if offload.loads_block_steps {
            self.batch.load.stalled_seconds += (until_ns - bench.now_ns) as f64 * 1e-9;
            return Found::Now(local + tokens);
        }
        request.blocked_until_ns = until_ns;
        Found::Later
    }
}

/// Books an admission: the first one counts in the prefix statistics and ends the queue stage; a later one ends a
/// preempted wait and says how much has to be computed again.
fn settle(request: &mut RequestState, found: u32, now_ns: i64, decisions: &mut Decisions) {
    let (local, external) = request.found;
    decisions.admitted += 1;
    if request.life.scheduled_ns.is_none() {
        request.life.scheduled_ns = Some(now_ns);
        request.life.cached_tokens = found;
        request.life.external_tokens = external;
        decisions.prefix_queries += u64::from(request.num_tokens());
        decisions.prefix_hits += u64::from(local);
        decisions.external_queries += u64::from(request.num_tokens() - local);
        decisions.external_hits += u64::from(external);
    }
    request.life.readmitted(now_ns, found);
    request.status = Status::Running;
    request.num_computed = found;
}
