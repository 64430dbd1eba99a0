//! A decode batch, and what happens when its memory is not there.

use super::{Mode, Retraction, Sglang, Step, kv::Seat};
use crate::{
    core::Bench,
    request::{RequestState, Slots, Status},
    scheduler::Scheduled,
};
use std::cmp::Reverse;

impl Sglang {
    /// The next decode batch, if a request runs.
    pub(super) fn decode(&mut self, bench: &mut Bench<'_>) -> Option<Step> {
        if std::mem::take(&mut self.left_running) || self.running.is_empty() {
            self.full = false;
        }
        let mut rows = self.due(bench);
        if rows.is_empty() {
            // Nobody runs, or all end with the step in hand.
            return None;
        }
        if self.fits(bench, &rows) {
            self.ratio.decay();
        } else {
            if bench.config.sglang.retraction_waits_for_finish && rows.len() < self.running.len() {
                return None;
            }
            self.retract(bench);
            self.full = false;
            rows = self.due(bench);
        }
        let mut step = Step { mode: Mode::Decode, ..Step::default() };
        self.advance(bench, &rows, &mut step);
        (!rows.is_empty()).then_some(step)
    }

    /// Running requests that have a token to compute: not those that are known to end with the step in hand.
    pub(super) fn due(&self, bench: &Bench<'_>) -> Vec<u32> {
        let skips = bench.config.sglang.overlap_skips_known_length;
        let due = |slot: &u32| !(skips && ends_by_length(&bench.slots[*slot]));
        self.running.iter().copied().filter(due).collect()
    }

    /// Whether memory for a token each is there, if need be by eviction.
    pub(super) fn fits(&mut self, bench: &Bench<'_>, slots: &[u32]) -> bool {
        let missing = |slot: &u32| self.pool.missing(&self.seats[*slot as usize], bench.slots[*slot].num_computed + 1);
        let need = slots.iter().map(missing).sum();
        self.pool.make_room(need);
        self.pool.free() >= need
    }

    /// Takes memory for a token each and enters them in a step.
    pub(super) fn advance(&mut self, bench: &mut Bench<'_>, slots: &[u32], step: &mut Step) {
        for slot in slots {
            let request = &mut bench.slots[*slot];
            let prior = request.num_computed;
            self.pool.take(&mut self.seats[*slot as usize], prior + 1);
            request.num_computed += 1;
            step.shape.add(prior, 1, true);
            step.fills.push(0);
            step.rows.push(Scheduled { id: bench.slots.id_of(*slot), tokens: 1, samples: true, drafts: 0 });
        }
    }

    /// Throws out running requests until the others fit: the one with the least output first, of equals the one with
    /// the longest prompt. One at least goes, and one at least stays, unless it does not fit either: then it fails.
    fn retract(&mut self, bench: &mut Bench<'_>) {
        let rules = &bench.config.sglang;
        let (free, ratio_before) = (self.pool.free(), self.ratio.now);
        let mut kept = std::mem::take(&mut self.running);
        kept.sort_by_key(|slot| {
            let request = &bench.slots[*slot];
            (Reverse(request.output_len), request.prompt_len())
        });
        let mut victims = Vec::new();
        while victims.is_empty() || !self.fits(bench, &kept) {
            if kept.len() <= 1 {
                break;
            }
            let Some(victim) = kept.pop() else { break };
            victims.push(victim);
            self.throw_out(bench, victim);
            self.pool.make_room(kept.len() as u32 * rules.retract_decode_steps);
        }
        let mut given_up = None;
        if kept.len() == 1
            && !self.fits(bench, &kept)
            && let Some(last) = kept.pop()
        {
            let seat = std::mem::replace(&mut self.seats[last as usize], Seat::NONE);
            self.pool.drop(seat);
            self.admitted.retain(|held| *held != last);
            bench.slots[last].status = Status::Preempted;
            let id = bench.slots.id_of(last);
            self.failed.push(id);
            given_up = Some(id);
        }
        let sum = |value: fn(&RequestState) -> u32, of: &[u32], slots: &Slots| -> u64 {
            of.iter().map(|slot| u64::from(value(&slots[*slot]))).sum()
        };
        let generated = sum(|request| request.output_len, &kept, bench.slots);
        let asked = sum(|request| request.max_tokens, &kept, bench.slots);
        self.ratio.estimate(generated, asked, kept.len(), rules.retract_decode_steps);
        let retraction = Retraction {
            requests: victims.len() as u32,
            input_tokens: sum(RequestState::prompt_len, &victims, bench.slots),
            output_tokens: sum(|request| request.output_len, &victims, bench.slots),
            gained: self.pool.free().saturating_sub(free),
            ratio_before,
            ratio_after: self.ratio.now,
        };
        self.report_retraction(bench.now_ns, retraction, given_up);
        self.decisions.preempted += victims.len() as u32;
        self.running = kept;
        for victim in victims {
            self.entered[victim as usize] = self.prefilled_tokens;
            self.waiting.push_back(victim);
        }
    }

    /// Takes a running request's memory away. A token that the step in hand gives it is lost and computed again.
    fn throw_out(&mut self, bench: &mut Bench<'_>, slot: u32) {
        let seat = std::mem::replace(&mut self.seats[slot as usize], Seat::NONE);
        self.pool.drop(seat);
        self.admitted.retain(|held| *held != slot);
        let request = &mut bench.slots[slot];
        request.life.thrown_out = Some((bench.now_ns, request.num_computed));
        request.life.preemptions += 1;
        request.num_computed = 0;
        request.status = Status::Preempted;
    }
}

/// Whether the step in hand gives a running request the last token that it may have.
fn ends_by_length(request: &RequestState) -> bool {
    // Between steps all tokens but the last are computed; with a step in hand, that one too.
    let in_hand = (request.num_computed + 1).saturating_sub(request.num_tokens());
    request.output_len + in_hand >= request.max_tokens
}
