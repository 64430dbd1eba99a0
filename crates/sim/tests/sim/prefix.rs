//! What the prefix cache finds.

use crate::play::{Play, prompt, small};
use firstcheck_sim::EngineConfig;

/// Cached tokens of the second of two prompts, one after the other.
fn second_hit(config: EngineConfig, first: Vec<u32>, second: Vec<u32>) -> u32 {
    let mut play = Play::new(config);
    play.submit(1, first, 1);
    play.run();
    play.submit(2, second, 1);
    play.run();
    play.ended(2).life.cached_tokens
}

#[test]
fn a_fully_cached_prompt_computes_its_last_block_again() {
    for (length, expected) in [(16, 12), (17, 16), (19, 16), (4, 0), (5, 4), (3, 0)] {
        let cached = second_hit(small(), prompt(1, length), prompt(1, length));
        assert_eq!(cached, expected, "prompt of {length} tokens in blocks of 4");
    }
}

#[test]
fn a_hit_ends_at_the_first_block_that_differs() {
    let mut other = prompt(1, 24);
    other[9] = 7;
    assert_eq!(second_hit(small(), prompt(1, 24), other), 8);
}

#[test]
fn equal_blocks_after_different_ones_are_not_equal() {
    let mut other = prompt(1, 24);
    other[0] = 7;
    assert_eq!(second_hit(small(), prompt(1, 24), other), 0);
}

#[test]
fn generated_tokens_are_found_by_a_next_turn() {
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 8), 9);
    play.run();
    let answer: Vec<u32> = play.outputs.iter().map(|output| output.token).collect();
    let mut turn = prompt(1, 8);
    turn.extend(answer);
    turn.extend(prompt(3, 8));
    play.submit(2, turn, 1);
    play.run();
    // The KV of the last token was never computed: 8 + 8 tokens in whole blocks.
    assert_eq!(play.ended(2).life.cached_tokens, 16);
}

#[test]
fn a_prompt_in_the_same_step_can_already_be_hit() {
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 20), 1);
    play.submit(2, prompt(1, 20), 1);
    play.step();
    assert_eq!(play.ended(2).life.cached_tokens, 16);
    assert_eq!(play.engine.stats().prefix_queries, 40);
    assert_eq!(play.engine.stats().prefix_hits, 16);
}

#[test]
fn nothing_is_found_with_caching_off() {
    let config = EngineConfig { enable_prefix_caching: false, ..small() };
    assert_eq!(second_hit(config, prompt(1, 24), prompt(1, 24)), 0);
}

#[test]
fn a_request_s_tail_is_evicted_before_its_head() {
    let mut play = Play::new(EngineConfig { num_gpu_blocks: 33, ..small() });
    play.submit(1, prompt(1, 40), 1);
    play.run();
    // 22 blocks have never been used; 124 tokens take 31 and so evict 9 of the 10, from the tail.
    play.submit(2, prompt(2, 124), 1);
    play.run();
    play.submit(3, prompt(1, 40), 1);
    play.run();
    assert_eq!(play.ended(3).life.cached_tokens, 4);
}

#[test]
fn cached_blocks_count_as_free() {
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 40), 1);
    play.run();
    assert_eq!(play.engine.stats().gauges.kv_usage, 0.0);
    assert_eq!(play.engine.kv().unwrap().index().len(), 10);
}
