//! What the radix tree keeps and finds.

use super::{Named, queue::joined, rules, small_sglang};
use crate::play::prompt;
use firstcheck_sim::{
    Defects, EngineConfig, Features, NewRequest, Sglang,
    radix_cache::{Eviction, ROOT, RadixCache},
};

/// Cached tokens of the second of two prompts, one after the other.
fn second_hit(rules: Sglang, first: Vec<u32>, second: Vec<u32>) -> u32 {
    let mut named = Named::new(rules);
    named.submit('a', first, 1);
    named.run();
    named.submit('b', second, 1);
    named.run();
    named.play.ended(u64::from(u32::from('b'))).life.cached_tokens
}

#[test]
fn a_fully_cached_prompt_computes_one_token_again() {
    for (length, expected) in [(20, 19), (2, 1), (1, 0)] {
        assert_eq!(second_hit(rules(), prompt(1, length), prompt(1, length)), expected, "prompt of {length}");
    }
}

#[test]
fn with_pages_it_computes_the_last_page_again() {
    let paged = Sglang { page_size: 8, ..rules() };
    for (length, expected) in [(24, 16), (25, 24), (31, 24), (8, 0), (9, 8), (7, 0)] {
        let hit = second_hit(paged.clone(), prompt(1, length), prompt(1, length));
        assert_eq!(hit, expected, "prompt of {length} tokens in pages of 8");
    }
}

#[test]
fn a_hit_ends_at_the_first_token_that_differs() {
    let mut other = prompt(1, 24);
    other[9] = 7;
    assert_eq!(second_hit(rules(), prompt(1, 24), other.clone()), 9);
    assert_eq!(second_hit(Sglang { page_size: 4, ..rules() }, prompt(1, 24), other), 8);
}

#[test]
fn nothing_is_found_without_a_cache() {
    assert_eq!(second_hit(Sglang { disable_radix_cache: true, ..rules() }, prompt(1, 24), prompt(1, 24)), 0);
}

#[test]
fn generated_tokens_are_found_by_a_next_turn() {
    let mut named = Named::new(rules());
    named.submit('a', prompt(1, 8), 9);
    named.run();
    let answer: Vec<u32> = named.play.outputs.iter().map(|output| output.token).collect();
    named.submit('b', joined(joined(prompt(1, 8), answer), prompt(3, 8)), 1);
    named.run();
    // All but the last token, whose KV was never computed.
    assert_eq!(named.play.ended(u64::from(u32::from('b'))).life.cached_tokens, 16);
}

#[test]
fn a_prompt_is_found_when_it_is_computed_and_not_before() {
    let mut named = Named::new(rules());
    named.submit('a', prompt(1, 20), 5);
    named.submit('b', prompt(1, 20), 5);
    assert_eq!(named.step(), "a:20 b:20", "in the same step it is not there yet");
    named.submit('c', prompt(1, 20), 5);
    assert_eq!(named.step(), "c:1");
}

#[test]
fn equal_prompts_computed_twice_are_kept_once() {
    let mut named = Named::new(rules());
    named.submit('a', prompt(1, 20), 5);
    named.submit('b', prompt(1, 20), 5);
    named.step();
    let tokens = named.play.engine.sglang().unwrap().tokens();
    assert_eq!((tokens.used(), tokens.protected), (20, 20));
}

#[test]
fn chunks_can_be_found_while_their_prompt_goes_on() {
    let mut named = Named::new(Sglang { chunked_prefill_size: Some(32), ..rules() });
    named.submit('a', prompt(1, 100), 1);
    named.step();
    named.step();
    named.step();
    named.submit('b', joined(prompt(1, 60), prompt(2, 4)), 1);
    // The last 4 of a leave 28; b shares 60 of the 96 tokens that are computed.
    assert_eq!(named.step(), "a:4 b:4");
}

#[test]
fn cached_tokens_do_not_count_as_used() {
    let mut named = Named::new(rules());
    named.submit('a', prompt(1, 40), 3);
    named.run();
    let tokens = named.play.engine.sglang().unwrap().tokens();
    assert_eq!((tokens.used(), tokens.evictable, tokens.free), (0, 42, 214));
    assert_eq!(named.play.engine.stats().gauges.kv_usage, 0.0);
}

#[test]
fn the_answer_is_evicted_before_the_prompt() {
    let cached = |evict_shortfall_only| {
        let rules = Sglang { max_total_num_tokens: 64, evict_shortfall_only, ..rules() };
        let mut named = Named::with(EngineConfig { max_model_len: 60, ..small_sglang(rules) });
        named.submit('a', prompt(1, 20), 11);
        named.run();
        // 30 are cached and 34 free: 40 lack 6, and the leaf that goes for them is the answer of 10.
        named.submit('b', prompt(2, 40), 1);
        named.run();
        named.submit('c', prompt(1, 20), 1);
        named.run();
        named.play.ended(u64::from(u32::from('c'))).life.cached_tokens
    };
    assert_eq!(cached(true), 19);
    assert_eq!(cached(false), 0, "older versions evict all 40 that are asked for");
}

#[test]
fn the_tree_splits_at_a_branch_and_keeps_both_sides() {
    let mut tree = RadixCache::new(1, Eviction::Lru);
    assert_eq!(tree.insert(0, &[1, 2, 3, 4]).known, 0);
    let inserted = tree.insert(0, &[1, 2, 7]);
    assert_eq!((inserted.known, inserted.prefix.tokens), (2, 3));
    assert_eq!(tree.evictable(), 5);
    let mut lengths: Vec<u32> = tree.segments().map(|(_, len, _)| len).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [1, 2, 2]);
    assert_eq!(tree.find(0, &[1, 2, 3, 4, 5]).tokens, 4);
    assert_eq!(tree.find(0, &[1, 2, 7]).tokens, 3);
    assert_eq!(tree.find(0, &[2]).tokens, 0);
    assert_eq!(tree.find(9, &[1, 2]).tokens, 0, "another namespace shares nothing");
}

#[test]
fn what_is_locked_stays_and_whole_leaves_go_oldest_first() {
    let mut tree = RadixCache::new(1, Eviction::Lru);
    let old = tree.insert(0, &[1, 1, 1]).prefix;
    let locked = tree.insert(0, &[2, 2, 2, 2]).prefix;
    tree.insert(0, &[3; 5]);
    tree.lock(locked.node);
    assert_eq!((tree.evictable(), tree.protected()), (8, 4));
    assert_eq!(tree.find(0, &[1, 1, 1]), old, "a lookup makes it young again");
    assert_eq!(tree.evict(2), 5, "the leaf of five goes, whole");
    assert_eq!(tree.evict(100), 3);
    assert_eq!((tree.evict(1), tree.protected()), (0, 4));
    tree.unlock(locked.node);
    assert_eq!(tree.evict(1), 4);
    assert_eq!(tree.find(0, &[2]).node, ROOT);
}

#[test]
fn a_lock_holds_the_whole_path_also_after_a_split() {
    let mut tree = RadixCache::new(1, Eviction::Lru);
    let long = tree.insert(0, &[1, 2, 3, 4, 5, 6]).prefix;
    tree.lock(long.node);
    tree.insert(0, &[1, 2, 9]);
    assert_eq!((tree.protected(), tree.evictable()), (6, 1));
    assert_eq!(tree.evict(100), 1);
    tree.unlock(long.node);
    assert_eq!((tree.protected(), tree.evictable()), (0, 6));
}

#[test]
fn the_eviction_policy_names_who_goes_first() {
    for (policy, first) in
        [(Eviction::Lru, 2), (Eviction::Mru, 1), (Eviction::Fifo, 1), (Eviction::Filo, 3), (Eviction::Lfu, 2)]
    {
        let mut tree = RadixCache::new(1, policy);
        for token in 1..=3 {
            tree.insert(0, &[token; 4]);
        }
        tree.find(0, &[3; 4]);
        tree.find(0, &[1; 4]);
        tree.evict(1);
        let gone: Vec<u32> = (1..=3).filter(|token| tree.find(0, &[*token; 4]).tokens == 0).collect();
        assert_eq!(gone, [first], "{policy:?}");
    }
}

#[test]
fn a_salt_keeps_prompts_apart() {
    let mut named = Named::new(rules());
    let ask = |named: &mut Named, tag: u64, cache_salt: u64| {
        let request = NewRequest::forced(tag, prompt(1, 20), 1);
        let features = Features { cache_salt, ..Features::default() };
        named.play.engine.submit(named.play.now, NewRequest { features, ..request }).unwrap();
        named.play.run();
        named.play.ended(tag).life.cached_tokens
    };
    assert_eq!([(1, 7), (2, 8), (3, 7)].map(|(tag, salt)| ask(&mut named, tag, salt)), [0, 0, 19]);
}

#[test]
fn bugs_show_in_what_is_found_and_what_is_free() {
    let hits = |defects: Defects| {
        let mut named = Named::with(EngineConfig { defects, ..small_sglang(rules()) });
        for (name, seed) in [('a', 1), ('b', 2), ('c', 1)] {
            named.submit(name, prompt(seed, 20), 1);
            named.run();
        }
        let tokens = named.play.engine.sglang().unwrap().tokens();
        (named.play.ended(u64::from(u32::from('c'))).life.cached_tokens, tokens.used(), tokens.leaked)
    };
    assert_eq!(hits(Defects::default()), (19, 0, 0));
    assert_eq!(hits(Defects { frozen_prefix_index: true, ..Defects::default() }), (0, 0, 0));
    assert_eq!(hits(Defects { failed_lookups: 1.0, ..Defects::default() }), (0, 0, 0));
    assert_eq!(hits(Defects { leaked_blocks: 2.0, ..Defects::default() }), (19, 6, 6));
}
