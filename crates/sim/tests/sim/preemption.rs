//! Preemption by recompute.

use crate::play::{Play, prompt, small};
use firstcheck_sim::EngineConfig;

/// 32 usable blocks of 4 tokens; three requests of 40 tokens take 30 and grow.
fn crowded() -> Play {
    let mut play = Play::new(EngineConfig { num_gpu_blocks: 33, max_num_batched_tokens: 128, ..small() });
    for tag in 1..=3 {
        play.submit(tag, prompt(tag as u32, 40), 30);
    }
    play
}

#[test]
fn the_victim_is_the_request_admitted_last_and_it_returns_to_the_head() {
    let mut play = crowded();
    while play.engine.stats().preemptions == 0 {
        assert!(play.step());
    }
    assert_eq!(play.engine.running().len(), 2);
    let head = play.engine.waiting().next().unwrap();
    let life = *play.engine.life_of(head).unwrap();
    assert_eq!((life.preemptions, play.engine.blocks_of(head).unwrap().len()), (1, 0));
    let ids: Vec<_> = play.engine.running().collect();
    assert!(ids.iter().all(|id| play.engine.life_of(*id).unwrap().preemptions == 0));
}

#[test]
fn a_preempted_request_loses_no_token_and_repeats_none() {
    let mut play = crowded();
    play.run();
    for tag in 1..=3 {
        let positions: Vec<u32> =
            play.outputs.iter().filter(|output| output.tag == tag).map(|output| output.position).collect();
        assert_eq!(positions, (0..30).collect::<Vec<_>>(), "request {tag}");
    }
    assert!(play.ended(3).life.preemptions > 0);
    assert_eq!(play.ended(1).life.preemptions, 0, "the first is never the last");
}

#[test]
fn its_wait_lies_in_decode_and_its_first_token_stays_where_it_was() {
    let mut play = crowded();
    play.step();
    let first = play.now;
    play.run();
    let life = play.ended(3).life;
    assert_eq!(life.first_token_ns, Some(first));
    assert!(life.preempted_ns > 0);
    assert!(life.last_token_ns.unwrap() - first > life.preempted_ns);
    assert!(life.recomputed_tokens > 0, "{life:?}");
}

#[test]
fn without_caching_everything_is_computed_again() {
    let recomputed = |enable_prefix_caching| {
        let config = EngineConfig { num_gpu_blocks: 33, max_num_batched_tokens: 128, enable_prefix_caching, ..small() };
        let mut play = Play::new(config);
        for tag in 1..=3 {
            play.submit(tag, prompt(tag as u32, 40), 30);
        }
        play.run();
        play.finished.iter().map(|ended| ended.life.recomputed_tokens).sum::<u64>()
    };
    assert!(recomputed(false) > recomputed(true), "{} {}", recomputed(false), recomputed(true));
}

#[test]
fn tokens_computed_again_do_not_count_as_prompt() {
    let mut play = crowded();
    play.run();
    let stats = play.engine.stats();
    assert_eq!((stats.prompt_tokens, stats.generation_tokens), (120, 90));
    assert_eq!(stats.prefix_queries, 120, "looked up at first admission only");
    let total: u32 = play.finished.iter().map(|ended| ended.life.preemptions).sum();
    assert_eq!(stats.preemptions, u64::from(total));
}
