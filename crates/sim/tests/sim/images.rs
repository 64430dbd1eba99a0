//! The encoder of images.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{Death, Encoder, EngineConfig, Features, FinishReason, Images, NewRequest, Refusal};

fn seeing(change: impl FnOnce(&mut Encoder)) -> EngineConfig {
    let mut encoder = Encoder {
        image_seconds: 0.1,
        token_seconds: 0.0,
        budget_tokens: 32,
        cache_tokens: 64,
        peak_bytes_per_token: 1.0,
        cache_bytes_per_token: 1.0,
        retained_share: 0.0,
        reserve_bytes: 1000.0,
    };
    change(&mut encoder);
    EngineConfig { encoder: Some(encoder), ..small() }
}

fn submit(play: &mut Play, tag: u64, images: Images) {
    let features = Features { images: Some(images), ..Features::default() };
    let tokens = images.total_tokens() + 4;
    let request = NewRequest { features, ..NewRequest::forced(tag, prompt(tag as u32, tokens), 2) };
    play.engine.submit(play.now, request).unwrap();
}

#[test]
fn images_are_encoded_in_the_step_that_computes_them_and_the_same_one_only_once() {
    let mut play = Play::new(seeing(|_| {}));
    submit(&mut play, 1, Images { count: 2, tokens: 16, first: 10 });
    play.run();
    assert_eq!(play.first_token_ms(1), 200 + 10 + 36);
    submit(&mut play, 2, Images { count: 2, tokens: 16, first: 10 });
    play.run();
    assert_eq!(play.first_token_ms(2), 10 + 36, "other text, the same images");
    assert_eq!(play.engine.stats().multimodal, firstcheck_sim::emit::features::Lookups { queries: 4, hits: 2 });
}

#[test]
fn the_image_that_was_used_longest_ago_leaves_the_cache_first() {
    let mut play = Play::new(seeing(|encoder| encoder.cache_tokens = 32));
    for (tag, image) in [1, 2, 1, 3, 1].into_iter().enumerate() {
        submit(&mut play, tag as u64, Images { count: 1, tokens: 16, first: image });
        play.run();
    }
    let lookups = play.engine.stats().multimodal;
    assert_eq!((lookups.queries, lookups.hits), (5, 2), "3 takes the place of 2, not of 1");
}

#[test]
fn the_budget_ends_a_chunk_before_the_first_image_that_has_no_room() {
    let mut play = Play::new(seeing(|encoder| encoder.budget_tokens = 16));
    submit(&mut play, 1, Images { count: 3, tokens: 16, first: 10 });
    let mut chunks = Vec::new();
    while play.step() {
        chunks.extend(play.engine.batch().map(|(_, tokens)| tokens));
    }
    assert_eq!(chunks, [16, 16, 20, 1]);
}

#[test]
fn more_memory_than_there_is_ends_the_engine_while_kv_is_free() {
    let mut play = Play::new(seeing(|encoder| encoder.reserve_bytes = 60.0));
    play.submit(1, prompt(1, 8), 50);
    play.step();
    submit(&mut play, 2, Images { count: 2, tokens: 16, first: 10 });
    play.run();
    assert!(play.engine.stats().gauges.kv_usage < 0.5);
    assert!(matches!(play.engine.death(), Some(Death::OutOfMemory(memory)) if memory.reserve_bytes == 60.0));
    assert_eq!((play.ended(1).reason, play.ended(2).reason), (FinishReason::Error, FinishReason::Error));
    let refused = play.engine.submit(play.now, NewRequest::forced(3, prompt(3, 4), 1)).unwrap_err();
    assert_eq!((refused.status(), &refused), (500, &Refusal::Dead));
    assert_eq!(play.engine.stats().finished_error, 2);
}

#[test]
fn embeddings_that_stay_in_memory_end_it_later_and_by_distinct_images_only() {
    let died_after = |fresh: bool| {
        let mut play = Play::new(seeing(|encoder| (encoder.retained_share, encoder.reserve_bytes) = (1.0, 200.0)));
        for turn in 0..20_u64 {
            let first = if fresh { turn } else { 0 };
            submit(&mut play, turn, Images { count: 1, tokens: 16, first });
            play.run();
            if play.engine.death().is_some() {
                return Some(turn);
            }
        }
        None
    };
    assert_eq!(died_after(false), None);
    assert!(died_after(true).is_some_and(|turn| turn > 5));
}
