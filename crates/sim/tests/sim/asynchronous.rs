//! Steps decided before the results of the one in hand are back.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{EngineConfig, Host, NewRequest, Speculation};

fn ahead() -> EngineConfig {
    EngineConfig { async_scheduling: true, ..small() }
}

#[test]
fn a_request_of_known_length_costs_no_step_more() {
    let mut play = Play::new(ahead());
    play.submit(1, prompt(1, 20), 3);
    play.run();
    let life = play.ended(1).life;
    assert_eq!((life.first_token_ns, life.last_token_ns), (Some(30_000_000), Some(52_000_000)));
    assert_eq!(play.engine.stats().steps, 3, "its end was certain before the last step");
}

#[test]
fn an_end_that_nobody_could_know_is_noticed_one_step_late() {
    let steps = |config: EngineConfig| {
        let mut play = Play::new(EngineConfig { mean_output_tokens: 4.0, ..config });
        let request = NewRequest { ignore_eos: false, ..NewRequest::forced(1, prompt(3, 8), 100) };
        play.engine.submit(0, request).unwrap();
        play.run();
        assert_eq!(play.engine.kv().unwrap().pool().free(), 64);
        (play.ended(1).output_tokens, play.engine.stats().steps)
    };
    let ((tokens, sync), (same, late)) = (steps(small()), steps(ahead()));
    assert_eq!(tokens, same, "the answer is the same");
    assert_eq!((sync, late), (u64::from(tokens), u64::from(tokens) + 1));
}

#[test]
fn a_newcomer_waits_for_the_step_that_was_decided_already() {
    let scheduled = |config| {
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 8), 40);
        play.step();
        let end = play.engine.begin_step(play.now).unwrap();
        play.now = end - 1;
        play.submit(2, prompt(2, 8), 1);
        play.now = end;
        play.engine.finish_step(end);
        play.run();
        let life = play.ended(2).life;
        (life.first_token_ns.unwrap() - end) / 1_000_000
    };
    assert_eq!((scheduled(small()), scheduled(ahead())), (19, 30), "one decode step of 11 ms more");
}

#[test]
fn host_time_of_sequences_hides_behind_the_gpu_and_shows_when_it_is_longer() {
    let length = |config: EngineConfig, sequence_seconds| {
        let host = Host { sequence_seconds, ..Host::default() };
        let mut play = Play::new(EngineConfig { host, ..config });
        play.submit(1, prompt(1, 4), 3);
        play.run();
        let life = play.ended(1).life;
        (life.last_token_ns.unwrap() - life.first_token_ns.unwrap()) / 2_000_000
    };
    assert_eq!((length(small(), 0.004), length(ahead(), 0.004)), (15, 11));
    assert_eq!((length(small(), 0.020), length(ahead(), 0.020)), (31, 20));
}

#[test]
fn a_crowd_gets_all_its_tokens_in_order_through_preemptions() {
    let drafts = Speculation { tokens: 2, acceptance: vec![0.5], ..Speculation::default() };
    for speculation in [None, Some(drafts)] {
        let mut play =
            Play::new(EngineConfig { num_gpu_blocks: 33, max_num_batched_tokens: 128, speculation, ..ahead() });
        for tag in 1..=4 {
            play.submit(tag, prompt(tag as u32, 40), 30);
        }
        play.run();
        assert!(play.engine.stats().preemptions > 0);
        for tag in 1..=4 {
            let positions: Vec<u32> =
                play.outputs.iter().filter(|output| output.tag == tag).map(|output| output.position).collect();
            assert_eq!(positions, (0..30).collect::<Vec<_>>(), "request {tag}");
        }
        assert_eq!(play.engine.kv().unwrap().pool().free(), 32);
        assert!(play.engine.is_idle());
    }
}
