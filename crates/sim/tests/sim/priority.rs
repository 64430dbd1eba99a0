//! The priority policy.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{EngineConfig, Features, NewRequest, Policy, RequestId};

fn ranked(blocks: u32, seats: u32) -> EngineConfig {
    let policy = Policy::Priority;
    EngineConfig { policy, num_gpu_blocks: blocks, max_num_seqs: seats, max_num_batched_tokens: 128, ..small() }
}

fn submit(play: &mut Play, tag: u64, priority: i32, tokens: u32, output: u32) -> RequestId {
    let features = Features { priority, ..Features::default() };
    let request = NewRequest { features, ..NewRequest::forced(tag, prompt(tag as u32, tokens), output) };
    play.engine.submit(play.now, request).unwrap()
}

#[test]
fn the_smallest_number_is_admitted_first_and_equals_by_arrival() {
    let mut play = Play::new(ranked(65, 1));
    for (tag, priority) in [(1, 5), (2, 1), (3, 5), (4, 0)] {
        submit(&mut play, tag, priority, 8, 1);
        play.now += 1;
    }
    play.run();
    let order: Vec<u64> = play.finished.iter().map(|finished| finished.tag).collect();
    assert_eq!(order, [4, 2, 1, 3]);
}

#[test]
fn the_victim_is_the_last_in_the_order_wherever_it_stands_and_returns_to_its_place() {
    // 32 usable blocks of 4 tokens, all but two taken at the start.
    let mut play = Play::new(ranked(33, 8));
    let low = submit(&mut play, 1, 9, 40, 30);
    play.step();
    submit(&mut play, 2, 0, 40, 30);
    submit(&mut play, 3, 0, 40, 30);
    while play.engine.stats().preemptions == 0 {
        assert!(play.step());
    }
    assert_eq!(play.engine.waiting().collect::<Vec<_>>(), [low], "the first admitted, but last in the order");
    play.run();
    assert_eq!(play.finished.iter().map(|finished| finished.tag).max(), Some(3), "all end");
    assert_eq!(play.ended(1).output_tokens, 30);
}

#[test]
fn what_a_victim_had_of_the_step_goes_back_to_the_budget() {
    let mut play = Play::new(ranked(33, 8));
    submit(&mut play, 1, 9, 40, 30);
    play.step();
    submit(&mut play, 2, 0, 40, 30);
    submit(&mut play, 3, 0, 40, 30);
    while play.engine.stats().preemptions == 0 {
        assert!(play.step());
        let tags = play.engine.batch().map(|(id, _)| id).collect::<std::collections::HashSet<_>>();
        assert_eq!(tags.len(), play.engine.batch().len(), "nobody twice in a batch");
    }
    let rows: Vec<RequestId> = play.engine.batch().map(|(id, _)| id).collect();
    let waiting: Vec<RequestId> = play.engine.waiting().collect();
    assert!(rows.iter().all(|id| !waiting.contains(id)), "the victim computes nothing in the step that threw it out");
}
