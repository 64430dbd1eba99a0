//! The toy language model and its sampler.

mod batches;
mod drafts;
mod faults;
mod greedy;
mod outputs;
mod sampler;

use firstcheck_sim::{
    config::sampler::Sampler,
    language::{
        Language,
        batch::{BatchView, Step},
        draw::Generator,
        sampling::Sampling,
        speech::{Lengths, Speech},
    },
};
use std::sync::Arc;

pub const VOCABULARY: u32 = 1024;

pub fn healthy() -> Language {
    Language::new(7, VOCABULARY, 100.0)
}

pub fn with(sampler: Sampler) -> Language {
    Language::with_sampler(7, VOCABULARY, 100.0, sampler)
}

pub fn prompt(seed: u32, tokens: u32) -> Arc<[u32]> {
    (0..tokens).map(|position| (seed.wrapping_mul(7919) + position * 31) % VOCABULARY).collect()
}

/// An answer that does not end of itself.
pub fn begin(language: &Language, prompt: &Arc<[u32]>, sampling: &Sampling) -> Speech {
    *language
        .begin(prompt, Some(sampling), Lengths { min_tokens: 0, ignore_eos: true })
        .expect("sampling was asked for")
}

/// `tokens` tokens of an answer alone in the engine, whose steps are counted from `first_step`.
pub fn alone_from(
    language: &Language,
    prompt: &Arc<[u32]>,
    sampling: &Sampling,
    tokens: u32,
    first_step: u64,
    generator: &mut Generator,
) -> Speech {
    let mut speech = begin(language, prompt, sampling);
    for number in 0..u64::from(tokens) {
        let step = Step::alone(first_step + number, &speech);
        language.speak(&mut speech, &BatchView::first(&step), generator);
    }
    speech
}

pub fn alone(language: &Language, prompt: &Arc<[u32]>, sampling: &Sampling, tokens: u32) -> Speech {
    alone_from(language, prompt, sampling, tokens, 0, &mut Generator::default())
}

/// The answers of several requests decoded together, in the order of their rows.
pub fn together(language: &Language, asked: &[(Arc<[u32]>, Sampling)], tokens: u32) -> Vec<Speech> {
    let mut rows: Vec<Speech> = asked.iter().map(|(prompt, sampling)| begin(language, prompt, sampling)).collect();
    let mut generator = Generator::default();
    for number in 0..u64::from(tokens) {
        let step = Step::over(number, rows.iter().map(Some));
        for (row, speech) in rows.iter_mut().enumerate() {
            let view = BatchView { row: row as u32, ..BatchView::first(&step) };
            language.speak(speech, &view, &mut generator);
        }
    }
    rows
}
