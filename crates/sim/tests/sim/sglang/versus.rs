//! Where the two engines differ, side by side.

use super::{admission::tight, queue::joined, rules, small_sglang};
use crate::play::{Play, prompt, small};
use firstcheck_sim::{EngineConfig, EngineKind, Sglang};

/// A vLLM and an SGLang engine of about the same size, in this order.
fn both() -> [EngineConfig; 2] {
    [small(), small_sglang(rules())]
}

/// Both with a pool of 64 tokens and nothing set aside for running requests.
fn both_tight() -> [EngineConfig; 2] {
    let bold = Sglang { init_new_token_ratio: 0.0, retract_decode_steps: 0, ..rules() };
    [EngineConfig { num_gpu_blocks: 17, max_model_len: 60, ..small() }, tight(bold)]
}

fn tokens(play: &Play) -> Vec<u32> {
    play.engine.batch().map(|(_, tokens)| tokens).collect()
}

#[test]
fn a_step_is_mixed_or_one_of_a_kind() {
    let batches = both().map(|config| {
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 8), 5);
        play.step();
        play.submit(2, prompt(2, 20), 5);
        play.step();
        tokens(&play)
    });
    assert_eq!(batches, [vec![1, 20], vec![20]]);
}

#[test]
fn many_prompts_or_one_are_computed_in_chunks() {
    let [vllm, sglang] = both();
    // A limit on the tokens of one request lets vLLM compute several prompts in part at once.
    let vllm = EngineConfig { long_prefill_token_threshold: 16, ..vllm };
    let partial = [vllm, sglang].map(|config| {
        let mut play = Play::new(config);
        for tag in 1..=3 {
            play.submit(tag, prompt(tag as u32, 80), 1);
        }
        play.step();
        tokens(&play)
    });
    assert_eq!(partial, [vec![16, 16, 16], vec![64]]);
}

#[test]
fn output_is_set_aside_or_not() {
    let admitted = both_tight().map(|config| {
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 20), 40);
        play.submit(2, prompt(2, 20), 40);
        play.step();
        play.engine.running().len()
    });
    // The prompts fit together; their outputs do not.
    assert_eq!(admitted, [2, 1]);
}

/// Three requests of which one must go: the first has the longest prompt, all have the same output.
fn after_a_preemption(config: EngineConfig) -> Play {
    let mut play = Play::new(config);
    for (tag, len) in [(1, 16), (2, 8), (3, 8)] {
        play.submit(tag, prompt(tag as u32, len), 20);
        play.step();
    }
    play.submit(4, prompt(4, 40), 20);
    while play.engine.stats().preemptions == 0 {
        assert!(play.step());
    }
    play
}

#[test]
fn the_victim_is_the_last_admitted_or_the_one_with_the_least_output() {
    let victims = both_tight().map(|config| {
        let play = after_a_preemption(config);
        let tags: Vec<u32> = play.engine.waiting().map(|id| play.engine.life_of(id).unwrap().preemptions).collect();
        (tags, play)
    });
    let [(vllm, _), (sglang, _)] = &victims;
    assert_eq!(vllm, &[1, 0], "at the head of the queue");
    assert_eq!(sglang, &[0, 1], "at its end");
    let [vllm, sglang] = victims.map(|(_, mut play)| {
        play.run();
        (1..=3).filter(|tag| play.ended(*tag).life.preemptions > 0).collect::<Vec<u64>>()
    });
    assert!(vllm.contains(&3), "{vllm:?}: the last admitted");
    assert!(!sglang.contains(&2) && sglang.contains(&1), "{sglang:?}: of equal outputs the longest prompt");
}

#[test]
fn the_victim_s_answer_stays_cached_or_is_lost() {
    let recomputed = both_tight().map(|config| {
        let mut play = Play::new(config);
        // Both grow to 30 + 30 tokens and more; the younger one, with the longer prompt, goes.
        play.submit(1, prompt(1, 12), 40);
        play.step();
        play.submit(2, prompt(2, 16), 30);
        while play.engine.stats().preemptions == 0 {
            assert!(play.step());
        }
        // The other one leaves before anything is evicted.
        let first = play.engine.running().next().unwrap();
        play.engine.abort(first);
        play.run();
        let life = play.ended(2).life;
        assert_eq!(life.preemptions, 1);
        life.recomputed_tokens
    });
    let [vllm, sglang] = recomputed;
    // 34 tokens were computed: vLLM finds all whole blocks of 4 again, SGLang the prompt only.
    assert!(vllm < 4, "{vllm}");
    assert!(sglang > 10, "{sglang}");
}

#[test]
fn a_match_is_blocks_or_tokens() {
    let hits = both().map(|config| {
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 20), 1);
        play.run();
        play.submit(2, joined(prompt(1, 11), prompt(2, 9)), 1);
        play.run();
        play.ended(2).life.cached_tokens
    });
    assert_eq!(hits, [8, 11]);
}

#[test]
fn a_prompt_is_found_when_scheduled_or_when_computed() {
    let hits = both().map(|config| {
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 20), 1);
        play.submit(2, prompt(1, 20), 1);
        play.run();
        play.ended(2).life.cached_tokens
    });
    assert_eq!(hits, [16, 0]);
}

#[test]
fn a_full_hit_computes_a_block_or_a_token() {
    let computed = both().map(|config| {
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 20), 1);
        play.run();
        play.submit(2, prompt(1, 20), 1);
        play.step();
        tokens(&play)
    });
    assert_eq!(computed, [vec![4], vec![1]]);
}

#[test]
fn equal_content_is_kept_twice_or_once() {
    for config in both() {
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 16), 30);
        play.step();
        // Its last block, or token, is computed again.
        play.submit(2, prompt(1, 16), 30);
        play.step();
        match play.engine.config().engine {
            EngineKind::Vllm => {
                let kv = play.engine.kv().unwrap();
                assert_eq!(kv.index().entries().filter(|(_, blocks)| blocks.len() == 2).count(), 1);
            }
            EngineKind::Sglang => {
                let tokens = play.engine.sglang().unwrap().tokens();
                assert_eq!((tokens.protected, tokens.used()), (16, 16));
            }
        }
    }
}
