//! Limits at the door, rules of admission, and what versions resolve them to.

use crate::play::{Play, prompt, small};
use firstcheck_model::hardware::Gpu;
use firstcheck_sim::{EngineConfig, Features, NewRequest, Refusal};

#[test]
fn one_request_too_many_is_refused_with_503_and_counted() {
    let mut play = Play::new(EngineConfig { max_num_queued_reqs: Some(2), ..small() });
    play.submit(1, prompt(1, 8), 3);
    play.submit(2, prompt(2, 8), 3);
    let refused = play.engine.submit(0, NewRequest::forced(3, prompt(3, 8), 3)).unwrap_err();
    assert_eq!((&refused, refused.status()), (&Refusal::Overloaded { limit: "max_num_queued_reqs", most: 2 }, 503));
    assert_eq!(play.engine.stats().rejected_requests, 1);
    play.run();
    play.submit(4, prompt(4, 8), 3);
}

#[test]
fn prompt_tokens_count_until_the_first_token_whatever_of_them_is_computed() {
    let mut play = Play::new(EngineConfig { max_num_queued_tokens: Some(100), ..small() });
    play.submit(1, prompt(1, 100), 3);
    play.step();
    let new = |tag| NewRequest::forced(tag, prompt(9, 8), 1);
    assert!(matches!(play.engine.submit(play.now, new(2)), Err(Refusal::Overloaded { .. })), "64 of 100 are computed");
    play.step();
    assert!(play.engine.submit(play.now, new(3)).is_ok(), "its first token is there");
    assert_eq!(play.engine.stats().rejected_tokens, 1);
}

#[test]
fn prompts_wait_for_their_step_while_others_decode() {
    let mut play = Play::new(EngineConfig { prefill_schedule_interval: 4, ..small() });
    play.submit(1, prompt(1, 8), 20);
    play.step();
    play.submit(2, prompt(2, 100), 1);
    let mut tokens = Vec::new();
    for _ in 0..9 {
        play.step();
        tokens.push(play.engine.batch().map(|(_, tokens)| tokens).sum::<u32>());
    }
    assert_eq!(tokens, [1, 1, 1, 64, 1, 1, 1, 38, 1], "chunks in steps 4 and 8 only");
}

#[test]
fn an_adaptive_limit_is_never_below_a_fair_share() {
    let first = |adaptive| {
        let config = EngineConfig {
            long_prefill_token_threshold: 8,
            long_prefill_token_threshold_adaptive: adaptive,
            ..small()
        };
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 60), 1);
        play.submit(2, prompt(2, 60), 1);
        play.step();
        play.engine.batch().map(|(_, tokens)| tokens).collect::<Vec<_>>()
    };
    assert_eq!((first(false), first(true)), (vec![8, 8], vec![32, 32]));
}

#[test]
fn older_versions_queue_freed_blocks_without_content_at_the_end() {
    let next = |unhashed_blocks_first| {
        let mut play = Play::new(EngineConfig { unhashed_blocks_first, ..small() });
        play.submit(1, prompt(1, 6), 1);
        play.run();
        play.engine.kv().unwrap().pool().free_queue().next().unwrap()
    };
    assert_eq!((next(true), next(false)), (2, 3), "block 2 was half full");
}

#[test]
fn salts_keep_prefixes_apart() {
    let mut play = Play::new(small());
    let mut cached = |tag, cache_salt| {
        let features = Features { cache_salt, ..Features::default() };
        let request = NewRequest { features, ..NewRequest::forced(tag, prompt(1, 20), 1) };
        play.engine.submit(play.now, request).unwrap();
        play.run();
        play.ended(tag).life.cached_tokens
    };
    assert_eq!([cached(1, 7), cached(2, 8), cached(3, 7), cached(4, 0)], [0, 0, 16, 0]);
}

#[test]
fn versions_and_gpus_resolve_as_the_real_ones_do() {
    let of = |version, gpu: &Gpu| {
        let config = EngineConfig::resolved(version, gpu).unwrap();
        let limits = (config.max_num_batched_tokens, config.max_num_seqs);
        (limits, config.gpu_memory_utilization, config.async_scheduling, config.scheduler_reserve_full_isl)
    };
    assert_eq!(of("0.32.0", &Gpu::H100_SXM), ((8192, 1024), 0.92, true, true));
    assert_eq!(of("0.16.0", &Gpu::H100_SXM), ((8192, 1024), 0.9, true, false));
    assert_eq!(of("0.32.0", &Gpu::A100_SXM), ((2048, 256), 0.92, true, true));
    assert_eq!(of("0.12.0", &Gpu::A100_SXM), ((2048, 256), 0.9, false, false));
    let error = EngineConfig::resolved("main", &Gpu::H100_SXM).unwrap_err().to_string();
    assert!(error.contains("version"), "{error}");
}
