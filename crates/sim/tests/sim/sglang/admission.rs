//! What is set aside before a request is admitted.

use super::{Named, rules, small_sglang};
use crate::play::prompt;
use firstcheck_sim::{EngineConfig, Sglang};

/// A pool of 64 tokens in which one sequence has at most 60.
pub fn tight(rules: Sglang) -> EngineConfig {
    EngineConfig { max_model_len: 60, ..small_sglang(Sglang { max_total_num_tokens: 64, ..rules }) }
}

fn second_batch(init_new_token_ratio: f64, output: u32) -> String {
    let mut named = Named::with(tight(Sglang { init_new_token_ratio, ..rules() }));
    named.submit('a', prompt(1, 10), 20);
    named.step();
    named.submit('b', prompt(2, 20), output);
    named.step()
}

#[test]
fn running_requests_have_a_share_of_their_output_set_aside() {
    // 54 are available, and a has 19 to go: 0.7 × 19 = 13.3 leave 40.7, which 20 + 20 + 1 exceed.
    assert_eq!(second_batch(0.7, 20), "a:1");
    // 0.6 × 19 = 11.4 leave 42.6.
    assert_eq!(second_batch(0.6, 20), "b:20");
    // A candidate counts with its whole output.
    assert_eq!(second_batch(0.7, 19), "b:20");
}

#[test]
fn the_output_that_counts_is_clipped() {
    let mut named = Named::with(tight(Sglang { clip_max_new_tokens: 19, ..rules() }));
    named.submit('a', prompt(1, 10), 20);
    named.step();
    named.submit('b', prompt(2, 20), 20);
    assert_eq!(named.step(), "b:20");
}

#[test]
fn a_head_that_does_not_fit_holds_up_everyone_until_a_request_leaves() {
    let mut named = Named::with(tight(rules()));
    named.submit('a', prompt(1, 10), 4);
    named.submit('b', prompt(2, 30), 25);
    named.submit('c', prompt(3, 2), 1);
    // b needs 56 of the 49 that a leaves. c would fit, but nobody passes the head.
    assert_eq!(named.run(), ["a:10", "3× a:1", "b:30 c:2", "24× b:1"]);
}

#[test]
fn the_share_falls_with_each_decode_and_starts_again_at_rest() {
    let mut named = Named::new(rules());
    let ratio = |named: &Named| named.play.engine.sglang().unwrap().new_token_ratio();
    assert!((ratio(&named) - 0.7).abs() < 1e-12);
    named.submit('a', prompt(1, 10), 7);
    named.steps(7);
    // Six decodes, of 600 from 0.7 down to 0.098.
    assert!((ratio(&named) - (0.7 - 6.0 * 0.602 / 600.0)).abs() < 1e-12);
    assert_eq!(named.step(), "-");
    assert!((ratio(&named) - 0.7).abs() < 1e-12);
}

#[test]
fn the_share_stops_at_its_least() {
    let mut named = Named::new(Sglang { new_token_ratio_decay_steps: 4, ..rules() });
    named.submit('a', prompt(1, 10), 20);
    named.steps(15);
    let ratio = named.play.engine.sglang().unwrap().new_token_ratio();
    assert!((ratio - 0.7 * 0.14).abs() < 1e-12, "{ratio}");
}

#[test]
fn conservativeness_scales_the_share_up_to_the_whole() {
    let ratio = |schedule_conservativeness| {
        let named = Named::new(Sglang { schedule_conservativeness, ..rules() });
        named.play.engine.sglang().unwrap().new_token_ratio()
    };
    assert!((ratio(0.3) - 0.21).abs() < 1e-12);
    assert!((ratio(1.3) - 0.91).abs() < 1e-12);
    assert!((ratio(2.0) - 1.0).abs() < 1e-12);
}

#[test]
fn without_a_cache_forced_lengths_are_looked_ahead() {
    let admitted = |disable_radix_cache| {
        let rules = Sglang { disable_radix_cache, init_new_token_ratio: 1.0, ..rules() };
        let mut named = Named::with(tight(rules));
        named.submit('a', prompt(1, 20), 4);
        named.submit('b', prompt(2, 10), 30);
        named.step()
    };
    // 64 − 25 = 39 are left, which 10 + 30 + 1 exceed. But a ends after four tokens and its 20 are free then.
    assert_eq!(admitted(false), "a:20");
    assert_eq!(admitted(true), "a:20 b:10");
}
