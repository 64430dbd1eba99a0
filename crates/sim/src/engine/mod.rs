//! The engine's core: takes requests in, runs steps, hands out tokens. It knows no clock of its own: whoever drives it
//! says what time it is, in virtual time or in real time.

mod counters;
mod death;
mod intake;
mod output;
mod refusal;
mod transfer;

pub use death::Death;
pub use refusal::Refusal;

use crate::{
    config::{ConfigError, EngineConfig},
    core::{Bench, Core},
    emit::stats::Stats,
    frontend::ApiServers,
    grammar::Grammars,
    kv_cache::KvCache,
    language::{Language, batch::Step, draw::Generator, logprobs::Scored, speech::Speech},
    request::{FinishReason, Life, RequestId, Slots, Status},
    scheduler::{Decisions, Scheduled},
    sglang::SglangView,
    step::{Clocks, Load, Pauses, StepModel, StepRecord},
    timing::NoiseSource,
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

/// One simulated engine.
#[derive(Debug, Clone)]
pub struct Engine {
    config: EngineConfig,
    language: Language,
    slots: Slots,
    core: Core,
    /// Handed in, with the time from which the core can take each in; in order of that time.
    incoming: VecDeque<(i64, u32)>,
    /// Requests taken in by the core.
    taken_in: u64,
    /// Prompt tokens of requests without a first token.
    prefilling_tokens: u64,
    /// Draws what is drawn of the core.
    seed: u64,
    servers: ApiServers,
    grammars: Grammars,
    step: StepModel,
    pauses: Pauses,
    noise: NoiseSource,
    record: StepRecord,
    /// When it was last asked for a step.
    asked_ns: i64,
    /// When the last step ended; `None` before the first.
    ended_ns: Option<i64>,
    death: Option<Death>,
    /// Whether a dead core starts anew as soon as all that it held have been told.
    restarts: bool,
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
            taken_in: 0,
            prefilling_tokens: 0,
            seed,
            servers: ApiServers::default(),
            grammars: Grammars::default(),
            step: StepModel::new(&config),
            pauses: Pauses::new(&config.host.pauses, Clocks::default()),
            noise: NoiseSource::new(config.noise, seed),
            record: StepRecord::default(),
            asked_ns: 0,
            ended_ns: None,
            death: config.defects.dead.then_some(Death::Killed),
            restarts: false,
            in_flight: None,
            stats: counters::fresh(&config),
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
        let before = std::mem::replace(&mut self.config, config.clone());
        self.language = Language::of(config);
        self.step = StepModel::new(config);
        self.noise.set(config.noise);
        if before.host.pauses != config.host.pauses {
            self.pauses = Pauses::new(&config.host.pauses, self.clocks(now_ns));
        }
        self.core.reconfigure(config, &self.slots);
        if before.defects.cache_epoch != config.defects.cache_epoch {
            self.core.clear_cache();
        }
        match (before.defects.dead, config.defects.dead) {
            (false, true) => (self.death, self.restarts) = (Some(Death::Killed), false),
            (true, false) if self.is_idle() => self.restart(),
            // First those whom it held are told.
            (true, false) => self.restarts = true,
            _ => {}
        }
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
            Core::Vllm { kv, .. } => Some(kv.as_ref()),
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

    /// Requests handed in that the core has not taken in yet.
    pub fn incoming(&self) -> usize {
        self.incoming.len()
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

    /// The next moment at which it is worth asking for a step, if time alone makes one possible: a request handed in
    /// gets ready, a grammar is compiled, a copy ends.
    pub fn next_ready_ns(&self) -> Option<i64> {
        if self.config.host.frozen || self.death.is_some() {
            return None;
        }
        let incoming = self.incoming.front().map(|(ready_ns, _)| *ready_ns);
        if !self.may_block() {
            return incoming;
        }
        let blocked = self.core.waiting().map(|slot| self.slots[slot].blocked_until_ns);
        blocked.filter(|until_ns| *until_ns > self.asked_ns).chain(incoming).min()
    }

    /// Whether it has nothing to do until a request arrives.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_none() && self.core.is_empty() && self.incoming.is_empty()
    }

    /// The step in hand, or the last one: where its time goes.
    pub fn last_step(&self) -> &StepRecord {
        &self.record
    }

    /// Begins a step at `now_ns` and says when it ends; `None` when there is nothing to compute, or a step is in hand.
    pub fn begin_step(&mut self, now_ns: i64) -> Option<i64> {
        if self.in_flight.is_some() || self.config.host.frozen {
            return None;
        }
        self.asked_ns = now_ns;
        if self.death.is_some() {
            // What is left in a dead engine is told so at once.
            self.in_flight = (!self.is_idle()).then_some((now_ns, Decisions::default()));
            return self.in_flight.map(|_| now_ns.saturating_add(1));
        }
        let woken = self.is_asleep();
        self.take_in(now_ns);
        let bench = &mut Bench { config: &self.config, language: &self.language, slots: &mut self.slots, now_ns };
        let mut decisions = self.core.schedule(bench);
        // A step that threw everybody out and computes nothing takes no time: the next one follows at once.
        while self.core.batch().is_empty() && decisions.preempted > 0 {
            self.stats.decided(decisions);
            decisions = self.core.schedule(bench);
        }
        if self.core.batch().is_empty() && !self.core.has_failed() {
            self.stats.decided(decisions);
            return None;
        }
        if self.config.async_scheduling {
            self.core.schedule_ahead(bench);
        }
        let length_ns = self.length_ns(now_ns, woken);
        self.in_flight = Some((now_ns, decisions));
        Some(now_ns.saturating_add(length_ns))
    }

    /// The attention ranks beside it take until `end_ns` for the step in hand: it waits for them.
    pub(crate) fn wait_until(&mut self, end_ns: i64) {
        self.record.wait_seconds = end_ns.saturating_sub(self.record.ends_ns).max(0) as f64 * 1e-9;
        self.record.ends_ns = self.record.ends_ns.max(end_ns);
    }

    /// It took an empty step of that length beside the attention ranks with something to compute.
    pub(crate) fn count_empty_step(&mut self, length_ns: i64) {
        self.stats.empty_steps += 1;
        self.stats.rank_wait.observe(length_ns);
    }

    /// Whether the core has had nothing to do since its last step: what comes next had not come by then.
    fn is_asleep(&self) -> bool {
        let came_later = |(ready_ns, _): &(i64, u32)| self.ended_ns.is_none_or(|ended_ns| *ready_ns > ended_ns);
        self.core.is_empty() && self.incoming.front().is_some_and(came_later)
    }

    /// How long the step that begins now takes, nanoseconds. `woken`: the core had nothing to do before it.
    fn length_ns(&mut self, now_ns: i64, woken: bool) -> i64 {
        let mut load = Load { woken, ..self.core.load() };
        load.stalled_seconds += self.grammars.take_stall_ns() as f64 * 1e-9;
        self.record.index = self.stats.steps;
        let seconds = self.step.seconds(self.core.shape(), &load, &mut self.record);
        let length_ns = ((seconds * self.noise.factor() * 1e9).round() as i64).max(1);
        let paused_ns = self.pauses.within(self.clocks(now_ns), length_ns);
        self.record.began_ns = now_ns;
        self.record.ends_ns = now_ns.saturating_add(length_ns + paused_ns);
        self.record.pause_seconds = paused_ns as f64 * 1e-9;
        self.record.wait_seconds = 0.0;
        length_ns + paused_ns
    }

    fn clocks(&self, now_ns: i64) -> Clocks {
        Clocks { now_ns, steps: self.stats.steps, requests: self.taken_in }
    }

    /// Ends the step in hand at `now_ns`: every request whose known tokens are all computed gets one more token, or
    /// several where a draft was right.
    pub fn finish_step(&mut self, now_ns: i64) -> StepResult<'_> {
        self.outputs.clear();
        self.finished.clear();
        self.scored.clear();
        self.spoken.clear();
        if let Some((began_ns, decisions)) = self.in_flight.take() {
            self.ended_ns = Some(now_ns);
            self.stats.steps += 1;
            self.stats.busy_ns += now_ns - began_ns;
            if self.config.parallel.data.of > 1 {
                self.stats.rank_wait.observe((self.record.wait_seconds * 1e9).round() as i64);
            }
            self.stats.cpu.core_ns += (self.record.host_seconds * 1e9).round() as i64;
            self.stats.decided(decisions);
            self.count_external(decisions.external_queries, decisions.external_hits);
            if let Some(memory) = self.core.out_of_memory() {
                self.death = Some(Death::OutOfMemory(memory));
            }
            if self.death.is_some() {
                self.fail_all();
                if std::mem::take(&mut self.restarts) {
                    self.restart();
                }
            } else {
                self.hand_out(now_ns);
            }
            let (config, language, slots) = (&self.config, &self.language, &mut self.slots);
            self.core.ended(&Bench { config, language, slots, now_ns });
            self.publish(now_ns);
        }
        StepResult { outputs: &self.outputs, finished: &self.finished, scored: &self.scored, spoken: &self.spoken }
    }

    /// What the sampler can see of the step in hand.
    fn step_in_hand(&self, now_ns: i64) -> Step {
        match self.speaking {
            0 => Step::default(),
            _ => {
                let rows = self.core.batch().iter().map(|row| self.slots.slot_of(row.id));
                let step = Step::over(self.stats.steps, rows.map(|slot| self.slots[slot?].speech.as_deref()));
                Step { now_ns, ..step }
            }
        }
    }

    fn hand_out(&mut self, now_ns: i64) {
        let step = self.step_in_hand(now_ns);
        let (mut reported, mut generated, mut left) = (0, 0, false);
        for place in 0..self.core.batch().len() {
            let row = self.core.batch()[place];
            // A request may have ended, or lost its place, since the step was decided.
            let Some(slot) = self.slots.slot_of(row.id) else { continue };
            let request = &mut self.slots[slot];
            request.in_flight = request.in_flight.saturating_sub(1);
            if request.aborted {
                left = true;
                self.leave(slot);
                continue;
            }
            let goes_on = request.status == Status::Running;
            if row.samples && (goes_on || self.core.delivers_late()) {
                let tokens = self.emit(row, now_ns, &step, place as u32);
                generated += tokens.generated;
                reported += tokens.generated + tokens.prompt;
                left |= tokens.last;
                if tokens.last {
                    continue;
                }
            }
            if goes_on {
                let (config, language, slots) = (&self.config, &self.language, &mut self.slots);
                self.core.computed(&mut Bench { config, language, slots, now_ns }, place);
            }
        }
        left |= self.give_up(now_ns);
        if left {
            self.core.swept(&self.slots);
        }
        if generated > 0 {
            self.stats.generation_tokens += generated;
            self.stats.iteration_tokens.observe(reported as i64);
        }
    }

    fn leave(&mut self, slot: u32) {
        let request = &self.slots[slot];
        if request.life.first_token_ns.is_none() {
            self.prefilling_tokens = self.prefilling_tokens.saturating_sub(u64::from(request.prompt_len()));
        }
        self.speaking -= u32::from(request.speech.is_some());
        self.core.release(&self.language, &mut self.slots, slot);
        self.slots.remove(slot);
    }
}
