//! A step that is decided before the results of the one before it are in.

use super::{Named, rules, small_sglang};
use crate::play::{Play, prompt};
use firstcheck_sim::{EngineConfig, NewRequest, Sglang};

fn overlapped() -> Sglang {
    Sglang { disable_overlap_schedule: false, ..rules() }
}

#[test]
fn a_length_that_is_known_ends_on_time() {
    let mut named = Named::new(overlapped());
    named.submit('a', prompt(1, 10), 3);
    assert_eq!(named.run(), ["a:10", "2× a:1"]);
}

#[test]
fn an_end_that_is_not_known_is_noticed_one_step_late() {
    let mut named = Named::new(Sglang { overlap_skips_known_length: false, ..overlapped() });
    named.submit('a', prompt(1, 10), 3);
    assert_eq!(named.run(), ["a:10", "3× a:1"]);
    assert_eq!(named.play.outputs.len(), 3, "what is computed in vain gives nothing");
    let tokens = named.play.engine.sglang().unwrap().tokens();
    assert_eq!((tokens.used(), tokens.evictable), (0, 12));
}

#[test]
fn an_answer_that_ends_of_itself_is_computed_once_more() {
    let steps = |rules: Sglang| {
        let config = EngineConfig { mean_output_tokens: 5.0, ..small_sglang(rules) };
        let mut play = Play::new(config);
        let request = NewRequest { ignore_eos: false, max_tokens: Some(100), ..NewRequest::forced(0, prompt(3, 8), 1) };
        play.engine.submit(0, request).unwrap();
        play.run();
        (play.engine.stats().steps, play.ended(0).output_tokens)
    };
    let (plain, length) = steps(rules());
    assert_eq!(plain, u64::from(length));
    assert_eq!(steps(overlapped()), (plain + 1, length));
}

#[test]
fn a_prompt_waits_for_the_step_in_hand_and_the_one_behind_it() {
    for (rules, expected) in [(rules(), vec!["a:1", "b:10"]), (overlapped(), vec!["a:1", "a:1", "b:10"])] {
        let mut named = Named::new(rules);
        named.submit('a', prompt(1, 10), 20);
        named.steps(3);
        let end = named.play.engine.begin_step(named.play.now).unwrap();
        named.play.now += 1_000_000;
        named.submit('b', prompt(2, 10), 2);
        let mut batches = vec![named.batch()];
        named.play.now = end;
        named.play.engine.finish_step(end);
        batches.extend(named.steps(expected.len() - 1));
        assert_eq!(batches, expected);
    }
}

#[test]
fn chunks_follow_one_another_without_a_gap() {
    let mut named = Named::new(overlapped());
    named.submit('a', prompt(1, 100), 2);
    named.submit('b', prompt(2, 100), 2);
    assert_eq!(named.run(), ["a:64", "a:36 b:28", "b:64", "b:8", "a:1 b:1"]);
}

#[test]
fn a_client_that_leaves_frees_its_memory_when_its_step_ends() {
    let mut named = Named::new(overlapped());
    let id = named.submit('a', prompt(1, 10), 20);
    named.steps(3);
    let end = named.play.engine.begin_step(named.play.now).unwrap();
    assert!(named.play.engine.abort(id));
    assert_eq!(named.play.engine.finish_step(end).outputs.len(), 0);
    assert_eq!(named.play.engine.sglang().unwrap().tokens().used(), 0);
    assert!(!named.play.engine.abort(id), "it is gone");
    named.play.now = end;
    // Its row of the step that was decided already is computed in vain.
    assert!(named.play.step());
    assert!(!named.play.step());
    assert!(named.play.engine.is_idle());
}
