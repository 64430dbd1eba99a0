//! An answer whose tokens are chosen one by one.

use super::{
    Context, Language,
    batch::BatchView,
    draw::{Generator, uniform},
    logits::Logits,
    logprobs::Scored,
    sampling::{Sampling, Settings},
    special::END_OF_TURN,
    speculation::SpecStep,
    truncate::Seen,
};
use crate::config::sampler::LogprobsMode;
use std::{collections::BTreeMap, sync::Arc};

/// Lengths that a request asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Tokens before which the answer does not end.
    pub min_tokens: u32,
    /// Whether it never ends of itself.
    pub ignore_eos: bool,
}

/// An answer under way, with all that the choice of its next token depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Speech {
    prompt: Arc<[u32]>,
    asked: Sampling,
    settings: Settings,
    lengths: Lengths,
    begun_from: Context,
    pub(super) context: Context,
    /// The context before the last token.
    pub(super) context_before_last: Context,
    /// Tokens of the answer after which the model wants to end it; `u32::MAX`: never.
    complete_at: u32,
    tokens: Vec<u32>,
    prompt_scored: Vec<Scored>,
    scored: Vec<Scored>,
    /// Log probabilities of chosen tokens as they were computed, while they are returned late.
    computed: Vec<f32>,
    seen: BTreeMap<u32, Seen>,
    loudness: f64,
    preemptions: u32,
    resumed_at: u32,
    stopped_by: Option<u32>,
    pub(super) spec_steps: Vec<SpecStep>,
    logits: Logits,
}

impl Speech {
    /// Prompt tokens as the model got them.
    pub fn prompt(&self) -> &[u32] {
        &self.prompt
    }

    /// Sampling settings as they were asked for.
    pub fn asked(&self) -> &Sampling {
        &self.asked
    }

    /// Sampling settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Lengths asked for.
    pub fn lengths(&self) -> Lengths {
        self.lengths
    }

    /// Tokens so far.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// How many tokens so far.
    pub fn len(&self) -> u32 {
        self.tokens.len() as u32
    }

    /// Whether there is no token yet.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// What the model made of the prompt.
    pub fn begun_from(&self) -> Context {
        self.begun_from
    }

    /// Tokens of prompt and answer so far.
    pub fn sequence_len(&self) -> u32 {
        self.prompt.len() as u32 + self.len()
    }

    /// Log probabilities of the prompt's tokens from the second on, if they were asked for.
    pub fn prompt_scored(&self) -> &[Scored] {
        &self.prompt_scored
    }

    /// Log probabilities of the tokens so far, if they were asked for.
    pub fn scored(&self) -> &[Scored] {
        &self.scored
    }

    /// The token that ended the answer, if one did.
    pub fn stopped_by(&self) -> Option<u32> {
        self.stopped_by
    }

    /// Steps with their drafts.
    pub fn spec_steps(&self) -> &[SpecStep] {
        &self.spec_steps
    }

    /// Size of the largest activation that it causes.
    pub fn loudness(&self) -> f64 {
        self.loudness
    }

    /// Tokens that there were when it last resumed after a preemption.
    pub(super) fn resumed_at(&self) -> u32 {
        self.resumed_at
    }

    /// Drafts verified so far beyond the tokens that they gave.
    pub(super) fn verified_drafts(&self) -> u32 {
        self.spec_steps.iter().map(|step| step.outcome.drafted - step.outcome.accepted.min(step.outcome.drafted)).sum()
    }
}

impl Language {
    /// Begins the answer to `prompt`; `None` if [`Self::token`] gives it. `asked` is `None` for a request that wants the
    /// likeliest tokens and nothing else.
    pub fn begin(&self, prompt: &Arc<[u32]>, asked: Option<&Sampling>, lengths: Lengths) -> Option<Box<Speech>> {
        if asked.is_none() && self.plain {
            return None;
        }
        let asked = asked.cloned().unwrap_or_else(Sampling::greedy);
        let settings = asked.resolve(&self.sampler.defaults);
        let context = self.read(prompt);
        let prompt_scored = match (asked.prompt_logprobs, prompt.split_first()) {
            (Some(top), Some((first, rest))) => self.score(&[*first], rest, 1.0, !lengths.ignore_eos, top),
            _ => Vec::new(),
        };
        let mut seen = BTreeMap::new();
        if settings.penalises() {
            let words = prompt.iter().filter(|token| **token < self.vocabulary);
            seen.extend(words.map(|token| (*token, Seen { in_prompt: true, in_answer: 0 })));
        }
        let mut speech = Box::new(Speech {
            loudness: self.loudness(prompt, context),
            prompt: Arc::clone(prompt),
            asked,
            settings,
            lengths,
            begun_from: context,
            context,
            context_before_last: context,
            complete_at: u32::MAX,
            tokens: Vec::new(),
            prompt_scored,
            scored: Vec::new(),
            computed: Vec::new(),
            seen,
            preemptions: 0,
            resumed_at: 0,
            stopped_by: None,
            spec_steps: Vec::new(),
            logits: Logits::default(),
        });
        self.reconsider_end(&mut speech);
        Some(speech)
    }

    /// Chooses the next token of an answer in a batch.
    pub fn speak(&self, speech: &mut Speech, view: &BatchView<'_>, generator: &mut Generator) -> u32 {
        if view.preemptions != speech.preemptions {
            speech.preemptions = view.preemptions;
            speech.resumed_at = speech.len();
        }
        let first_prompt = generator.first_prompt(speech.context.key);
        let token = if self.is_direct(speech) {
            if self.wants_end(speech) { END_OF_TURN } else { self.word(speech.context) }
        } else {
            self.choose(speech, view, generator, first_prompt)
        };
        self.append(speech, token);
        token
    }

    /// Whether the likeliest token can be had without logits.
    fn is_direct(&self, speech: &Speech) -> bool {
        let settings = &speech.settings;
        self.plain
            && settings.is_greedy()
            && !settings.penalises()
            && settings.logprobs.is_none()
            && settings.stop_token_ids.is_empty()
    }

    /// Whether the model wants to end the answer and may.
    fn wants_end(&self, speech: &Speech) -> bool {
        speech.len() + 1 >= speech.complete_at && speech.len() >= speech.lengths.min_tokens
    }

    fn choose(&self, speech: &mut Speech, view: &BatchView<'_>, generator: &mut Generator, first_prompt: u64) -> u32 {
        let mut logits = std::mem::take(&mut speech.logits);
        let position = speech.len();
        self.write_logits(speech.context, position + 1 >= speech.complete_at, &mut logits);
        self.disturbances(speech, view, first_prompt).apply(speech.context, &mut logits);
        let raw = (self.sampler.logprobs_mode == LogprobsMode::RawLogprobs && speech.settings.logprobs.is_some())
            .then(|| logits.clone());
        let settings = &speech.settings;
        if position < speech.lengths.min_tokens {
            logits.forbid(self.sampler.stop_token_ids.iter().chain(&settings.stop_token_ids).copied());
        }
        if settings.penalises() {
            logits.penalise(&speech.seen, settings);
        }
        let token = if settings.is_greedy() {
            logits.likeliest()
        } else {
            logits.soften_and_truncate(settings);
            let share = self.sampler.drop_top_share;
            let lost = uniform(view.step.number ^ 0x6c6f_7374, u64::from(view.row), u64::from(position));
            if share > lost {
                logits.drop_likeliest();
            }
            logits.draw(self.uniform(speech, view, generator))
        };
        if let Some(top) = speech.settings.logprobs {
            let scored = Scored::of(raw.as_ref().unwrap_or(&logits), token, top);
            self.keep_score(speech, scored);
        }
        speech.logits = logits;
        token
    }

    /// Keeps what is returned of a token, late by as many places as the engine is.
    fn keep_score(&self, speech: &mut Speech, mut scored: Scored) {
        let lag = self.sampler.logprob_lag as usize;
        if lag > 0 || !speech.computed.is_empty() {
            let place = speech.scored.len();
            speech.computed.resize(place, scored.logprob);
            speech.computed.push(scored.logprob);
            let shown = place.saturating_sub(lag);
            scored.logprob = speech.computed.get(shown).copied().unwrap_or(scored.logprob);
        }
        speech.scored.push(scored);
    }

    fn append(&self, speech: &mut Speech, token: u32) {
        let next = self.extend(speech.context, token);
        speech.context_before_last = std::mem::replace(&mut speech.context, next);
        speech.tokens.push(token);
        if speech.settings.penalises() {
            speech.seen.entry(token).or_default().in_answer += 1;
        }
        let branched = next.run == 0;
        if branched {
            self.reconsider_end(speech);
        }
        let by_engine = !speech.lengths.ignore_eos && self.ends(token);
        let ends = by_engine || speech.settings.stop_token_ids.contains(&token);
        if ends && speech.len() >= speech.lengths.min_tokens && speech.stopped_by.is_none() {
            speech.stopped_by = Some(token);
        }
    }

    /// Looks up again where the model wants to end the answer, after its context has changed course.
    pub(super) fn reconsider_end(&self, speech: &mut Speech) {
        speech.complete_at = match speech.lengths.ignore_eos {
            true => u32::MAX,
            false => speech.len().saturating_add(self.natural_length(speech.context)),
        };
    }
}
