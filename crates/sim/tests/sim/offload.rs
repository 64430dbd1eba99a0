//! A second tier of the KV cache.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{EngineConfig, Offload};

/// Copies a token in a millisecond, without overhead, so that a load of n tokens takes n ms: as long as computing them.
fn tier(change: impl FnOnce(&mut Offload)) -> EngineConfig {
    let mut offload = Offload {
        bytes_per_token: 1000.0,
        bytes_per_second: 1e6,
        operation_seconds: 0.0,
        lookup_seconds: 0.0,
        capacity_tokens: 10_000,
        ..Offload::default()
    };
    change(&mut offload);
    EngineConfig { num_gpu_blocks: 33, offload: Some(offload), ..small() }
}

/// A prompt of 60 tokens, thrown out of the GPU's cache by another, and asked for again.
fn again(config: EngineConfig) -> Play {
    let mut play = Play::new(config);
    play.submit(1, prompt(1, 60), 1);
    play.drain();
    play.submit(2, prompt(2, 124), 1);
    play.drain();
    play.submit(3, prompt(1, 60), 2);
    play.drain();
    play
}

#[test]
fn what_the_gpu_evicted_is_copied_instead_of_computed() {
    let play = again(tier(|_| {}));
    let life = play.ended(3).life;
    // 124 tokens evict all but one of the first prompt's 15 blocks; the last block is always computed.
    assert_eq!((life.cached_tokens, life.external_tokens), (56, 52));
    // The copy, then the step that computes the last block.
    assert_eq!(play.first_token_ms(3), 52 + 14);
    let stats = play.engine.stats();
    assert_eq!((stats.external.hits, stats.cached_by_source.host), (52, 52));
    let offload = stats.offload.as_ref().unwrap();
    // One operation of at most 256 tokens, one look-up.
    assert_eq!((offload.load_bytes, offload.load_size.count(), offload.load_size.sum()), (52_000, 1, 52_000.0));
    assert_eq!((offload.lookup.count(), offload.lookup.sum()), (1, 0.0));
    assert_eq!(play.engine.kv().unwrap().pool().free(), 32);
}

#[test]
fn a_slow_link_loses_against_computing_and_a_gate_spares_short_finds() {
    assert_eq!(again(tier(|offload| offload.bytes_per_second = 1e5)).first_token_ms(3), 520 + 14);
    let gated = again(tier(|offload| offload.min_hit_tokens = 56));
    assert_eq!((gated.ended(3).life.external_tokens, gated.first_token_ms(3)), (0, 10 + 56));
    let none = again(tier(|offload| offload.max_loads = Some(0)));
    assert_eq!(none.ended(3).life.external_tokens, 0);
}

#[test]
fn small_operations_and_lookups_cost_what_they_say() {
    let small_ones = again(tier(|offload| (offload.operation_tokens, offload.operation_seconds) = (4, 0.002)));
    assert_eq!(small_ones.first_token_ms(3), 13 * 2 + 52 + 14);
    let offload = small_ones.engine.stats().offload.as_ref().unwrap();
    assert_eq!((offload.load_size.count(), offload.load_size.sum()), (13, 52_000.0));
    let looked_up = again(tier(|offload| offload.lookup_seconds = 0.030));
    assert_eq!(looked_up.first_token_ms(3), 30 + 52 + 14);
    assert_eq!(looked_up.engine.stats().offload.as_ref().unwrap().lookup.sum(), 0.030);
}

#[test]
fn loads_wait_for_one_another_and_for_stores_where_they_share_the_link() {
    let third = |stores_block_loads| {
        let slow = |offload: &mut Offload| {
            (offload.stores_block_loads, offload.bytes_per_second) = (stores_block_loads, 0.5e6);
        };
        let mut play = Play::new(tier(slow));
        play.submit(1, prompt(1, 60), 1);
        play.drain();
        play.submit(2, prompt(2, 124), 1);
        play.step();
        play.step();
        // The 124 tokens of the second are still being stored.
        play.submit(3, prompt(1, 60), 1);
        play.drain();
        play.first_token_ms(3)
    };
    assert!(third(true) > third(false), "{} {}", third(true), third(false));
}

#[test]
fn a_load_within_the_step_holds_up_the_whole_batch() {
    let gap = |loads_block_steps| {
        let config =
            EngineConfig { num_gpu_blocks: 65, ..tier(|offload| offload.loads_block_steps = loads_block_steps) };
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 60), 1);
        play.drain();
        for tag in 2..=3 {
            play.submit(tag, prompt(tag as u32, 124), 1);
            play.drain();
        }
        play.submit(4, prompt(9, 4), 20);
        play.step();
        play.submit(5, prompt(1, 60), 1);
        play.drain();
        let at: Vec<i64> = play.outputs.iter().filter(|output| output.tag == 4).map(|output| output.at_ns).collect();
        at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap() / 1_000_000
    };
    assert!(gap(true) >= 52 && gap(false) < 30, "{} {}", gap(true), gap(false));
}

#[test]
fn the_tier_forgets_what_was_used_longest_ago() {
    let play = again(tier(|offload| offload.capacity_tokens = 100));
    assert_eq!(play.ended(3).life.external_tokens, 0, "the second prompt pushed the first out");
}
