//! Requests on their way to the core, and away from it.

use super::{Engine, Refusal};
use crate::request::{Life, NewRequest, RequestId, RequestState, Status};

impl Engine {
    /// Hands in a request that arrived at `now_ns`. The core takes it in between two steps, once the frontend's time
    /// has passed.
    ///
    /// # Errors
    /// A request that could never be answered in full, one too many, or any once the core has died.
    pub fn submit(&mut self, now_ns: i64, mut request: NewRequest) -> Result<RequestId, Refusal> {
        request.prompt = self.config.sampler.prompt.apply(request.prompt);
        let max_tokens = self.admissible(&request)?;
        let mut lengths = request.lengths();
        let structured = request.features.schema.is_some();
        let runaway = structured && self.config.structured.runs_away(self.language.read(&request.prompt).bits());
        lengths.ignore_eos |= runaway;
        let speech = self.language.begin(&request.prompt, request.sampling.as_deref(), lengths);
        let context = match &speech {
            Some(speech) => speech.begun_from(),
            None => self.language.read(&request.prompt),
        };
        // An answer whose tokens are chosen one by one ends when it does.
        let ends_at = if lengths.ignore_eos || speech.is_some() {
            u32::MAX
        } else {
            self.language.natural_length(context).max(request.min_tokens.saturating_add(1))
        };
        self.speaking += u32::from(speech.is_some());
        let prompt_tokens = request.prompt.len() as u32;
        let (server, tokenised_ns) = self.servers.accept(&self.config.frontend, now_ns, prompt_tokens);
        let frontend_ns = (self.config.frontend_seconds * 1e9).round() as i64;
        let ready_ns = tokenised_ns.saturating_add(frontend_ns);
        let id = self.slots.insert(RequestState {
            generation: 0,
            tag: request.tag,
            status: Status::Incoming,
            aborted: false,
            prompt: request.prompt,
            output_len: 0,
            num_computed: 0,
            max_tokens,
            ends_at,
            context,
            begun: context.bits(),
            speech,
            features: request.features,
            blocks: Vec::new(),
            hashes: Vec::new(),
            cached_blocks: 0,
            in_flight: 0,
            placeholders: 0,
            drafts: 0,
            blocked_until_ns: i64::MIN,
            images_encoded: 0,
            found: (0, 0),
            runaway,
            server,
            held: Vec::new(),
            life: Life { arrival_ns: now_ns, tokenised_ns: ready_ns, queued_ns: now_ns, ..Life::default() },
        });
        self.prefilling_tokens += u64::from(prompt_tokens);
        let worked = self.config.frontend.work_seconds(prompt_tokens);
        self.stats.cpu.api_ns += frontend_ns + (worked * 1e9).round() as i64;
        // Servers of different load hand on out of order.
        let place = self.incoming.iter().rev().take_while(|(other_ns, _)| *other_ns > ready_ns).count();
        self.incoming.insert(self.incoming.len() - place, (ready_ns, id.slot));
        Ok(id)
    }

    fn admissible(&mut self, request: &NewRequest) -> Result<u32, Refusal> {
        if self.death.is_some() {
            return Err(Refusal::Dead);
        }
        let (prompt_tokens, max_model_len) = (request.prompt.len(), self.config.max_model_len);
        if prompt_tokens == 0 {
            return Err(Refusal::EmptyPrompt);
        }
        if let Some(sampling) = &request.sampling {
            sampling.validate(self.config.sampler.max_logprobs)?;
        }
        let room = u32::try_from(prompt_tokens).ok().and_then(|len| max_model_len.checked_sub(len));
        let Some(room) = room.filter(|room| *room > 0) else {
            return Err(Refusal::PromptTooLong { prompt_tokens, max_model_len });
        };
        let most = self.config.sampler.defaults.max_tokens.unwrap_or(u32::MAX);
        let max_tokens = request.max_tokens.unwrap_or(room).min(most);
        if max_tokens == 0 {
            return Err(Refusal::NoOutput);
        }
        if max_tokens > room {
            return Err(Refusal::TooLong { prompt_tokens, max_tokens, max_model_len });
        }
        if request.min_tokens > max_tokens {
            return Err(Refusal::MinAboveMax { min_tokens: request.min_tokens, max_tokens });
        }
        self.not_overloaded()?;
        Ok(max_tokens)
    }

    /// The two limits of the queue: requests in the engine, and prompt tokens of those without a first token, whatever of
    /// them has been computed or found.
    fn not_overloaded(&mut self) -> Result<(), Refusal> {
        let requests = self.config.max_num_queued_reqs.map(u64::from);
        if let Some(most) = requests.filter(|most| self.slots.len() as u64 >= *most) {
            self.stats.rejected_requests += 1;
            return Err(Refusal::Overloaded { limit: "max_num_queued_reqs", most });
        }
        if let Some(most) = self.config.max_num_queued_tokens.filter(|most| self.prefilling_tokens >= *most) {
            self.stats.rejected_tokens += 1;
            return Err(Refusal::Overloaded { limit: "max_num_queued_tokens", most });
        }
        Ok(())
    }

    /// Gives up a request: its client is gone. Its blocks are freed at once, or at the end of the step in hand if that
    /// still writes to them. Returns whether it was there. As in vLLM, a client that goes away is not counted.
    pub fn abort(&mut self, id: RequestId) -> bool {
        let Some(slot) = self.slots.slot_of(id) else { return false };
        let status = self.slots[slot].status;
        if self.core.computes(id, self.in_flight.is_some()) {
            self.slots[slot].aborted = true;
            return true;
        }
        if status == Status::Incoming {
            self.incoming.retain(|(_, held)| *held != slot);
        }
        self.leave(slot);
        self.core.swept(&self.slots);
        true
    }

    pub(super) fn take_in(&mut self, now_ns: i64) {
        while let Some((ready_ns, slot)) = self.incoming.front().copied() {
            if ready_ns > now_ns {
                return;
            }
            self.incoming.pop_front();
            let request = &mut self.slots[slot];
            request.status = Status::Waiting;
            request.life.queued_ns = now_ns;
            if let Some(schema) = request.features.schema {
                request.blocked_until_ns = self.grammars.ready_ns(&self.config.structured, schema, now_ns);
            }
            self.taken_in += 1;
            self.core.enqueue(slot, &self.config, &self.slots);
        }
    }
}
