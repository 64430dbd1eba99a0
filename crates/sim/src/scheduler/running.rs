//! Running requests come first, in order of their last admission.

use super::{Scheduled, Scheduler, Workbench};
use crate::{kv_cache::Ask, request::RequestState};

impl Scheduler {
    /// Gives every running request what it lacks, as far as the budget goes. Where blocks run out, others are thrown out
    /// for it, and in the end the request itself.
    pub(super) fn schedule_running(&mut self, bench: &mut Workbench<'_>, defers_prompts: bool) {
        let config = bench.config;
        let cap = self.prefill_cap(config);
        let lookahead = config.speculation.as_ref().map_or(0, |drafting| drafting.tokens);
        let mut index = 0;
        'requests: while index < self.running.len() && self.budget > 0 {
            let slot = self.running[index];
            let request = &mut bench.slots[slot];
            if ends_with_what_is_in_flight(request) || defers_prompts && request.num_computed + 1 < request.num_known()
            {
                index += 1;
                continue;
            }
            let computed = request.num_computed;
            let behind = (request.num_known() + request.drafts).saturating_sub(computed);
            let room = (config.max_model_len - 1).saturating_sub(computed);
            let mut tokens = behind.min(cap).min(self.budget).min(room);
            if let (Some(images), Some(encoder)) = (&mut self.images, &config.encoder) {
                tokens = images.allow(encoder, request, computed, tokens);
            }
            if tokens == 0 {
                index += 1;
                continue;
            }
            let ask = Ask { tokens, lookahead, watermark: 0, whole: false };
            while !bench.kv.allocate(&mut bench.slots[slot], bench.language, &[], ask) {
                let Some((victim, place)) = self.preempt(bench) else { break 'requests };
                if victim == slot {
                    break 'requests;
                }
                index -= usize::from(place < index);
            }
            let request = &mut bench.slots[slot];
            let drafts = (computed + tokens).saturating_sub(request.num_known());
            request.drafts = 0;
            self.batch.rows.push(Scheduled { id: bench.slots.id_of(slot), tokens, samples: false, drafts });
            self.budget -= tokens;
            index += 1;
        }
    }
}

/// Whether the tokens in flight are certain to reach the request's length, even if every draft among them is wrong.
fn ends_with_what_is_in_flight(request: &RequestState) -> bool {
    let end = request.prompt_len().saturating_add(request.max_tokens);
    request.placeholders > 0 && request.num_computed + 2 - request.placeholders >= end
}
