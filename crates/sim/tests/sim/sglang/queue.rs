//! In which order waiting requests are tried.

use super::{Named, rules};
use crate::play::prompt;
use firstcheck_sim::{SchedulePolicy, Sglang};

/// Two prompts after one another.
pub fn joined(first: Vec<u32>, second: Vec<u32>) -> Vec<u32> {
    [first, second].concat()
}

/// An engine with a prefix of 40 tokens in its cache, and three requests behind it: x shares none of it, y 30 tokens, z
/// all of it.
fn three_behind_a_prefix(rules: Sglang) -> Named {
    let mut named = Named::new(rules);
    named.submit('w', prompt(1, 40), 1);
    named.run();
    named.submit('x', prompt(2, 20), 1);
    named.submit('y', joined(prompt(1, 30), prompt(3, 10)), 1);
    named.submit('z', joined(prompt(1, 40), prompt(4, 10)), 1);
    named
}

#[test]
fn the_longest_cached_prefix_goes_first() {
    let lpm = Sglang { schedule_policy: SchedulePolicy::Lpm, ..rules() };
    assert_eq!(three_behind_a_prefix(lpm).run(), ["z:10 y:10 x:20"]);
    assert_eq!(three_behind_a_prefix(rules()).run(), ["x:20 y:10 z:10"], "first come, first served by default");
}

#[test]
fn a_queue_above_the_threshold_is_left_as_it_is() {
    let lpm =
        |cache_aware_waiting_max| Sglang { schedule_policy: SchedulePolicy::Lpm, cache_aware_waiting_max, ..rules() };
    assert_eq!(three_behind_a_prefix(lpm(3)).run(), ["z:10 y:10 x:20"], "at the threshold it is looked through");
    assert_eq!(three_behind_a_prefix(lpm(2)).run(), ["x:20 y:10 z:10"]);
}

#[test]
fn without_a_cache_policies_that_look_into_it_follow_the_queue() {
    let rules = Sglang { schedule_policy: SchedulePolicy::Lpm, disable_radix_cache: true, ..rules() };
    assert_eq!(three_behind_a_prefix(rules).run(), ["x:20 y:40 z:4", "z:46"]);
}

/// a, b and c share an uncached prefix of 40 tokens; d, behind them, shares nothing.
fn an_uncached_prefix(rules: Sglang) -> Vec<String> {
    let mut named = Named::new(rules);
    for (name, seed) in ['a', 'b', 'c'].into_iter().zip(2..) {
        named.submit(name, joined(prompt(1, 40), prompt(seed, 5)), 1);
    }
    named.submit('d', prompt(9, 20), 1);
    named.run()
}

#[test]
fn of_requests_with_one_uncached_prefix_the_first_goes_ahead() {
    let lpm = Sglang { schedule_policy: SchedulePolicy::Lpm, ..rules() };
    // 45 + 19 = 64: b and c come after d, and then find the prefix.
    assert_eq!(an_uncached_prefix(lpm.clone()), ["a:45 d:19", "d:1 b:5 c:5"]);
    let unchecked = Sglang { in_batch_check_threshold: None, ..lpm.clone() };
    assert_eq!(an_uncached_prefix(unchecked), ["a:45 b:19", "b:26 c:5 d:20"], "b computes the prefix again");
    let higher = Sglang { in_batch_deprioritize_threshold: 41, ..lpm };
    assert_eq!(an_uncached_prefix(higher), ["a:45 b:19", "b:26 c:5 d:20"], "40 tokens are too few to wait for");
}

#[test]
fn whole_subtrees_follow_one_another() {
    let mut named = Named::new(Sglang { schedule_policy: SchedulePolicy::DfsWeight, ..rules() });
    named.submit('v', prompt(1, 10), 1);
    named.submit('w', prompt(2, 10), 1);
    named.run();
    named.submit('a', joined(prompt(1, 10), prompt(3, 3)), 1);
    named.submit('b', joined(prompt(2, 10), prompt(4, 4)), 1);
    named.submit('c', prompt(5, 5), 1);
    named.submit('d', joined(prompt(2, 10), prompt(6, 6)), 1);
    // Two wait below the second prefix, one below the first, and one at the root, which comes last.
    assert_eq!(named.run(), ["b:4 d:6 a:3 c:5"]);
}

#[test]
fn the_shortest_rest_goes_first_and_leaves_nobody_behind_a_chunk() {
    let rules = Sglang { schedule_policy: SchedulePolicy::ShortestPrefillFirst, ..rules() };
    let mut named = Named::new(rules);
    named.submit('a', prompt(1, 120), 1);
    assert_eq!(named.step(), "a:64");
    named.submit('b', prompt(2, 30), 1);
    named.submit('c', prompt(3, 10), 1);
    // 56 of a are left; c and b, which are shorter, take their 40 of the chunk first.
    assert_eq!(named.run(), ["a:24 c:10 b:30", "a:32"]);
}

#[test]
fn the_longest_output_goes_first() {
    let mut named = Named::new(Sglang { schedule_policy: SchedulePolicy::Lof, ..rules() });
    named.submit('a', prompt(1, 4), 1);
    named.submit('b', prompt(2, 5), 2);
    named.submit('c', prompt(3, 6), 2);
    assert_eq!(named.step(), "b:5 c:6 a:4");
}

#[test]
fn who_has_waited_long_for_little_goes_first() {
    let mut named =
        Named::new(Sglang { schedule_policy: SchedulePolicy::Hrrn, prefill_max_requests: Some(1), ..rules() });
    named.submit('a', prompt(1, 60), 1);
    named.submit('b', prompt(2, 40), 1);
    assert_eq!(named.step(), "a:60");
    named.submit('c', prompt(3, 5), 1);
    // b has waited 60 tokens for its 40, c none for its 5; then 100 tokens for c alone.
    assert_eq!(named.run(), ["b:40", "c:5"]);
}

#[test]
fn a_random_order_is_drawn_from_the_seed() {
    let order = |rules: Sglang| {
        let mut named = Named::new(rules);
        for (name, seed) in ('a'..='h').zip(1..) {
            named.submit(name, prompt(seed, 4), 1);
        }
        named.step()
    };
    let random = Sglang { schedule_policy: SchedulePolicy::Random, ..rules() };
    assert_eq!(order(random.clone()), order(random.clone()));
    assert_ne!(order(random), order(rules()));
}
