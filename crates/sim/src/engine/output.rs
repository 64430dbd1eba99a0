//! What a step gives a request, and how it leaves the server.

use super::{Engine, Finished, Output, Spoken};
use crate::{
    emit::stats::Ended,
    language::{
        batch::{BatchView, Step},
        special::END_OF_TURN,
        speculation::SpecOutcome,
    },
    request::{FinishReason, RequestId, Status},
    scheduler::Scheduled,
};

/// Tokens that a step reports for a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reported {
    pub(super) generated: u64,
    /// Prompt tokens computed, with the first token.
    pub(super) prompt: u64,
    /// Whether the request has ended.
    pub(super) last: bool,
}

impl Engine {
    /// Appends a token to a request, and those of its draft that were right; ends it if one was the last. `place` is its
    /// row in the step.
    pub(super) fn emit(&mut self, row: Scheduled, now_ns: i64, step: &Step, place: u32) -> Reported {
        let slot = row.id.slot;
        let accepted = self.verify(row);
        let first = self.slots[slot].life.first_token_ns.is_none();
        let start = self.outputs.len();
        let mut finish = None;
        for _ in 0..=accepted {
            let ended = self.next_token(row.id, now_ns, step, place);
            finish = finish.or(ended);
            if finish.is_some_and(|reason| !self.runs_past(reason)) {
                break;
            }
        }
        if let (Some(output), Some(_)) = (self.outputs.last_mut(), finish) {
            output.finish = finish;
        }
        let request = &mut self.slots[slot];
        let mut reported =
            Reported { generated: (self.outputs.len() - start) as u64, prompt: 0, last: finish.is_some() };
        match request.life.last_token_ns {
            Some(before) => self.stats.itl.observe(now_ns - before),
            None => request.life.first_token_ns = Some(now_ns),
        }
        request.life.last_token_ns = Some(now_ns);
        let seen_ns = self.send(slot, start, finish.is_some(), now_ns);
        let request = &mut self.slots[slot];
        request.life.first_seen_ns.get_or_insert(seen_ns);
        request.life.last_seen_ns = Some(seen_ns);
        if first {
            let prompt = request.prompt_len();
            self.prefilling_tokens = self.prefilling_tokens.saturating_sub(u64::from(prompt));
            self.stats.first_token(&request.life, prompt, seen_ns);
            reported.prompt = u64::from(prompt.saturating_sub(request.life.cached_tokens));
        }
        if let Some(reason) = finish {
            self.end(slot, reason, seen_ns);
        }
        reported
    }

    /// Whether tokens accepted behind one that ended the answer for `reason` are handed out all the same.
    fn runs_past(&self, reason: FinishReason) -> bool {
        match reason {
            FinishReason::Stop => self.language.runs_past_end(),
            FinishReason::Length => self.language.runs_past_limit(),
            FinishReason::Error => false,
        }
    }

    /// Appends one token; says whether it is the last, and why.
    fn next_token(&mut self, id: RequestId, now_ns: i64, step: &Step, row: u32) -> Option<FinishReason> {
        let request = &mut self.slots[id.slot];
        let position = request.output_len;
        let (mut scored, mut stopped) = (None, position + 1 >= request.ends_at);
        let token = match &mut request.speech {
            None if stopped => END_OF_TURN,
            None => request.likeliest(position, &self.language),
            Some(speech) => {
                let (cached_tokens, preemptions) = (request.life.cached_tokens, request.life.preemptions);
                let view = BatchView { step, row, cached_tokens, preemptions };
                let token = self.language.speak(speech, &view, &mut self.generator);
                stopped = speech.stopped_by().is_some();
                if let Some(last) = speech.scored().last() {
                    scored = Some(self.scored.len() as u32);
                    self.scored.push(last.clone());
                }
                token
            }
        };
        request.output_len += 1;
        let (tag, cached_tokens, finish) = (request.tag, request.life.cached_tokens, None);
        let (at_ns, ends_event) = (now_ns, false);
        self.outputs.push(Output { id, tag, token, position, cached_tokens, finish, at_ns, ends_event, scored });
        if stopped {
            Some(FinishReason::Stop)
        } else if request.output_len >= request.max_tokens || request.num_tokens() >= self.config.max_model_len {
            Some(FinishReason::Length)
        } else {
            None
        }
    }

    /// How many drafted tokens of a row were right; what was computed for the others is lost.
    fn verify(&mut self, row: Scheduled) -> u32 {
        let request = &mut self.slots[row.id.slot];
        let accepted = match &self.config.speculation {
            Some(drafting) if row.drafts > 0 => drafting.accepted(request, request.output_len, row.drafts),
            _ => 0,
        };
        if let (Some(counters), true) = (&mut self.stats.speculation, row.drafts > 0) {
            counters.observe(row.drafts, accepted);
        }
        if let (Some(speech), true) = (&mut request.speech, self.config.speculation.is_some()) {
            self.language.verified(speech, SpecOutcome { drafted: row.drafts, accepted });
        }
        // A request that was thrown out meanwhile has been set back already.
        if request.status == Status::Running {
            request.num_computed -= row.drafts - accepted;
            request.placeholders = request.placeholders.saturating_sub(1 + row.drafts);
        }
        accepted
    }

    /// Hands the tokens from `start` on to the frontend: an event leaves, or they are held back for a later one. Returns
    /// when the frontend has seen them.
    fn send(&mut self, slot: u32, start: usize, last: bool, now_ns: i64) -> i64 {
        let frontend = &self.config.frontend;
        let request = &mut self.slots[slot];
        let fresh = (self.outputs.len() - start) as u32;
        let pending = request.held.len() as u32 + fresh;
        let nothing_sent = request.output_len == pending;
        let full = nothing_sent || pending >= frontend.stream_interval;
        let sends = last || full && request.output_len >= frontend.held_tokens;
        let worked = frontend.render_seconds(fresh, sends);
        if worked > 0.0 {
            self.stats.cpu.api_ns += (worked * 1e9).round() as i64;
        }
        let seen_ns = self.servers.render(request.server, now_ns, worked);
        if !sends {
            request.held.extend(self.outputs.drain(start..));
            return seen_ns;
        }
        if !request.held.is_empty() {
            for held in request.held.iter_mut().filter(|held| held.scored.is_some()) {
                let scored = request.speech.as_ref().and_then(|speech| speech.scored().get(held.position as usize));
                held.scored = scored.map(|_| self.scored.len() as u32);
                self.scored.extend(scored.cloned());
            }
            self.outputs.splice(start..start, request.held.drain(..));
        }
        for output in &mut self.outputs[start..] {
            output.at_ns = seen_ns;
        }
        if let Some(output) = self.outputs.last_mut() {
            output.ends_event = true;
        }
        seen_ns
    }

    pub(super) fn end(&mut self, slot: u32, reason: FinishReason, seen_ns: i64) {
        let id = self.slots.id_of(slot);
        let request = &self.slots[slot];
        let (prompt_tokens, output_tokens, life) = (request.prompt_len(), request.output_len, request.life);
        let max_tokens = request.max_tokens;
        self.stats.ended(&life, Ended { reason, prompt_tokens, output_tokens, max_tokens, seen_ns });
        self.finished.push(Finished { id, tag: request.tag, reason, prompt_tokens, output_tokens, life });
        if let Some(speech) = self.slots[slot].speech.take() {
            self.speaking -= 1;
            self.spoken.push(Spoken { tag: self.slots[slot].tag, reason, max_tokens, speech });
        }
        self.core.leak(&self.config, &mut self.slots[slot]);
        self.leave(slot);
    }
}
