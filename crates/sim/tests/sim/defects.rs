//! What bugs of an engine do.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{ConfigError, Defects, EngineConfig, FinishReason, NewRequest, Refusal};

fn buggy(change: impl FnOnce(&mut Defects)) -> EngineConfig {
    let mut config = small();
    change(&mut config.defects);
    config
}

#[test]
fn leaked_blocks_stay_used_when_nothing_runs() {
    let mut play = Play::new(buggy(|defects| defects.leaked_blocks = 1.5));
    for tag in 0..20 {
        play.submit(tag, prompt(tag as u32, 20), 2);
        play.run();
    }
    let kv = play.engine.kv().unwrap();
    assert!((22..=38).contains(&kv.leaked()), "{}", kv.leaked());
    assert_eq!(kv.pool().free() + kv.leaked(), kv.pool().usable());
    assert!(play.engine.stats().gauges.kv_usage > 0.3, "usage without requests");
}

#[test]
fn a_frozen_index_finds_what_it_had_and_nothing_new() {
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 20), 1);
    play.run();
    play.engine.reconfigure(play.now, &buggy(|defects| defects.frozen_prefix_index = true)).unwrap();
    for (tag, seed) in [(2, 1), (3, 2), (4, 2)] {
        play.submit(tag, prompt(seed, 20), 1);
        play.run();
    }
    let cached = [2, 3, 4].map(|tag| play.ended(tag).life.cached_tokens);
    assert_eq!(cached, [16, 0, 0]);
}

#[test]
fn failed_lookups_and_an_emptied_index_miss_what_is_there() {
    let mut play = Play::new(small());
    let mut cached = |config: &EngineConfig| {
        play.engine.reconfigure(play.now, config).unwrap();
        let tag = play.finished.len() as u64;
        play.submit(tag, prompt(1, 20), 1);
        play.run();
        play.ended(tag).life.cached_tokens
    };
    assert_eq!(cached(&small()), 0);
    assert_eq!(cached(&small()), 16);
    assert_eq!(cached(&buggy(|defects| defects.failed_lookups = 1.0)), 0);
    assert_eq!(cached(&small()), 16);
    assert_eq!(cached(&buggy(|defects| defects.cache_epoch = 1)), 0, "emptied once");
    assert_eq!(cached(&buggy(|defects| defects.cache_epoch = 1)), 16);
}

#[test]
fn a_stuck_head_blocks_the_queue_while_the_batch_drains() {
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 8), 5);
    play.step();
    play.engine.reconfigure(play.now, &buggy(|defects| defects.stuck_head = true)).unwrap();
    play.submit(2, prompt(2, 8), 1);
    play.submit(3, prompt(3, 8), 1);
    play.run();
    assert_eq!((play.finished.len(), play.engine.waiting().len()), (1, 2));
    assert!(!play.engine.is_idle());
    play.engine.reconfigure(play.now, &small()).unwrap();
    play.run();
    assert_eq!(play.finished.len(), 3);
}

#[test]
fn preemptions_that_nothing_calls_for_come_in_bursts() {
    let config = buggy(|defects| (defects.preempt_every_steps, defects.preempt_requests) = (10, 2));
    let mut play = Play::new(config);
    for tag in 1..=4 {
        play.submit(tag, prompt(tag as u32, 8), 30);
    }
    play.run();
    let preempted = [1, 2, 3, 4].map(|tag| play.ended(tag).life.preemptions);
    assert!(preempted[2] >= 2 && preempted[3] >= 2 && preempted[0] == 0, "{preempted:?}");
    assert!(play.engine.stats().peak_kv_usage < 0.8, "blocks were free all along");
}

#[test]
fn a_dead_core_fails_everybody_and_starts_anew_with_nothing() {
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 20), 50);
    play.submit(2, prompt(2, 20), 50);
    play.step();
    play.engine.begin_step(play.now).unwrap();
    let dead = buggy(|defects| defects.dead = true);
    play.engine.reconfigure(play.now, &dead).unwrap();
    play.now += 15_000_000;
    let failed = play.engine.finish_step(play.now).finished.to_vec();
    assert_eq!(failed.iter().map(|ended| ended.reason).collect::<Vec<_>>(), [FinishReason::Error; 2]);
    assert!(play.engine.is_idle() && !play.step());
    assert_eq!(play.engine.submit(play.now, NewRequest::forced(3, vec![1], 1)), Err(Refusal::Dead));
    play.engine.reconfigure(play.now, &small()).unwrap();
    play.submit(4, prompt(1, 20), 1);
    play.run();
    assert_eq!(play.ended(4).life.cached_tokens, 0);
    assert_eq!(play.engine.stats().prompt_tokens, 20, "counters began at zero");
}

#[test]
fn a_core_that_is_back_before_its_step_ends_still_fails_whom_it_held() {
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 20), 50);
    play.step();
    let end = play.engine.begin_step(play.now).unwrap();
    play.engine.reconfigure(play.now, &buggy(|defects| defects.dead = true)).unwrap();
    play.engine.reconfigure(play.now, &small()).unwrap();
    play.now = end;
    let failed = play.engine.finish_step(end).finished.to_vec();
    assert_eq!(failed.iter().map(|ended| (ended.tag, ended.reason)).collect::<Vec<_>>(), [(1, FinishReason::Error)]);
    assert_eq!((play.engine.death(), play.engine.stats().steps), (None, 0), "it has started anew");
    play.submit(2, prompt(1, 20), 1);
    play.run();
    assert_eq!(play.ended(2).life.cached_tokens, 0);
}

#[test]
fn an_idle_engine_that_dies_tells_nobody_but_refuses() {
    let mut play = Play::new(small());
    play.engine.reconfigure(0, &buggy(|defects| defects.dead = true)).unwrap();
    assert!(!play.step() && play.engine.next_ready_ns().is_none());
    assert_eq!(play.engine.submit(0, NewRequest::forced(1, vec![1], 1)), Err(Refusal::Dead));
}

#[test]
fn capacity_and_name_are_fixed_while_an_engine_runs() {
    let mut play = Play::new(small());
    for (config, name) in [
        (EngineConfig { num_gpu_blocks: 80, ..small() }, "num_gpu_blocks"),
        (EngineConfig { version: "0.33.0".into(), ..small() }, "version"),
        (EngineConfig { encoder: Some(firstcheck_sim::Encoder::default()), ..small() }, "encoder"),
    ] {
        let refused = play.engine.reconfigure(0, &config).unwrap_err();
        assert!(matches!(&refused, ConfigError::Fixed { name: fixed, .. } if *fixed == name), "{refused}");
    }
    assert_eq!(play.engine.config(), &small());
}
