//! Sequences of scheduled tokens, worked out by hand.

use super::{Named, rules};
use crate::play::prompt;
use firstcheck_sim::Sglang;

#[test]
fn a_long_prompt_is_computed_in_chunks_and_then_decodes() {
    let mut named = Named::new(rules());
    named.submit('a', prompt(1, 120), 3);
    // 64 + 56 = 120; the second step gives the first token.
    assert_eq!(named.run(), ["a:64", "a:56", "2× a:1"]);
    let life = named.play.ended(u64::from(u32::from('a'))).life;
    // 10 ms and 1 ms a token: 74 + 66, then twice 11.
    assert_eq!((life.first_token_ns, life.last_token_ns), (Some(140_000_000), Some(162_000_000)));
}

#[test]
fn one_request_at_a_time_is_computed_in_chunks() {
    let mut named = Named::new(rules());
    named.submit('a', prompt(1, 100), 2);
    named.submit('b', prompt(2, 100), 2);
    // The chunk is used up by a; then its rest of 36 leaves 28 of 64 to b; its second token waits until b is done.
    assert_eq!(named.run(), ["a:64", "a:36 b:28", "b:64", "b:8", "a:1 b:1"]);
}

#[test]
fn decodes_stall_while_prompts_arrive() {
    let mut named = Named::new(rules());
    named.submit('a', prompt(1, 10), 3);
    let mut batches = named.steps(1);
    for (name, seed) in ['b', 'c', 'd'].into_iter().zip(2..) {
        named.submit(name, prompt(seed, 10), 2);
        batches.extend(named.steps(1));
    }
    assert_eq!(batches, ["a:10", "b:10", "c:10", "d:10"]);
    assert_eq!(named.run(), ["a:1 b:1 c:1 d:1", "a:1"]);
    let life = named.play.ended(u64::from(u32::from('a'))).life;
    // Three prefill steps of 20 ms and a decode step of 14 ms lie between its first token and its second.
    assert_eq!(life.last_token_ns.unwrap() - life.first_token_ns.unwrap(), 74_000_000 + 11_000_000);
}

#[test]
fn mixed_chunks_let_running_requests_decode_in_prefill_steps() {
    let mut named = Named::new(Sglang { enable_mixed_chunk: true, ..rules() });
    named.submit('a', prompt(1, 10), 5);
    named.step();
    named.submit('b', prompt(2, 100), 2);
    // The decode takes one of 64; what is left of b joins in front of a.
    assert_eq!(named.run(), ["b:63 a:1", "b:37 a:1", "b:1 a:1", "a:1"]);
}

#[test]
fn without_chunks_a_prompt_beyond_the_input_budget_goes_alone() {
    let rules = Sglang { chunked_prefill_size: None, max_prefill_tokens: 50, ..rules() };
    let mut named = Named::new(rules);
    named.submit('a', prompt(1, 60), 1);
    named.submit('b', prompt(2, 20), 1);
    named.submit('c', prompt(3, 40), 1);
    // The first one is taken whatever its size; 20 leave 30, which 40 exceed.
    assert_eq!(named.run(), ["a:60", "b:20", "c:40"]);
}

#[test]
fn the_input_budget_is_checked_after_a_request_is_in() {
    let mut named = Named::new(Sglang { chunked_prefill_size: Some(128), max_prefill_tokens: 30, ..rules() });
    for (name, seed) in ['a', 'b', 'c'].into_iter().zip(1..) {
        named.submit(name, prompt(seed, 20), 1);
    }
    assert_eq!(named.run(), ["a:20 b:20", "c:20"]);
}

#[test]
fn an_interval_of_decodes_follows_a_prefill() {
    let mut named = Named::new(Sglang { prefill_decode_interval: 2, ..rules() });
    named.submit('a', prompt(1, 10), 8);
    named.step();
    named.submit('b', prompt(2, 100), 2);
    assert_eq!(named.steps(6), ["a:1", "a:1", "b:64", "a:1", "a:1", "b:36"]);
    assert_eq!(named.run(), ["a:1 b:1", "2× a:1"]);
}

#[test]
fn pages_round_chunks_down_and_memory_up() {
    let rules = Sglang {
        page_size: 64,
        max_total_num_tokens: 1000,
        chunked_prefill_size: Some(320),
        disable_radix_cache: false,
        ..rules()
    };
    let mut config = super::small_sglang(rules);
    config.max_model_len = 400;
    let mut named = Named::with(config);
    named.submit('a', prompt(1, 200), 2);
    named.submit('b', prompt(2, 100), 2);
    // 200 count as 256 of 320; the 64 left hold one page of b.
    assert_eq!(named.step(), "a:200 b:64");
    let tokens = named.play.engine.sglang().unwrap().tokens();
    // 1000 are 15 pages; a holds four, of which three are whole and in the tree; b holds one.
    assert_eq!((tokens.capacity, tokens.used(), tokens.protected), (960, 320, 192));
    assert_eq!(named.run(), ["b:36", "a:1 b:1"]);
}

#[test]
fn seats_bound_the_batch_and_a_freed_one_is_noticed_after_the_next_decode() {
    let mut named = Named::new(Sglang { max_running_requests: 2, ..rules() });
    named.submit('a', prompt(1, 4), 3);
    named.submit('b', prompt(2, 4), 5);
    named.submit('c', prompt(3, 4), 2);
    // a ends with the second decode; that the batch is no longer full is seen when the next decode is made up.
    assert_eq!(named.run(), ["a:4 b:4", "2× a:1 b:1", "b:1", "c:4", "b:1 c:1"]);
}

#[test]
fn a_cap_on_requests_of_a_prefill_batch_is_kept() {
    let mut named = Named::new(Sglang { prefill_max_requests: Some(2), ..rules() });
    for (name, seed) in ['a', 'b', 'c'].into_iter().zip(1..) {
        named.submit(name, prompt(seed, 4), 1);
    }
    assert_eq!(named.run(), ["a:4 b:4", "c:4"]);
}
