//! Drafts and their verification.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{ClassAcceptance, EngineConfig, Features, NewRequest, Speculation};

fn drafting(tokens: u32, acceptance: &[f64]) -> EngineConfig {
    let speculation = Speculation {
        tokens,
        acceptance: acceptance.to_vec(),
        draft_seconds: 0.0,
        draft_sequence_seconds: 0.0,
        ..Speculation::default()
    };
    EngineConfig { speculation: Some(speculation), ..small() }
}

/// Steps that an answer of 40 tokens takes.
fn steps(config: EngineConfig, features: Features) -> u64 {
    let mut play = Play::new(config);
    let request = NewRequest { features, ..NewRequest::forced(1, prompt(1, 8), 40) };
    play.engine.submit(0, request).unwrap();
    play.run();
    let positions: Vec<u32> = play.outputs.iter().map(|output| output.position).collect();
    assert_eq!(positions, (0..40).collect::<Vec<_>>());
    assert_eq!(play.engine.kv().unwrap().pool().free(), 64);
    play.engine.stats().steps
}

#[test]
fn right_drafts_save_steps_and_wrong_ones_cost_none() {
    let plain = Features::default();
    assert_eq!(steps(drafting(3, &[1.0]), plain), 1 + 39_u64.div_ceil(4));
    assert_eq!(steps(drafting(3, &[0.0]), plain), 40);
    let half = steps(drafting(3, &[0.5]), plain);
    assert!((13..35).contains(&half), "{half}");
}

#[test]
fn a_place_counts_only_if_all_before_it_were_right() {
    assert_eq!(steps(drafting(3, &[1.0, 0.0, 1.0]), Features::default()), 1 + 39_u64.div_ceil(2));
}

#[test]
fn classes_fare_differently_and_may_be_left_out() {
    let mut config = drafting(3, &[1.0]);
    let classes = vec![
        ClassAcceptance { class: 1, factor: 0.0, disabled: false },
        ClassAcceptance { class: 2, factor: 1.0, disabled: true },
    ];
    if let Some(speculation) = &mut config.speculation {
        speculation.classes = classes;
    }
    let of = |class| steps(config.clone(), Features { class, ..Features::default() });
    assert_eq!((of(0), of(1), of(2)), (11, 40, 40));
}

#[test]
fn the_tokens_of_a_step_are_one_event_and_the_answer_is_the_same() {
    let answer = |config| {
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 8), 9);
        play.run();
        let tokens: Vec<u32> = play.outputs.iter().map(|output| output.token).collect();
        (tokens, play.outputs.iter().filter(|output| output.ends_event).count())
    };
    let (plain, events) = answer(small());
    let (drafted, fewer) = answer(drafting(3, &[1.0]));
    assert_eq!(plain, drafted);
    assert_eq!((events, fewer), (9, 3));
}

#[test]
fn acceptance_is_counted_by_place() {
    let mut play = Play::new(drafting(2, &[0.8, 0.5]));
    for tag in 0..40 {
        play.submit(tag, prompt(tag as u32, 8), 40);
    }
    play.run();
    let counted = play.engine.stats().speculation.as_ref().unwrap();
    assert_eq!(counted.draft_tokens, 2 * counted.drafts);
    let share = |place: usize| counted.accepted_at[place] as f64 / counted.drafts as f64;
    assert!((share(0) - 0.8).abs() < 0.05, "{}", share(0));
    assert!((share(1) - 0.4).abs() < 0.05, "{}", share(1));
}

#[test]
fn above_a_batch_nothing_is_drafted() {
    let mut config = drafting(3, &[1.0]);
    if let Some(speculation) = &mut config.speculation {
        speculation.most_running = Some(1);
    }
    let mut play = Play::new(config);
    play.submit(1, prompt(1, 8), 12);
    play.submit(2, prompt(2, 8), 12);
    play.run();
    assert_eq!(play.engine.stats().steps, 12);
    assert_eq!(play.engine.stats().speculation.as_ref().unwrap().drafts, 0);
}

#[test]
fn a_stale_draft_cache_loses_acceptance_as_the_answer_grows() {
    let mut config = EngineConfig { max_model_len: 4096, num_gpu_blocks: 2000, ..drafting(1, &[0.9]) };
    if let Some(speculation) = &mut config.speculation {
        speculation.decay = 0.9;
    }
    let mut play = Play::new(config);
    play.submit(1, prompt(1, 8), 2000);
    play.run();
    let events = |from: u32| {
        let of = |output: &&firstcheck_sim::Output| (from..from + 500).contains(&output.position);
        play.outputs.iter().filter(of).filter(|output| output.ends_event).count()
    };
    assert!(events(1500) > events(0) + 100, "{} {}", events(0), events(1500));
}
