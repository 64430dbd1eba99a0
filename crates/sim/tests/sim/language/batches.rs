//! Logits and draws that depend on more than the request: each parameter changes what it names and nothing else.

use super::{alone, alone_from, begin, healthy, prompt, together, with};
use firstcheck_sim::{
    config::sampler::{Numerics, Sampler, SeedUse, Weights},
    language::{
        Language,
        batch::{BatchView, Step},
        draw::Generator,
        sampling::Sampling,
        speech::Speech,
    },
};
use std::sync::Arc;

const TOKENS: u32 = 120;

fn numerics(numerics: Numerics) -> Language {
    with(Sampler { numerics, ..Sampler::default() })
}

fn greedy() -> Sampling {
    Sampling { logprobs: Some(2), ..Sampling::greedy() }
}

/// A request with `others` neighbours, of which one may be an outlier.
fn batch(others: u32, outlier: bool) -> Vec<(Arc<[u32]>, Sampling)> {
    let filler = |row: u32| if outlier && row == 1 { vec![9; 20].into() } else { prompt(row + 50, 12) };
    (0..=others).map(|row| (if row == 0 { prompt(1, 12) } else { filler(row) }, greedy())).collect()
}

/// Largest difference of log probabilities in the first place.
fn shift(a: &Speech, b: &Speech) -> f64 {
    f64::from((a.scored()[0].top[0].1 - b.scored()[0].top[0].1).abs())
}

#[test]
fn a_healthy_engine_knows_nothing_of_the_batch() {
    let language = healthy();
    let reference = alone(&language, &prompt(1, 12), &greedy(), TOKENS);
    for (others, outlier) in [(1, false), (7, true), (63, true)] {
        assert_eq!(together(&language, &batch(others, outlier), TOKENS)[0].scored(), reference.scored());
    }
}

#[test]
fn kernels_chosen_by_the_number_of_rows_flip_near_ties_only() {
    let noise = 0.02;
    let language = numerics(Numerics { batch_shape: noise, ..Numerics::default() });
    let (mut flips, mut equal, mut shifted) = (0, 0, 0);
    for seed in 0..40 {
        let mine = prompt(seed, 12);
        let reference = alone(&language, &mine, &greedy(), TOKENS);
        assert_eq!(alone(&language, &mine, &greedy(), TOKENS).scored(), reference.scored(), "alone it repeats");
        assert_eq!(reference.tokens(), alone(&healthy(), &mine, &greedy(), TOKENS).tokens(), "and is the reference");
        let mut asked = batch(1 + seed, false);
        asked[0].0 = mine;
        let mixed = &together(&language, &asked, TOKENS)[0];
        let place = (0..TOKENS as usize).find(|place| mixed.tokens()[*place] != reference.tokens()[*place]);
        match place {
            Some(place) => {
                let top = &reference.scored()[place].top;
                assert!(f64::from(top[0].1 - top[1].1) < 10.0 * noise, "a lead of {} was lost", top[0].1 - top[1].1);
                flips += 1;
            }
            None if mixed.scored() == reference.scored() => equal += 1,
            None => shifted += 1,
        }
    }
    assert!(flips >= 5 && equal >= 3 && shifted >= 5, "{flips} flips, {equal} equal, {shifted} shifted");
}

#[test]
fn a_race_differs_alone_and_a_hit_differs_from_a_miss() {
    let mine = prompt(1, 12);
    let racing = numerics(Numerics { race: 0.01, ..Numerics::default() });
    let run = |step| alone_from(&racing, &mine, &greedy(), 20, step, &mut Generator::default());
    assert_ne!(run(0).scored(), run(1000).scored());

    let hitting = numerics(Numerics { prefix_hit: 0.01, ..Numerics::default() });
    let run = |cached_tokens| {
        let mut speech = begin(&hitting, &mine, &greedy());
        for number in 0..20 {
            let step = Step::alone(number, &speech);
            let view = BatchView { cached_tokens, ..BatchView::first(&step) };
            hitting.speak(&mut speech, &view, &mut Generator::default());
        }
        speech.scored().to_vec()
    };
    assert_eq!(run(0), alone(&healthy(), &mine, &greedy(), 20).scored());
    assert_eq!(run(8), run(8));
    assert_ne!(run(0), run(8));
}

#[test]
fn one_scale_for_the_batch_follows_its_loudest_row() {
    let language = numerics(Numerics { tensor_scale: 0.02, ..Numerics::default() });
    let reference = alone(&language, &prompt(1, 12), &greedy(), 1);
    let shift_at = |others, outlier| {
        // Noise is random: several prompts together show its size.
        (0..30)
            .map(|seed| {
                let mut asked = batch(others, outlier);
                asked[0].0 = prompt(seed, 12);
                let reference = alone(&language, &prompt(seed, 12), &greedy(), 1);
                shift(&together(&language, &asked, 1)[0], &reference)
            })
            .sum::<f64>()
    };
    let (quiet, loud) = (shift_at(7, false), shift_at(7, true));
    assert!(loud > 5.0 * quiet, "outlier {loud}, without {quiet}");
    let rows = |count| together(&language, &batch(count, true), 1)[0].scored().to_vec();
    assert_eq!(rows(7), rows(31), "the number of rows does not matter");
    assert_ne!(rows(7), reference.scored());
}

#[test]
fn a_kernel_switch_knows_the_number_of_rows_and_not_their_content() {
    let language = numerics(Numerics { kernel_switch: 0.02, switch_rows: 16, ..Numerics::default() });
    let rows = |others, outlier| together(&language, &batch(others, outlier), 1)[0].scored().to_vec();
    assert_eq!(rows(0, false), rows(14, true));
    assert_ne!(rows(14, false), rows(15, false));
    assert_eq!(rows(15, false), rows(63, true));
}

#[test]
fn a_scale_calibrated_on_the_first_prompt_stays() {
    let language = numerics(Numerics { first_prompt: 0.02, ..Numerics::default() });
    let after = |first: u32| {
        let mut generator = Generator::default();
        alone_from(&language, &prompt(first, 12), &greedy(), 1, 0, &mut generator);
        alone_from(&language, &prompt(1, 12), &greedy(), 20, 1, &mut generator)
    };
    assert_eq!(after(7).scored(), after(7).scored());
    assert_ne!(after(7).scored(), after(8).scored());
}

#[test]
fn weights_and_builds_shift_every_token_and_positions_the_late_ones() {
    let mine = prompt(1, 12);
    let reference = alone(&healthy(), &mine, &greedy(), 1);
    let stale = |version| {
        let weights = Weights { version, update_sd: 0.05, ..Weights::default() };
        with(Sampler { weights, ..Sampler::default() })
    };
    assert_eq!(alone(&stale(0), &mine, &greedy(), 1).scored(), reference.scored());
    assert_ne!(alone(&stale(1), &mine, &greedy(), 1).scored(), alone(&stale(2), &mine, &greedy(), 1).scored());
    let build = |build| numerics(Numerics { build_sd: 0.05, build, ..Numerics::default() });
    assert_ne!(alone(&build(1), &mine, &greedy(), 1).scored(), alone(&build(2), &mine, &greedy(), 1).scored());

    let drifting = numerics(Numerics { position: 0.1, ..Numerics::default() });
    let tokens = alone(&healthy(), &mine, &greedy(), 1500).tokens().to_vec();
    let (sound, shifted) =
        (healthy().score(&mine, &tokens, 1.0, false, 0), drifting.score(&mine, &tokens, 1.0, false, 0));
    let change = |range: std::ops::Range<usize>| {
        range.map(|place| f64::from((sound[place].logprob - shifted[place].logprob).abs())).sum::<f64>()
    };
    assert!(change(1400..1500) > 5.0 * change(0..100));
}

/// The matrix of experiments: whether a seeded request keeps its tokens when (1) rows are swapped, (2) an unseeded
/// neighbour comes, (3) the engine has taken other steps before, (4) it is sent again alone.
fn keeps(seed_use: SeedUse) -> [bool; 4] {
    let language = with(Sampler { seed_use, ..Sampler::default() });
    let asked = |seed: Option<u64>| Sampling { temperature: Some(1.0), seed, ..Sampling::default() };
    let (mine, other) = (prompt(1, 10), prompt(2, 14));
    let pair = |other_seed| vec![(mine.clone(), asked(Some(11))), (other.clone(), asked(other_seed))];
    let reference = alone(&language, &mine, &asked(Some(11)), 40).tokens().to_vec();
    let mut swapped = pair(Some(22));
    swapped.reverse();
    let mut generator = Generator::default();
    let mut again =
        |first_step| alone_from(&language, &mine, &asked(Some(11)), 40, first_step, &mut generator).tokens().to_vec();
    let first = again(0);
    [
        together(&language, &swapped, 40)[1].tokens() == reference,
        together(&language, &pair(None), 40)[0].tokens() == reference,
        alone_from(&language, &mine, &asked(Some(11)), 40, 333, &mut Generator::default()).tokens() == reference,
        again(0) == first,
    ]
}

#[test]
fn each_use_of_seeds_fails_its_own_experiment() {
    for (seed_use, expected) in [
        (SeedUse::PerRequest, [true, true, true, true]),
        (SeedUse::ByRow, [false, true, true, true]),
        (SeedUse::SharedIfAnyUnseeded, [true, false, true, true]),
        (SeedUse::EngineCounter, [true, true, false, true]),
        (SeedUse::RestartOnResume, [true, true, true, true]),
        (SeedUse::ByDraw, [true, true, true, true]),
    ] {
        assert_eq!(keeps(seed_use), expected, "{seed_use:?}");
    }
    assert!(!keeps(SeedUse::OnChange)[3]);
}

#[test]
fn all_rows_draw_by_the_first_rows_seed() {
    let language = with(Sampler { seed_use: SeedUse::ByRow, ..Sampler::default() });
    let asked = |seed| Sampling { temperature: Some(1.0), seed: Some(seed), ..Sampling::default() };
    let rows = |seeds: [u64; 3]| {
        let batch: Vec<_> = seeds.into_iter().zip(1..).map(|(seed, row)| (prompt(row, 9), asked(seed))).collect();
        together(&language, &batch, 30).iter().map(|speech| speech.tokens().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(rows([5, 6, 7]), rows([5, 5, 5]));
    assert_ne!(rows([5, 6, 7]), rows([6, 6, 7]));
}

#[test]
fn a_preemption_matters_only_where_the_stream_restarts() {
    let asked = Sampling { temperature: Some(1.0), seed: Some(3), ..Sampling::default() };
    let preempted_at_20 = |seed_use| {
        let language = with(Sampler { seed_use, ..Sampler::default() });
        let mut speech = begin(&language, &prompt(1, 12), &asked);
        for number in 0..60 {
            let step = Step::alone(number, &speech);
            let view = BatchView { preemptions: u32::from(number >= 20), ..BatchView::first(&step) };
            language.speak(&mut speech, &view, &mut Generator::default());
        }
        speech.tokens().to_vec()
    };
    let reference = alone(&healthy(), &prompt(1, 12), &asked, 60);
    assert_eq!(preempted_at_20(SeedUse::PerRequest), reference.tokens());
    let restarted = preempted_at_20(SeedUse::RestartOnResume);
    assert_eq!(restarted[..20], reference.tokens()[..20]);
    assert_ne!(restarted, reference.tokens());
}

#[test]
fn late_log_probabilities_are_those_of_the_token_before() {
    let late = with(Sampler { logprob_lag: 1, ..Sampler::default() });
    let asked = Sampling { temperature: Some(1.0), seed: Some(3), logprobs: Some(0), ..Sampling::default() };
    let (sound, late) = (alone(&healthy(), &prompt(1, 12), &asked, 50), alone(&late, &prompt(1, 12), &asked, 50));
    assert_eq!(sound.tokens(), late.tokens());
    let values = |speech: &Speech| speech.scored().iter().map(|scored| scored.logprob).collect::<Vec<_>>();
    assert_eq!(values(&late)[1..], values(&sound)[..49]);
}

#[test]
fn a_lossy_top_k_loses_the_likeliest_token_in_its_share_of_draws() {
    let lossy = with(Sampler { drop_top_share: 0.3, ..Sampler::default() });
    let asked = Sampling { temperature: Some(0.3), logprobs: Some(1), seed: Some(1), ..Sampling::default() };
    let missed = |language: &Language| {
        let speech = alone(language, &prompt(1, 12), &asked, 2000);
        let scored = speech.scored().iter();
        scored.filter(|scored| scored.token != scored.top[0].0).count()
    };
    let (sound, lossy) = (missed(&healthy()), missed(&lossy));
    assert!((500..900).contains(&(lossy.abs_diff(sound))), "{lossy} against {sound} of 2000");
}
