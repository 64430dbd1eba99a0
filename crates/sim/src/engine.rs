//! The engine's core: takes requests in, runs steps, hands out tokens. It knows no clock of its own: whoever drives it
//! says what time it is, in virtual time or in real time.

use crate::{
    config::{ConfigError, EngineConfig},
    core::{Bench, Core},
    emit::stats::{Ended, Gauges, Stats},
    kv_cache::KvCache,
    language::{
        Language,
        batch::{BatchView, Step},
        draw::Generator,
        logprobs::Scored,
        sampling::SamplingError,
        special::END_OF_TURN,
        speech::Speech,
    },
    request::{FinishReason, Life, NewRequest, RequestId, RequestState, Slots, Status},
    scheduler::{Decisions, Scheduled},
    sglang::SglangView,
    timing::{NoiseSource, StepTime},
};
use std::collections::VecDeque;

/// A token handed out at a step's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output {
    /// Whose.
    pub id: RequestId,
    /// The caller's own name for the request.
    pub tag: u64,
    /// The token.
    pub token: u32,
    /// Its place in the answer, from 0.
    pub position: u32,
    /// Prompt tokens that the request found in the cache at its first admission.
    pub cached_tokens: u32,
    /// Why it is the last one, if it is.
    pub finish: Option<FinishReason>,
    /// When its event leaves the server, nanoseconds: the step's end, or later where the frontend lags behind.
    pub at_ns: i64,
    /// Whether an event ends with this token; else the next token of the same request, in the same result, is part of
    /// the same event.
    pub ends_event: bool,
    /// Where its log probabilities stand in [`StepResult::scored`], if they were asked for.
    pub scored: Option<u32>,
}

/// A request that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// Which.
    pub id: RequestId,
    /// The caller's own name for it.
    pub tag: u64,
    /// Why.
    pub reason: FinishReason,
    /// Prompt tokens.
    pub prompt_tokens: u32,
    /// Tokens generated.
    pub output_tokens: u32,
    /// Its true course.
    pub life: Life,
}

/// An answer whose tokens were chosen one by one, with all that was returned of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Spoken {
    /// The caller's own name for the request.
    pub tag: u64,
    /// Why it ended.
    pub reason: FinishReason,
    /// Most tokens that it could have had.
    pub max_tokens: u32,
    /// The answer.
    pub speech: Box<Speech>,
}

/// What a step handed out.
#[derive(Debug, Clone, Copy)]
pub struct StepResult<'a> {
    /// Tokens, in the order of the batch.
    pub outputs: &'a [Output],
    /// Requests that ended with this step.
    pub finished: &'a [Finished],
    /// Log probabilities of those tokens for which they were asked.
    pub scored: &'a [Scored],
    /// Answers that ended with this step and whose tokens were chosen one by one.
    pub spoken: &'a [Spoken],
}

/// Why a request is refused at the door.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing to compute.
    #[error("the prompt has no token: send at least one")]
    EmptyPrompt,
    /// No token asked for.
    #[error("max_tokens must be at least 1, got 0")]
    NoOutput,
    /// More output asked for at least than at most.
    #[error("min_tokens={min_tokens} must not exceed max_tokens={max_tokens}")]
    MinAboveMax {
        /// `min_tokens`
        min_tokens: u32,
        /// `max_tokens`
        max_tokens: u32,
    },
    /// A sampling setting out of range.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    /// The prompt leaves no room for a single token.
    #[error(
        "the maximum context length is {max_model_len} tokens, but the prompt has {prompt_tokens}: shorten the prompt"
    )]
    PromptTooLong {
        /// Prompt tokens.
        prompt_tokens: usize,
        /// Longest sequence.
        max_model_len: u32,
    },
    /// Prompt and answer together are too long.
    #[error(
        "max_tokens={max_tokens} with {prompt_tokens} prompt tokens exceeds max_model_len={max_model_len}: ask for \
         fewer output tokens"
    )]
    TooLong {
        /// Prompt tokens.
        prompt_tokens: usize,
        /// `max_tokens`
        max_tokens: u32,
        /// Longest sequence.
        max_model_len: u32,
    },
}

/// One simulated engine.
#[derive(Debug, Clone)]
pub struct Engine {
    config: EngineConfig,
    language: Language,
    slots: Slots,
    core: Core,
    /// Handed in, with the time from which the core can take each in; in order of that time.
    incoming: VecDeque<(i64, u32)>,
    step_time: StepTime,
    noise: NoiseSource,
    in_flight: Option<(i64, Decisions)>,
    stats: Stats,
    outputs: Vec<Output>,
    finished: Vec<Finished>,
    scored: Vec<Scored>,
    spoken: Vec<Spoken>,
    /// What the sampler remembers.
    generator: Generator,
    /// Requests there are whose tokens are chosen one by one.
    speaking: u32,
}

impl Engine {
    /// An engine at rest, its cache empty. `seed` draws the spread of step times.
    ///
    /// # Errors
    /// A configuration with which no engine would start.
    pub fn new(config: EngineConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            language: Language::of(&config),
            slots: Slots::default(),
            core: Core::new(&config, seed),
            incoming: VecDeque::new(),
            step_time: config.timing.prepare(),
            noise: NoiseSource::new(config.noise, seed),
            in_flight: None,
            stats: Stats::new(config.max_model_len),
            outputs: Vec::new(),
            finished: Vec::new(),
            scored: Vec::new(),
            spoken: Vec::new(),
            generator: Generator::default(),
            speaking: 0,
            config,
        })
    }

    /// Changes its parameters from the next step on, as a fault that sets in would.
    ///
    /// # Errors
    /// A configuration that no engine could start with, or that a running one cannot take on.
    pub fn reconfigure(&mut self, now_ns: i64, config: &EngineConfig) -> Result<(), ConfigError> {
        self.config.can_become(config)?;
        self.step_time = config.timing.prepare();
        self.noise.set(config.noise);
        let _ = now_ns;
        self.config.clone_from(config);
        Ok(())
    }

    /// What it is.
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// What it has counted.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Its paged KV cache, for inspection; `None` for an engine that keeps its KV otherwise.
    pub fn kv(&self) -> Option<&KvCache> {
        match &self.core {
            Core::Vllm { kv, .. } => Some(kv),
            Core::Sglang(_) => None,
        }
    }

    /// What SGLang's scheduler and pool hold, for inspection; `None` for another engine.
    pub fn sglang(&self) -> Option<SglangView<'_>> {
        match &self.core {
            Core::Vllm { .. } => None,
            Core::Sglang(core) => Some(SglangView { core, slots: &self.slots }),
        }
    }

    /// The running batch, in order of last admission.
    pub fn running(&self) -> impl ExactSizeIterator<Item = RequestId> + '_ {
        self.core.running().iter().map(|slot| self.slots.id_of(*slot))
    }

    /// The waiting queue from its head.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = RequestId> + '_ {
        self.core.waiting().map(|slot| self.slots.id_of(slot))
    }

    /// The batch of the step in hand, or of the last one: who computes how many tokens.
    pub fn batch(&self) -> impl ExactSizeIterator<Item = (RequestId, u32)> + '_ {
        self.core.batch().iter().map(|Scheduled { id, tokens, .. }| (*id, *tokens))
    }

    /// Blocks that a request holds; `None` once it is gone.
    pub fn blocks_of(&self, id: RequestId) -> Option<&[u32]> {
        Some(&self.slots[self.slots.slot_of(id)?].blocks)
    }

    /// The course of a request so far; `None` once it is gone.
    pub fn life_of(&self, id: RequestId) -> Option<&Life> {
        Some(&self.slots[self.slots.slot_of(id)?].life)
    }

    /// Hands in a request that arrived at `now_ns`. The core takes it in between two steps, once the frontend's time
    /// has passed.
    ///
    /// # Errors
    /// A request that could never be answered in full.
    pub fn submit(&mut self, now_ns: i64, mut request: NewRequest) -> Result<RequestId, Refusal> {
        request.prompt = self.config.sampler.prompt.apply(request.prompt);
        let max_tokens = self.admissible(&request)?;
        let speech = self.language.begin(&request.prompt, request.sampling.as_deref(), request.lengths());
        let context = match &speech {
            Some(speech) => speech.begun_from(),
            None => self.language.read(&request.prompt),
        };
        // An answer whose tokens are chosen one by one ends when it does.
        let ends_at = if request.ignore_eos || speech.is_some() {
            u32::MAX
        } else {
            self.language.natural_length(context).max(request.min_tokens.saturating_add(1))
        };
        self.speaking += u32::from(speech.is_some());
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
            speech,
            features: request.features,
            blocks: Vec::new(),
            hashes: Vec::new(),
            cached_blocks: 0,
            life: Life { arrival_ns: now_ns, queued_ns: now_ns, ..Life::default() },
        });
        let frontend_ns = (self.config.frontend_seconds * 1e9).round() as i64;
        self.stats.cpu.api_ns += frontend_ns;
        self.incoming.push_back((now_ns.saturating_add(frontend_ns), id.slot));
        Ok(id)
    }

    fn admissible(&self, request: &NewRequest) -> Result<u32, Refusal> {
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
        Ok(max_tokens)
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

    /// When the core could next take a request in, if one has been handed in.
    pub fn next_ready_ns(&self) -> Option<i64> {
        self.incoming.front().map(|(ready_ns, _)| *ready_ns)
    }

    /// Whether it has nothing to do until a request arrives.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_none() && self.core.is_empty() && self.incoming.is_empty()
    }

    /// Begins a step at `now_ns` and says when it ends; `None` when there is nothing to compute, or a step is in hand.
    pub fn begin_step(&mut self, now_ns: i64) -> Option<i64> {
        if self.in_flight.is_some() {
            return None;
        }
        self.take_in(now_ns);
        let mut bench = Bench { config: &self.config, language: &self.language, slots: &mut self.slots, now_ns };
        let decisions = self.core.schedule(&mut bench);
        if self.core.batch().is_empty() && !self.core.has_failed() {
            self.stats.decided(decisions);
            return None;
        }
        let seconds = (self.step_time.seconds(self.core.shape()) + self.config.host_seconds) * self.noise.factor();
        let length_ns = ((seconds * 1e9).round() as i64).max(1);
        self.in_flight = Some((now_ns, decisions));
        Some(now_ns.saturating_add(length_ns))
    }

    fn take_in(&mut self, now_ns: i64) {
        while let Some((ready_ns, slot)) = self.incoming.front().copied() {
            if ready_ns > now_ns {
                return;
            }
            self.incoming.pop_front();
            let request = &mut self.slots[slot];
            request.status = Status::Waiting;
            request.life.queued_ns = now_ns;
            self.core.enqueue(slot);
        }
    }

    /// Ends the step in hand at `now_ns`: every request whose known tokens are all computed gets one more token.
    pub fn finish_step(&mut self, now_ns: i64) -> StepResult<'_> {
        self.outputs.clear();
        self.finished.clear();
        self.scored.clear();
        self.spoken.clear();
        if let Some((began_ns, decisions)) = self.in_flight.take() {
            self.stats.steps += 1;
            self.stats.busy_ns += now_ns - began_ns;
            self.stats.cpu.core_ns += (self.config.host_seconds * 1e9).round() as i64;
            self.stats.decided(decisions);
            let step = self.step_in_hand();
            let (mut reported, mut left) = (0, false);
            for place in 0..self.core.batch().len() {
                let Scheduled { id, samples, .. } = self.core.batch()[place];
                // A request may have ended, or lost its place, since the step was decided.
                let Some(slot) = self.slots.slot_of(id) else { continue };
                if self.slots[slot].aborted {
                    left = true;
                    self.leave(slot);
                } else if self.slots[slot].status == Status::Running {
                    if samples {
                        reported += self.emit(slot, now_ns, &step, place as u32);
                    }
                    let ended = self.slots.slot_of(id).is_none();
                    left |= ended;
                    if !ended {
                        let (config, language, slots) = (&self.config, &self.language, &mut self.slots);
                        self.core.computed(&mut Bench { config, language, slots, now_ns }, place);
                    }
                }
            }
            left |= self.fail();
            if left {
                self.core.swept(&self.slots);
            }
            if !self.outputs.is_empty() {
                self.stats.generation_tokens += self.outputs.len() as u64;
                self.stats.iteration_tokens.observe(reported);
            }
            self.stats.leak(&self.config.memory.host.leak, now_ns);
            self.publish();
        }
        StepResult { outputs: &self.outputs, finished: &self.finished, scored: &self.scored, spoken: &self.spoken }
    }

    /// What the sampler can see of the step in hand.
    fn step_in_hand(&self) -> Step {
        match self.speaking {
            0 => Step::default(),
            _ => {
                let rows = self.core.batch().iter().map(|row| self.slots.slot_of(row.id));
                Step::over(self.stats.steps, rows.map(|slot| self.slots[slot?].speech.as_deref()))
            }
        }
    }

    /// Appends one token to a request and ends it if that was the last; returns the tokens that the step reports for it.
    fn emit(&mut self, slot: u32, now_ns: i64, step: &Step, row: u32) -> i64 {
        let id = self.slots.id_of(slot);
        let request = &mut self.slots[slot];
        let position = request.output_len;
        request.output_len += 1;
        let (mut scored, mut stopped) = (None, request.output_len >= request.ends_at);
        let token = match &mut request.speech {
            None if stopped => END_OF_TURN,
            None => self.language.token(request.context, position),
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
        let mut reported = 1;
        match request.life.last_token_ns {
            Some(before) => self.stats.itl.observe(now_ns - before),
            None => {
                request.life.first_token_ns = Some(now_ns);
                let prompt = request.prompt_len();
                self.stats.first_token(&request.life, prompt, now_ns);
                reported += i64::from(prompt.saturating_sub(request.life.cached_tokens));
            }
        }
        request.life.last_token_ns = Some(now_ns);
        let finish = if stopped {
            Some(FinishReason::Stop)
        } else if request.output_len >= request.max_tokens || request.num_tokens() >= self.config.max_model_len {
            Some(FinishReason::Length)
        } else {
            None
        };
        let (tag, cached_tokens) = (request.tag, request.life.cached_tokens);
        let (at_ns, ends_event) = (now_ns, true);
        self.outputs.push(Output { id, tag, token, position, cached_tokens, finish, at_ns, ends_event, scored });
        if let Some(reason) = finish {
            let (prompt_tokens, output_tokens, life) = (request.prompt_len(), request.output_len, request.life);
            let max_tokens = request.max_tokens;
            self.stats.ended(&life, Ended { reason, prompt_tokens, output_tokens, max_tokens });
            self.finished.push(Finished { id, tag, reason, prompt_tokens, output_tokens, life });
            if let Some(speech) = self.slots[slot].speech.take() {
                self.speaking -= 1;
                self.spoken.push(Spoken { tag, reason, max_tokens, speech });
            }
            self.leave(slot);
        }
        reported
    }

    /// Ends the requests that the core has given up; returns whether there were any.
    fn fail(&mut self) -> bool {
        let failed = self.core.take_failed();
        for id in &failed {
            let Some(slot) = self.slots.slot_of(*id) else { continue };
            let request = &self.slots[slot];
            let (tag, life, reason) = (request.tag, request.life, FinishReason::Error);
            let (prompt_tokens, output_tokens) = (request.prompt_len(), request.output_len);
            let max_tokens = request.max_tokens;
            self.stats.ended(&life, Ended { reason, prompt_tokens, output_tokens, max_tokens });
            self.finished.push(Finished { id: *id, tag, reason, prompt_tokens, output_tokens, life });
            self.slots.remove(slot);
        }
        !failed.is_empty()
    }

    fn leave(&mut self, slot: u32) {
        self.speaking -= u32::from(self.slots[slot].speech.is_some());
        self.core.release(&self.language, &mut self.slots, slot);
        self.slots.remove(slot);
    }

    fn publish(&mut self) {
        let kv_usage = self.core.kv_usage();
        let (running, waiting) = (self.core.running().len(), self.core.waiting().len());
        self.stats.gauges = Gauges { running, waiting, kv_usage, ..Gauges::default() };
        self.stats.peak_kv_usage = self.stats.peak_kv_usage.max(kv_usage);
    }
}
