//! The model: contexts, likeliest tokens, natural lengths, scores.

use super::{VOCABULARY, alone, begin, healthy, prompt, with};
use firstcheck_sim::{
    config::sampler::Sampler,
    language::{
        Language,
        batch::{BatchView, Step},
        draw::Generator,
        sampling::Sampling,
        special::END_OF_TURN,
        speech::Lengths,
    },
};
use proptest::prelude::*;

fn greedy_with_logprobs() -> Sampling {
    Sampling { logprobs: Some(5), ..Sampling::greedy() }
}

proptest! {
    #[test]
    fn every_logit_is_finite_and_probabilities_sum_to_one(seed in any::<u64>(), tokens in 1u32..40, complete: bool) {
        let language = Language::new(seed, VOCABULARY, 50.0);
        let logits = language.logits(language.read(&prompt(tokens, tokens)), complete);
        let total = logits.log_total();
        let blocks = logits.blocks();
        let sum: f64 = blocks.iter().map(|block| f64::from(block.count) * (block.logit - total).exp()).sum();
        prop_assert!((sum - 1.0).abs() < 1e-12);
        prop_assert_eq!(blocks.iter().map(|block| block.count).sum::<u32>(), VOCABULARY + 1, "and the ending token");
        let mut named: Vec<_> = blocks.iter().filter_map(|block| block.token).collect();
        named.sort_unstable();
        named.dedup();
        prop_assert_eq!(named.len(), 21);
        let likeliest = logits.likeliest();
        prop_assert_eq!(likeliest == END_OF_TURN, complete);
    }

    #[test]
    fn any_token_of_the_prompt_changes_the_answer(at in 0usize..30, other in 0u32..VOCABULARY) {
        let language = healthy();
        let first = prompt(1, 30).to_vec();
        let mut second = first.clone();
        second[at] = other;
        let answer = |prompt: &[u32]| -> Vec<u32> {
            let context = language.read(prompt);
            (0..8).map(|position| language.token(context, position)).collect()
        };
        prop_assert_eq!(answer(&first) == answer(&second), first == second);
    }
}

#[test]
fn the_greedy_answer_is_the_same_with_and_without_logits() {
    let language = healthy();
    for seed in 0..20 {
        let prompt = prompt(seed, 25);
        let context = language.read(&prompt);
        let direct: Vec<u32> = (0..200).map(|position| language.token(context, position)).collect();
        assert_eq!(alone(&language, &prompt, &Sampling::greedy(), 200).tokens(), direct);
        assert_eq!(alone(&language, &prompt, &greedy_with_logprobs(), 200).tokens(), direct);
    }
}

#[test]
fn an_answer_ends_where_the_model_says_with_and_without_logits() {
    let language = healthy();
    for seed in 0..50 {
        for min_tokens in [0, 40] {
            let prompt = prompt(seed, 9);
            let asked = greedy_with_logprobs();
            let lengths = Lengths { min_tokens, ignore_eos: false };
            let mut speech = language.begin(&prompt, Some(&asked), lengths).unwrap();
            while speech.stopped_by().is_none() {
                let step = Step::alone(0, &speech);
                language.speak(&mut speech, &BatchView::first(&step), &mut Generator::default());
            }
            let natural = language.natural_length(language.read(&prompt));
            assert_eq!(speech.len(), natural.max(min_tokens + 1));
            assert_eq!(speech.tokens().last(), Some(&END_OF_TURN));
        }
    }
}

#[test]
fn natural_lengths_are_exponential_however_tokens_are_chosen() {
    let language = healthy();
    let length = |seed: u32, temperature: f64| {
        let asked = Sampling { temperature: Some(temperature), seed: Some(u64::from(seed)), ..Sampling::default() };
        let mut speech = language.begin(&prompt(seed, 9), Some(&asked), Lengths::default()).unwrap();
        while speech.stopped_by().is_none() {
            let step = Step::alone(0, &speech);
            language.speak(&mut speech, &BatchView::first(&step), &mut Generator::default());
        }
        f64::from(speech.len())
    };
    for temperature in [0.0, 1.0] {
        let lengths: Vec<f64> = (0..2000).map(|seed| length(seed, temperature)).collect();
        let mean = lengths.iter().sum::<f64>() / 2000.0;
        let square = lengths.iter().map(|length| (length - mean).powi(2)).sum::<f64>() / 2000.0;
        // The mean of 2,000 exponential lengths of mean 100 has a standard error of 2.2, their spread one of 4.5.
        assert!((mean - 100.5).abs() < 9.0, "temperature {temperature}: mean {mean}");
        assert!((square.sqrt() - 100.0).abs() < 15.0, "temperature {temperature}: spread {}", square.sqrt());
    }
}

#[test]
fn a_text_scored_as_a_prompt_has_the_log_probabilities_of_its_generation() {
    let language = healthy();
    for temperature in [0.0, 0.8] {
        let asked =
            Sampling { temperature: Some(temperature), seed: Some(3), logprobs: Some(4), ..Sampling::default() };
        let prompt = prompt(5, 30);
        let speech = alone(&language, &prompt, &asked, 100);
        assert_eq!(language.score(&prompt, speech.tokens(), 1.0, false, 4), speech.scored());
        let whole: Vec<u32> = prompt.iter().chain(speech.tokens()).copied().collect();
        let asked = Sampling { prompt_logprobs: Some(4), ..Sampling::greedy() };
        let scored = begin(&language, &whole.into(), &asked);
        assert_eq!(&scored.prompt_scored()[29..], speech.scored(), "the first token of a prompt has no score");
    }
}

#[test]
fn returned_log_probabilities_are_those_of_a_distribution() {
    let language = healthy();
    let asked = Sampling { temperature: Some(1.0), logprobs: Some(20), seed: Some(1), ..Sampling::default() };
    let speech = alone(&language, &prompt(2, 12), &asked, 300);
    for scored in speech.scored() {
        let mass: f64 = scored.top.iter().map(|(_, logprob)| f64::from(*logprob).exp()).sum();
        assert!(mass > 0.7 && mass < 1.0, "twenty candidates hold most: {mass}");
        assert!(scored.top.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        assert!(scored.logprob <= scored.top[0].1);
    }
}

#[test]
fn only_what_changes_greedy_answers_is_slow() {
    let prompt = prompt(1, 5);
    let needs_speech = |sampler: Sampler| with(sampler).begin(&prompt, None, Lengths::default()).is_some();
    assert!(!needs_speech(Sampler::default()));
    let mut noisy = Sampler::default();
    noisy.numerics.batch_shape = 0.01;
    assert!(needs_speech(noisy));
    let mut penalised = Sampler::default();
    penalised.defaults.repetition_penalty = Some(1.1);
    assert!(needs_speech(penalised));
    let mut warm = Sampler::default();
    warm.defaults.temperature = Some(0.6);
    assert!(!needs_speech(warm), "the request asks for zero");
}
