//! Budget, chunks, seats and the order of admission.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{EngineConfig, NewRequest};

#[test]
fn a_lone_request_takes_one_step_a_token() {
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 20), 3);
    play.run();
    let life = play.ended(1).life;
    // 10 ms + 20 tokens, then twice 10 ms + 1 token.
    assert_eq!(life.first_token_ns, Some(30_000_000));
    assert_eq!(life.last_token_ns, Some(52_000_000));
    assert_eq!(play.engine.kv().unwrap().pool().free(), 64);
}

#[test]
fn a_long_prompt_is_computed_in_chunks_beside_decodes() {
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 8), 20);
    play.step();
    play.submit(2, prompt(2, 100), 2);
    play.step();
    let batch: Vec<u32> = play.engine.batch().map(|(_, tokens)| tokens).collect();
    assert_eq!(batch, [1, 63], "the decode first, the prompt with what is left of 64");
    assert_eq!(play.outputs.len(), 2, "a chunk that does not complete its prompt samples nothing");
    play.step();
    let batch: Vec<u32> = play.engine.batch().map(|(_, tokens)| tokens).collect();
    assert_eq!(batch, [1, 37]);
    assert_eq!(play.outputs.len(), 4);
}

#[test]
fn without_chunks_a_prompt_waits_for_a_step_that_takes_it_whole() {
    let config = EngineConfig { enable_chunked_prefill: false, max_num_batched_tokens: 128, ..small() };
    let mut play = Play::new(config);
    play.submit(1, prompt(1, 80), 2);
    play.submit(2, prompt(2, 60), 2);
    play.submit(3, prompt(3, 4), 2);
    play.step();
    assert_eq!(play.engine.batch().len(), 1, "60 do not fit in 48, and nobody overtakes");
    play.step();
    assert_eq!(play.engine.batch().len(), 3);
}

#[test]
fn the_long_prefill_limit_holds_only_in_company() {
    let config = EngineConfig { long_prefill_token_threshold: 16, ..small() };
    let mut alone = Play::new(config.clone());
    alone.submit(1, prompt(1, 60), 1);
    alone.step();
    assert_eq!(alone.engine.batch().map(|(_, tokens)| tokens).collect::<Vec<_>>(), [60]);
    let mut company = Play::new(config);
    company.submit(1, prompt(1, 60), 1);
    company.submit(2, prompt(2, 60), 1);
    company.step();
    assert_eq!(company.engine.batch().map(|(_, tokens)| tokens).collect::<Vec<_>>(), [16, 16]);
}

#[test]
fn seats_bound_the_batch_and_a_freed_seat_is_used_in_the_next_step() {
    let mut play = Play::new(EngineConfig { max_num_seqs: 2, ..small() });
    for tag in 0..3 {
        play.submit(tag, prompt(tag as u32, 4), 2);
    }
    play.step();
    assert_eq!((play.engine.running().len(), play.engine.waiting().len()), (2, 1));
    play.step();
    assert_eq!(play.engine.running().len(), 0, "both ended; the third is admitted by the next schedule");
    play.run();
    assert_eq!(play.ended(2).life.scheduled_ns, play.ended(0).life.last_token_ns);
}

#[test]
fn a_head_that_does_not_fit_holds_up_everyone_behind_it() {
    let mut play = Play::new(EngineConfig { num_gpu_blocks: 33, ..small() });
    play.submit(1, prompt(1, 60), 20);
    play.step();
    play.submit(2, prompt(2, 100), 1);
    play.submit(3, prompt(3, 4), 1);
    play.step();
    assert_eq!(play.engine.running().len(), 1);
    assert_eq!(play.engine.waiting().len(), 2);
    play.run();
    assert_eq!(play.ended(2).life.scheduled_ns, play.ended(1).life.last_token_ns);
    assert_eq!(play.engine.stats().preemptions, 0, "admission never preempts");
}

#[test]
fn without_the_full_prompt_gate_a_first_chunk_is_enough_to_be_admitted() {
    let gate = |scheduler_reserve_full_isl| {
        let config =
            EngineConfig { num_gpu_blocks: 33, max_num_batched_tokens: 16, scheduler_reserve_full_isl, ..small() };
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 16), 60);
        play.step();
        play.submit(2, prompt(2, 120), 1);
        play.step();
        play.engine.running().len()
    };
    assert_eq!((gate(true), gate(false)), (1, 2));
}

#[test]
fn the_watermark_holds_only_while_others_run() {
    let config = EngineConfig { num_gpu_blocks: 65, watermark: 0.5, ..small() };
    let mut play = Play::new(config);
    play.submit(1, prompt(1, 124), 1);
    play.step();
    assert_eq!(play.engine.running().len(), 1, "alone it may use what it needs");
    play.submit(2, prompt(2, 8), 1);
    play.step();
    assert_eq!(play.engine.waiting().len(), 1, "33 blocks are free and 32 must stay: two are too many");
}

#[test]
fn a_request_taken_in_between_steps_waits_for_the_step_in_hand() {
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 20), 2);
    let end = play.engine.begin_step(0).unwrap();
    play.now = 5_000_000;
    play.submit(2, prompt(2, 4), 1);
    play.now = end;
    play.engine.finish_step(end);
    play.run();
    let life = play.ended(2).life;
    assert_eq!((life.arrival_ns, life.queued_ns, life.scheduled_ns), (5_000_000, end, Some(end)));
}

#[test]
fn the_answer_ends_by_itself_unless_told_otherwise() {
    let config = EngineConfig { mean_output_tokens: 5.0, ..small() };
    let lengths: Vec<u32> = (0..40)
        .map(|seed| {
            let mut play = Play::new(config.clone());
            let request = NewRequest { min_tokens: 3, ignore_eos: false, ..NewRequest::forced(0, prompt(seed, 8), 50) };
            play.engine.submit(0, request).unwrap();
            play.run();
            play.ended(0).output_tokens
        })
        .collect();
    assert!(lengths.iter().all(|length| *length >= 3), "{lengths:?}");
    let distinct: std::collections::BTreeSet<_> = lengths.iter().collect();
    assert!(distinct.len() > 3, "{lengths:?}");
}

#[test]
fn an_aborted_request_frees_its_blocks_also_in_the_middle_of_a_step() {
    let mut play = Play::new(small());
    let running = play.submit(1, prompt(1, 40), 50);
    let end = play.engine.begin_step(0).unwrap();
    let incoming = play.submit(2, prompt(2, 4), 1);
    assert!(play.engine.abort(running));
    assert!(play.engine.abort(incoming));
    assert_eq!(play.engine.kv().unwrap().pool().free(), 54, "the step in hand still writes to its blocks");
    let outputs = play.engine.finish_step(end).outputs.len();
    assert_eq!(outputs, 0);
    assert_eq!(play.engine.kv().unwrap().pool().free(), 64);
    assert!(play.engine.is_idle());
    assert!(!play.engine.abort(running), "it is gone");
}
