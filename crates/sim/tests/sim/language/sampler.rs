//! Draws follow the distribution that the settings leave.

use super::{VOCABULARY, alone, begin, healthy, prompt, together, with};
use firstcheck_sim::{
    config::sampler::{LogprobsMode, Sampler},
    language::{
        batch::{BatchView, Step},
        draw::{Generator, uniform},
        sampling::{Sampling, SamplingError},
    },
};
use std::collections::BTreeMap;

/// Pearson's statistic of counts against probabilities, over cells that expect at least five, and its degrees of freedom.
fn chi_square(counts: &BTreeMap<u32, u32>, expected: &[(u32, f64)], draws: u32) -> (f64, f64) {
    let (mut statistic, mut cells, mut rest) = (0.0, 0, (f64::from(draws), f64::from(draws)));
    for (token, probability) in expected {
        let mean = probability * f64::from(draws);
        if mean >= 5.0 {
            let count = f64::from(counts.get(token).copied().unwrap_or(0));
            statistic += (count - mean).powi(2) / mean;
            cells += 1;
            rest = (rest.0 - count, rest.1 - mean);
        }
    }
    if rest.1 >= 5.0 {
        statistic += (rest.0 - rest.1).powi(2) / rest.1;
        cells += 1;
    }
    (statistic, f64::from(cells - 1))
}

/// The first token of one prompt under many seeds.
fn first_tokens(asked: &Sampling, draws: u32) -> BTreeMap<u32, u32> {
    let language = healthy();
    let prompt = prompt(11, 20);
    let mut counts = BTreeMap::new();
    for seed in 0..u64::from(draws) {
        let speech = alone(&language, &prompt, &Sampling { seed: Some(seed), ..asked.clone() }, 1);
        *counts.entry(speech.tokens()[0]).or_insert(0) += 1;
    }
    counts
}

/// What the settings leave of the model's distribution, computed from its log probabilities over the whole vocabulary.
fn expected(asked: &Sampling) -> Vec<(u32, f64)> {
    let language = healthy();
    let temperature = asked.temperature.unwrap();
    let logits = language.logits(language.read(&prompt(11, 20)), false);
    let mut all: Vec<(u32, f64)> =
        (0..VOCABULARY).map(|token| (token, (logits.logit(token) / temperature).exp())).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let total: f64 = all.iter().map(|(_, weight)| weight).sum();
    all.iter_mut().for_each(|(_, weight)| *weight /= total);
    let least = all[0].1 * asked.min_p.unwrap_or(0.0);
    all.retain(|(_, probability)| *probability >= least);
    all.truncate(asked.top_k.filter(|count| *count > 0).unwrap_or(u32::MAX) as usize);
    let total: f64 = all.iter().map(|(_, weight)| weight).sum();
    let mut before = 0.0;
    all.retain(|(_, weight)| {
        let kept = before < asked.top_p.unwrap_or(1.0);
        before += weight / total;
        kept
    });
    let total: f64 = all.iter().map(|(_, weight)| weight).sum();
    all.into_iter().map(|(token, weight)| (token, weight / total)).collect()
}

#[test]
fn draws_follow_temperature_and_truncation() {
    let base = Sampling { temperature: Some(1.0), ..Sampling::default() };
    let cases = [
        base.clone(),
        Sampling { temperature: Some(0.6), ..base.clone() },
        Sampling { temperature: Some(1.7), ..base.clone() },
        Sampling { top_k: Some(5), ..base.clone() },
        Sampling { temperature: Some(3.0), top_k: Some(40), ..base.clone() },
        Sampling { temperature: Some(2.0), top_p: Some(0.8), ..base.clone() },
        Sampling { temperature: Some(2.0), min_p: Some(0.05), ..base.clone() },
        Sampling { temperature: Some(2.0), min_p: Some(0.02), top_k: Some(10), top_p: Some(0.9), ..base.clone() },
    ];
    for asked in cases {
        let (counts, expected) = (first_tokens(&asked, 20_000), expected(&asked));
        let impossible = counts.keys().find(|token| !expected.iter().any(|(kept, _)| kept == *token));
        assert_eq!(impossible, None, "{asked:?}");
        let (statistic, freedom) = chi_square(&counts, &expected, 20_000);
        // Four standard deviations of a chi-square distribution above its mean.
        assert!(statistic < freedom + 4.0 * (2.0 * freedom).sqrt() + 1e-9, "{asked:?}: {statistic} on {freedom}");
    }
}

#[test]
fn random_numbers_are_uniform_along_positions_rows_and_seeds() {
    type Stream = fn(u64) -> f64;
    let streams: [(&str, Stream); 3] = [
        ("positions", |number| uniform(1, 0, number)),
        ("rows", |number| uniform(1, number, 5)),
        ("seeds", |number| uniform(number, 0, 0)),
    ];
    for (name, stream) in streams {
        let mut cells = [0u32; 64];
        (0..64_000).for_each(|number| cells[(stream(number) * 64.0) as usize] += 1);
        let statistic: f64 = cells.iter().map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0).sum();
        assert!((20.0..110.0).contains(&statistic), "{name}: {statistic} on 63 degrees of freedom");
    }
}

#[test]
fn processed_log_probabilities_are_those_of_what_was_kept() {
    let asked =
        Sampling { temperature: Some(0.7), top_p: Some(0.9), logprobs: Some(20), seed: Some(4), ..Sampling::default() };
    let processed = with(Sampler { logprobs_mode: LogprobsMode::ProcessedLogprobs, ..Sampler::default() });
    let (raw, processed) = (healthy(), processed);
    let (raw, processed) = (alone(&raw, &prompt(1, 9), &asked, 200), alone(&processed, &prompt(1, 9), &asked, 200));
    assert_eq!(raw.tokens(), processed.tokens(), "what is told does not change what is chosen");
    for (raw, processed) in raw.scored().iter().zip(processed.scored()) {
        let mass: f64 = processed.top.iter().map(|(_, logprob)| f64::from(*logprob).exp()).sum();
        if processed.top.len() < 20 {
            assert!((mass - 1.0).abs() < 1e-5, "{mass}");
        }
        assert!(processed.logprob > -1e3 && raw.top.len() == 20);
    }
    assert!(processed.scored().iter().any(|scored| scored.top.len() < 3));
}

#[test]
fn penalties_lower_what_was_seen() {
    let language = healthy();
    let prompt = prompt(3, 40);
    let base = Sampling { temperature: Some(1.0), seed: Some(9), ..Sampling::default() };
    let repeats = |asked: &Sampling| {
        let speech = alone(&language, &prompt, asked, 600);
        let mut tokens = speech.tokens().to_vec();
        tokens.sort_unstable();
        tokens.dedup();
        600 - tokens.len()
    };
    let free = repeats(&base);
    for penalised in [
        Sampling { presence_penalty: Some(2.0), ..base.clone() },
        Sampling { frequency_penalty: Some(2.0), ..base.clone() },
        Sampling { repetition_penalty: Some(1.5), ..base.clone() },
    ] {
        assert!(repeats(&penalised) * 4 < free * 3, "{penalised:?}: {} against {free}", repeats(&penalised));
    }
    let greedy = Sampling { repetition_penalty: Some(1.3), ..Sampling::greedy() };
    let plain = alone(&language, &prompt, &Sampling::greedy(), 300);
    assert_ne!(alone(&language, &prompt, &greedy, 300).tokens(), plain.tokens());
}

#[test]
fn a_seeded_request_is_the_same_in_any_batch_and_an_unseeded_one_is_not() {
    let language = healthy();
    let seeded = Sampling { temperature: Some(1.0), seed: Some(5), ..Sampling::default() };
    let unseeded = Sampling { seed: None, ..seeded.clone() };
    let mine = prompt(1, 10);
    let neighbours = |first: &Sampling| {
        vec![(mine.clone(), first.clone()), (prompt(2, 12), unseeded.clone()), (prompt(3, 8), seeded.clone())]
    };
    let reference = alone(&language, &mine, &seeded, 60);
    let mut batch = neighbours(&seeded);
    assert_eq!(together(&language, &batch, 60)[0].tokens(), reference.tokens());
    batch.reverse();
    assert_eq!(together(&language, &batch, 60)[2].tokens(), reference.tokens());
    let mut batch = neighbours(&unseeded);
    let before = together(&language, &batch, 60)[0].tokens().to_vec();
    batch.reverse();
    assert_ne!(together(&language, &batch, 60)[2].tokens(), before);
}

#[test]
fn stop_tokens_end_an_answer_after_the_least_length() {
    let language = healthy();
    let prompt = prompt(4, 10);
    let plain = alone(&language, &prompt, &Sampling::greedy(), 30);
    let stop = plain.tokens()[6];
    let asked = Sampling { stop_token_ids: vec![stop], ..Sampling::greedy() };
    let mut speech = begin(&language, &prompt, &asked);
    while speech.stopped_by().is_none() {
        let step = Step::alone(0, &speech);
        language.speak(&mut speech, &BatchView::first(&step), &mut Generator::default());
    }
    let first = plain.tokens().iter().position(|token| *token == stop).unwrap();
    assert_eq!(speech.tokens(), &plain.tokens()[..=first]);
    assert_eq!(speech.stopped_by(), Some(stop));
}

#[test]
fn settings_out_of_range_are_named() {
    for (asked, name) in [
        (Sampling { temperature: Some(-0.1), ..Sampling::default() }, "temperature"),
        (Sampling { temperature: Some(f64::NAN), ..Sampling::default() }, "temperature"),
        (Sampling { top_p: Some(0.0), ..Sampling::default() }, "top_p"),
        (Sampling { min_p: Some(1.5), ..Sampling::default() }, "min_p"),
        (Sampling { repetition_penalty: Some(0.0), ..Sampling::default() }, "repetition_penalty"),
        (Sampling { presence_penalty: Some(2.5), ..Sampling::default() }, "presence_penalty"),
        (Sampling { logprobs: Some(21), ..Sampling::default() }, "logprobs"),
    ] {
        assert!(matches!(asked.validate(20), Err(SamplingError { name: named, .. }) if named == name), "{asked:?}");
    }
    assert_eq!(Sampling::greedy().validate(20), Ok(()));
}
