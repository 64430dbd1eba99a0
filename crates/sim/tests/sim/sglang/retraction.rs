//! What happens when decodes find no memory.

use super::{Named, admission::tight, rules, small_sglang};
use crate::play::prompt;
use firstcheck_sim::{EngineConfig, FinishReason, Sglang};

/// So little is set aside for running requests that too many are admitted.
fn bold() -> Sglang {
    Sglang { init_new_token_ratio: 0.1, min_new_token_ratio_factor: 1.0, ..rules() }
}

/// 64 tokens; a, b and c take 30 and grow by three a step.
fn crowded() -> Named {
    let mut named = Named::with(tight(bold()));
    named.submit('a', prompt(1, 10), 20);
    named.step();
    named.submit('b', prompt(2, 12), 20);
    named.step();
    named.submit('c', prompt(3, 8), 20);
    named
}

#[test]
fn of_equal_outputs_the_longest_prompt_goes_and_all_of_it_is_computed_again() {
    let mut named = crowded();
    // 34 free tokens are eleven steps of three. Then b goes; its eleven tokens are free, and its prompt, left in the
    // tree, is evicted at once to make room for 2 × 20. The others stay in the order in which they are kept.
    let expected = ["c:8", "11× a:1 b:1 c:1", "8× c:1 a:1", "b:24", "7× b:1"];
    assert_eq!(named.run(), expected);
    let life = named.play.ended(u64::from(u32::from('b'))).life;
    assert_eq!((life.preemptions, life.recomputed_tokens, life.cached_tokens), (1, 23, 0));
    assert_eq!(named.play.engine.stats().preemptions, 1);
}

#[test]
fn the_least_output_goes_however_short_its_prompt() {
    let mut named = Named::with(tight(bold()));
    named.submit('a', prompt(1, 10), 20);
    named.step();
    named.submit('b', prompt(2, 12), 20);
    named.steps(4);
    named.submit('c', prompt(3, 8), 20);
    assert_eq!(named.run(), ["c:8", "9× a:1 b:1 c:1", "7× a:1 b:1", "c:18", "9× c:1"]);
}

#[test]
fn a_victim_joins_the_end_of_the_queue() {
    let mut named = crowded();
    named.step();
    named.submit('d', prompt(4, 30), 29);
    while named.play.engine.stats().preemptions == 0 {
        named.step();
    }
    assert_eq!(named.waiting(), "db");
    // d needs 30 + 29 + 1 of 64, and leaves too little for b.
    assert_eq!(named.run(), ["7× c:1 a:1", "d:30", "28× d:1", "b:24", "7× b:1"]);
}

#[test]
fn a_retraction_raises_the_share_that_is_set_aside() {
    let mut named = crowded();
    while named.play.engine.stats().preemptions == 0 {
        named.step();
    }
    // (12 + 12 + 2 × 20) / (40 + 1) is more than the whole.
    let ratio = named.play.engine.sglang().unwrap().new_token_ratio();
    assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn with_more_asked_for_the_share_is_an_estimate() {
    let config = EngineConfig { max_model_len: 250, ..small_sglang(Sglang { retract_decode_steps: 0, ..bold() }) };
    let mut named = Named::with(config);
    named.submit('a', prompt(1, 10), 100);
    named.step();
    named.submit('b', prompt(2, 12), 100);
    named.step();
    named.submit('c', prompt(3, 8), 100);
    while named.play.engine.stats().preemptions == 0 {
        named.step();
    }
    // 256 − 30 = 226 are 75 steps of three; 76 tokens each then, b thrown out.
    let ratio = named.play.engine.sglang().unwrap().new_token_ratio();
    assert!((ratio - 152.0 / 201.0).abs() < 1e-9, "{ratio}");
}

#[test]
fn a_retracted_request_loses_no_token_and_repeats_none() {
    let mut named = crowded();
    named.run();
    for name in ['a', 'b', 'c'] {
        let tag = u64::from(u32::from(name));
        let mine = named.play.outputs.iter().filter(|output| output.tag == tag);
        assert_eq!(mine.map(|output| output.position).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn what_was_in_the_tree_before_can_be_found_again() {
    // Without making room for later steps the prompt stays in the tree, and six steps of two need the twelve freed.
    let rules = Sglang { retract_decode_steps: 0, ..bold() };
    let mut named = Named::with(tight(rules));
    named.submit('a', prompt(1, 10), 18);
    named.step();
    named.submit('b', prompt(2, 12), 18);
    named.step();
    named.submit('c', prompt(3, 8), 18);
    let batches = named.run();
    // b finds its prompt of 12, but computes its 12 output tokens again: their KV was not kept.
    assert!(batches.contains(&"b:12".to_owned()), "{batches:?}");
    assert_eq!(named.play.ended(u64::from(u32::from('b'))).life.recomputed_tokens, 11);
}

#[test]
fn the_last_request_that_does_not_fit_fails() {
    // Between two chunks of b, whose first one holds half the pool, a decodes and finds nobody to throw out but itself.
    let rules =
        Sglang { chunked_prefill_size: Some(32), clip_max_new_tokens: 1, prefill_decode_interval: 20, ..bold() };
    let mut named = Named::with(tight(rules));
    named.submit('a', prompt(1, 4), 50);
    named.step();
    named.submit('b', prompt(2, 36), 8);
    // 4 + 20 + 32 = 56 of 64.
    assert_eq!(named.run(), ["20× a:1", "b:32", "8× a:1", "b:4", "7× b:1"]);
    let ended = named.play.ended(u64::from(u32::from('a')));
    assert_eq!(ended.reason, FinishReason::Error, "{ended:?}");
    assert_eq!(named.play.ended(u64::from(u32::from('b'))).output_tokens, 8);
    let tokens = named.play.engine.sglang().unwrap().tokens();
    assert_eq!((tokens.used(), tokens.protected), (0, 0));
}
