//! Answers as a client keeps them that looks at more than text: token ids, log probabilities, settings asked and in
//! force; and the log probabilities that a trainer computes for them.
//!
//! Both are JSON Lines, one line an answer in the order of their ends. What the batch looked like is not in them: no
//! client sees it.

use super::attachment::Attachment;
use crate::{
    config::{
        EngineConfig,
        sampler::{LogprobsMode, Sampler, Weights},
    },
    engine::Spoken,
    language::{
        Language,
        logprobs::Scored,
        sampling::{Sampling, Settings},
        special::END_OF_TURN,
    },
    request::FinishReason,
};
use serde::Serialize;

/// An answer with what its client knows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Row of the request in the run.
    pub request: u32,
    /// When its last token came, nanoseconds.
    pub end_ns: i64,
    /// Prompt tokens found in the cache, as the usage states.
    pub cached_tokens: u32,
    /// What was answered.
    pub spoken: Spoken,
}

#[derive(Serialize)]
struct Line<'a> {
    request: u32,
    prompt_token_ids: &'a [u32],
    token_ids: &'a [u32],
    finish_reason: &'static str,
    stop_reason: Option<u32>,
    sampling: &'a Sampling,
    resolved: Resolved<'a>,
    logprobs_mode: LogprobsMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<Vec<f32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<Vec<&'a [(u32, f32)]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_logprobs: Option<Vec<f32>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verified: Vec<Verified>,
    usage: Usage,
}

#[derive(Serialize)]
struct Resolved<'a> {
    #[serde(flatten)]
    settings: &'a Settings,
    max_tokens: u32,
    min_tokens: u32,
    ignore_eos: bool,
    /// All tokens that end the answer, the engine's and the request's.
    all_stop_token_ids: Vec<u32>,
}

/// A verification as the engine's debug log tells it.
#[derive(Serialize)]
struct Verified {
    before: u32,
    drafted: u32,
    accepted: u32,
}

#[derive(Serialize)]
struct Usage {
    prompt_tokens: usize,
    completion_tokens: usize,
    cached_tokens: u32,
}

/// The lines of all answers, for an engine as configured.
pub fn outputs(answers: &[Answer], sampler: &Sampler) -> Attachment {
    let lines = answers.iter().map(|answer| line(answer, sampler));
    Attachment { name: "outputs.jsonl".into(), content: lines_of(lines) }
}

fn line<'a>(answer: &'a Answer, sampler: &Sampler) -> Line<'a> {
    let Spoken { reason, max_tokens, speech, .. } = &answer.spoken;
    let (settings, lengths) = (speech.settings(), speech.lengths());
    let logprobs = settings.logprobs.map(|_| speech.scored().iter().map(|scored| scored.logprob).collect());
    let top = settings.logprobs.filter(|count| *count > 0);
    let prompt = speech.asked().prompt_logprobs;
    let verified = speech.spec_steps().iter().map(|step| Verified {
        before: step.before,
        drafted: step.outcome.drafted,
        accepted: step.outcome.accepted,
    });
    let engine_stops = sampler.stop_token_ids.iter().filter(|_| !lengths.ignore_eos);
    Line {
        request: answer.request,
        prompt_token_ids: speech.prompt(),
        token_ids: speech.tokens(),
        finish_reason: reason.name(),
        stop_reason: speech.stopped_by().filter(|token| *token != END_OF_TURN),
        sampling: speech.asked(),
        resolved: Resolved {
            settings,
            max_tokens: *max_tokens,
            min_tokens: lengths.min_tokens,
            ignore_eos: lengths.ignore_eos,
            all_stop_token_ids: engine_stops.chain(&settings.stop_token_ids).copied().collect(),
        },
        logprobs_mode: sampler.logprobs_mode,
        logprobs,
        top_logprobs: top.map(|_| speech.scored().iter().map(|scored| scored.top.as_slice()).collect()),
        prompt_logprobs: prompt.map(|_| speech.prompt_scored().iter().map(|scored| scored.logprob).collect()),
        verified: verified.collect(),
        usage: Usage {
            prompt_tokens: speech.prompt().len(),
            completion_tokens: speech.tokens().len(),
            cached_tokens: answer.cached_tokens,
        },
    }
}

/// What a trainer does with answers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Trainer {
    /// What it divides logits by; `None`: the temperature that the answer was drawn at.
    pub temperature: Option<f64>,
}

#[derive(Serialize)]
struct TrainerLine {
    request: u32,
    version: u64,
    temperature: f64,
    logprobs: Vec<f32>,
}

/// A trainer's log probabilities of the answers' tokens: by the weights that it has when an answer ends, in full
/// precision, over the whole vocabulary.
pub fn trainer(answers: &[Answer], config: &EngineConfig, trainer: Trainer) -> Attachment {
    let lines = answers.iter().map(|answer| {
        let speech = &answer.spoken.speech;
        // All that were made by then, whether or not they reached the engine.
        let Weights { update_sd, .. } = config.sampler.weights;
        let version = config.sampler.weights.made_at(answer.end_ns);
        let weights = Weights { version, update_sd, ..Weights::default() };
        let sampler = Sampler { weights, ..Sampler::default() };
        let language = Language::of(&EngineConfig { sampler, ..config.clone() });
        let temperature = trainer.temperature.unwrap_or(speech.settings().temperature);
        let ends = !speech.lengths().ignore_eos;
        let scored: Vec<Scored> = language.score(speech.prompt(), speech.tokens(), temperature, ends, 0);
        let logprobs = scored.into_iter().map(|scored| scored.logprob).collect();
        TrainerLine { request: answer.request, version: weights.version, temperature, logprobs }
    });
    Attachment { name: "trainer.jsonl".into(), content: lines_of(lines) }
}

/// JSON Lines of rows. The rows of this crate have string keys and finite numbers only: none fails.
pub(crate) fn lines_of(rows: impl Iterator<Item = impl Serialize>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in rows {
        let begun = bytes.len();
        match serde_json::to_writer(&mut bytes, &row) {
            Ok(()) => bytes.push(b'\n'),
            Err(_) => bytes.truncate(begun),
        }
    }
    bytes
}

impl FinishReason {
    /// As an answer states it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Error => "error",
        }
    }
}
