//! What holds in every step, whatever is asked.

use crate::play::small;
use firstcheck_sim::{Engine, EngineConfig, Features, NewRequest, Policy, RequestId, Speculation};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

/// One thing a client does before a step.
#[derive(Debug, Clone)]
enum Act {
    Submit { group: u32, shared: u32, own: u32, output: u32, priority: i32 },
    Abort { which: usize },
    Wait,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let submit = (0..3_u32, 0..60_u32, 1..40_u32, 1..24_u32, 0..4_i32)
        .prop_map(|(group, shared, own, output, priority)| Act::Submit { group, shared, own, output, priority });
    let act = prop_oneof![5 => submit, 1 => (0..16_usize).prop_map(|which| Act::Abort { which }), 3 => Just(Act::Wait)];
    prop::collection::vec(act, 1..60)
}

fn configs() -> impl Strategy<Value = EngineConfig> {
    (
        (32..64_u32, 1..10_u32, 8..200_u32),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        (prop_oneof![Just(0_u32), 4..64_u32], any::<bool>()),
        prop_oneof![Just(0.0), 0.0..0.3],
        prop_oneof![3 => Just(1_u32), 1 => 2..5_u32],
        (any::<bool>(), prop_oneof![Just(None), (1..4_u32, 0.0..1.0).prop_map(Some)]),
    )
        .prop_map(|(sizes, switches, (threshold, adaptive), watermark, interval, (ahead, drafts))| {
            let (blocks, max_num_seqs, budget) = sizes;
            let (caching, chunked, reserve, ranked) = switches;
            let speculation = |(tokens, chance)| Speculation { tokens, acceptance: vec![chance], ..Default::default() };
            EngineConfig {
                // Drafts look ahead beyond the longest sequence's last block.
                num_gpu_blocks: blocks + 1,
                max_num_seqs,
                max_num_batched_tokens: if chunked { budget } else { budget.max(128) },
                enable_prefix_caching: caching,
                enable_chunked_prefill: chunked,
                scheduler_reserve_full_isl: reserve,
                long_prefill_token_threshold: threshold,
                long_prefill_token_threshold_adaptive: adaptive,
                prefill_schedule_interval: interval,
                watermark,
                policy: if ranked { Policy::Priority } else { Policy::Fcfs },
                async_scheduling: ahead,
                speculation: drafts.map(speculation),
                ..small()
            }
        })
}

fn build(tag: u64, act: &Act) -> Option<NewRequest> {
    let Act::Submit { group, shared, own, output, priority } = act else { return None };
    let shared = (0..*shared).map(|position| 1_000_000 + group * 1000 + position);
    let own = (0..*own).map(|position| 5_000_000 + tag as u32 * 1000 + position);
    let features = Features { priority: *priority, ..Features::default() };
    Some(NewRequest { features, ..NewRequest::forced(tag, shared.chain(own).collect::<Vec<_>>(), *output) })
}

struct Watched {
    engine: Engine,
    now: i64,
    tokens: HashMap<u64, u32>,
    ended: HashSet<u64>,
    /// Priority and arrival of every request.
    order: HashMap<RequestId, (i32, i64)>,
    /// Whether the step in hand may have been decided before the last one ended.
    ahead: bool,
}

impl Watched {
    /// One step, with all that must hold of it. False: nothing to do.
    fn step(&mut self) -> Result<bool, TestCaseError> {
        let config = self.engine.config().clone();
        let before: Vec<RequestId> = self.engine.running().collect();
        let was_preempted = preempted(&self.engine);
        let preemptions: Vec<u32> = before.iter().map(|id| self.preemptions(*id)).collect();
        let Some(end) = self.engine.begin_step(self.now) else { return Ok(false) };
        prop_assert!(end > self.now);
        let after: Vec<RequestId> = self.engine.running().collect();
        let batch: Vec<(RequestId, u32)> = self.engine.batch().collect();
        let budget = config.max_num_batched_tokens;
        prop_assert!(batch.iter().map(|(_, tokens)| tokens).sum::<u32>() <= budget);
        prop_assert!(batch.iter().all(|(_, tokens)| *tokens > 0));
        prop_assert_eq!(batch.iter().map(|(id, _)| id).collect::<HashSet<_>>().len(), batch.len(), "nobody twice");
        prop_assert!(after.len() <= config.max_num_seqs as usize);
        // Where even the first to be computed had to go, the next step was decided at once. That is the first of all, or,
        // in a step that puts prompts off, the first that decodes.
        let mut thrown_out = before.iter().zip(&preemptions).map(|(id, times)| self.preemptions(*id) > *times);
        let twice =
            thrown_out.next().unwrap_or(false) || config.prefill_schedule_interval > 1 && thrown_out.any(|it| it);
        let ahead = std::mem::replace(&mut self.ahead, config.async_scheduling);
        if !ahead && !config.async_scheduling && !twice {
            self.moves(&before, &after, config.policy)?;
            prop_assert!(batch.iter().all(|(id, _)| after.contains(id)), "only the running compute");
        }
        if config.policy == Policy::Fcfs
            && ahead == config.async_scheduling
            && !twice
            && preempted(&self.engine) > was_preempted
        {
            prop_assert!(self.engine.waiting().next().is_some_and(|id| self.preemptions(id) > 0), "back at the head");
        }
        self.blocks()?;
        self.now = end;
        for output in self.engine.finish_step(end).outputs.to_vec() {
            let next = self.tokens.entry(output.tag).or_default();
            prop_assert_eq!(output.position, *next);
            prop_assert!(output.ends_event || output.finish.is_none(), "an answer ends with an event");
            *next += 1;
            if output.finish.is_some() {
                self.ended.insert(output.tag);
            }
        }
        self.blocks()?;
        Ok(true)
    }

    fn preemptions(&self, id: RequestId) -> u32 {
        self.engine.life_of(id).map_or(0, |life| life.preemptions)
    }

    /// Who left the running batch in a step and who came: order of running = order of last admission.
    fn moves(&self, before: &[RequestId], after: &[RequestId], policy: Policy) -> Result<(), TestCaseError> {
        let victims: Vec<RequestId> = before.iter().filter(|id| !after.contains(id)).copied().collect();
        let stayed: Vec<RequestId> = before.iter().filter(|id| after.contains(id)).copied().collect();
        prop_assert_eq!(&after[..stayed.len()], &stayed[..], "newcomers join at the tail");
        prop_assert!(victims.is_empty() || after.len() == stayed.len(), "an admission in a step with a preemption");
        match policy {
            Policy::Fcfs => {
                prop_assert_eq!(&before[stayed.len()..], &victims[..], "victims leave at the tail");
                let head: Vec<RequestId> = self.engine.waiting().take(victims.len()).collect();
                prop_assert_eq!(head, victims, "and return, in order, to the head of the queue");
            }
            Policy::Priority => {
                let last = stayed.iter().map(|id| self.order[id]).max();
                prop_assert!(victims.iter().all(|id| last.is_none_or(|last| self.order[id] >= last)));
                let queue: Vec<(i32, i64)> = self.engine.waiting().map(|id| self.order[&id]).collect();
                prop_assert!(queue.is_sorted(), "the queue is in order");
            }
        }
        Ok(())
    }

    /// What holds of the blocks at any time.
    fn blocks(&self) -> Result<(), TestCaseError> {
        let (pool, index) = (self.engine.kv().unwrap().pool(), self.engine.kv().unwrap().index());
        let free: HashSet<u32> = pool.free_queue().collect();
        prop_assert_eq!(free.len(), pool.free() as usize, "no block twice in the free queue");
        let mut held: HashMap<u32, u32> = HashMap::new();
        for id in self.engine.running().chain(self.engine.waiting()) {
            for block in self.engine.blocks_of(id).unwrap_or(&[]) {
                *held.entry(*block).or_default() += 1;
            }
        }
        for block in 1..=pool.usable() {
            let refs = pool.refs(block);
            prop_assert_eq!(refs, held.get(&block).copied().unwrap_or(0), "references of block {}", block);
            prop_assert_eq!(refs > 0, !free.contains(&block), "referenced or free, never both");
        }
        prop_assert!(!free.contains(&0) && !held.contains_key(&0), "the null block is nobody's");
        let mut indexed = 0;
        for (hash, blocks) in index.entries() {
            prop_assert!(!blocks.is_empty());
            prop_assert_eq!(index.get(hash), blocks.first().copied());
            for block in blocks {
                prop_assert_eq!(pool.hash(*block), Some(hash));
                indexed += 1;
            }
        }
        let hashed = (1..=pool.usable()).filter(|block| pool.hash(*block).is_some()).count();
        prop_assert_eq!(indexed, hashed, "every hashed block is found, and no other");
        prop_assert_eq!(index.len(), index.entries().count());
        Ok(())
    }
}

fn preempted(engine: &Engine) -> u32 {
    engine.waiting().map(|id| engine.life_of(id).map_or(0, |life| life.preemptions)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn every_step_keeps_the_books(config in configs(), acts in acts()) {
        let engine = Engine::new(config.clone(), 1).unwrap();
        let (tokens, ended, order) = (HashMap::new(), HashSet::new(), HashMap::new());
        let mut watched = Watched { engine, now: 0, tokens, ended, order, ahead: false };
        let mut live: Vec<(u64, RequestId, u32)> = Vec::new();
        let mut aborted = HashSet::new();
        for (tag, act) in (0_u64..).zip(&acts) {
            match act {
                Act::Submit { output, priority, .. } => {
                    if let Some(request) = build(tag, act) {
                        let id = watched.engine.submit(watched.now, request).unwrap();
                        watched.order.insert(id, (*priority, watched.now));
                        live.push((tag, id, *output));
                    }
                }
                Act::Abort { which } if !live.is_empty() => {
                    let (tag, id, _) = live[which % live.len()];
                    if watched.engine.abort(id) {
                        aborted.insert(tag);
                    }
                }
                Act::Abort { .. } => {}
                Act::Wait => { watched.step()?; }
            }
        }
        let mut steps = 0;
        while watched.step()? {
            steps += 1;
            prop_assert!(steps < 20_000, "every request ends");
        }
        prop_assert!(watched.engine.is_idle());
        for (tag, _, output) in live {
            if !aborted.contains(&tag) {
                prop_assert!(watched.ended.contains(&tag));
                prop_assert_eq!(watched.tokens.get(&tag), Some(&output));
            }
        }
        prop_assert_eq!(watched.engine.kv().unwrap().pool().free(), watched.engine.kv().unwrap().pool().usable());
    }

    #[test]
    fn parameters_that_change_while_requests_run_lose_no_token_and_no_block(
        config in configs(),
        others in prop::collection::vec(configs(), 1..4),
        acts in acts(),
    ) {
        // Capacity, and which parts there are, stay as they are; so do the bounds that a step is held to.
        let change = |other: EngineConfig| EngineConfig {
            num_gpu_blocks: config.num_gpu_blocks,
            enable_prefix_caching: config.enable_prefix_caching,
            enable_chunked_prefill: config.enable_chunked_prefill,
            max_num_batched_tokens: config.max_num_batched_tokens,
            max_num_seqs: config.max_num_seqs,
            speculation: config.speculation.as_ref().map(|own| other.speculation.unwrap_or_else(|| own.clone())),
            ..other
        };
        let others: Vec<EngineConfig> = others.into_iter().map(change).collect();
        let engine = Engine::new(config.clone(), 1).unwrap();
        let (tokens, ended, order) = (HashMap::new(), HashSet::new(), HashMap::new());
        let mut watched = Watched { engine, now: 0, tokens, ended, order, ahead: false };
        let mut live: Vec<(u64, u32)> = Vec::new();
        for (tag, act) in (0_u64..).zip(&acts) {
            if let (Some(request), Act::Submit { output, priority, .. }) = (build(tag, act), act) {
                let id = watched.engine.submit(watched.now, request).unwrap();
                watched.order.insert(id, (*priority, watched.now));
                live.push((tag, *output));
            } else {
                let next = &others[tag as usize % others.len()];
                watched.engine.reconfigure(watched.now, next).unwrap();
                watched.step()?;
            }
        }
        while watched.step()? {}
        prop_assert!(watched.engine.is_idle());
        for (tag, output) in live {
            prop_assert_eq!(watched.tokens.get(&tag), Some(&output));
        }
        prop_assert_eq!(watched.engine.kv().unwrap().pool().free(), watched.engine.kv().unwrap().pool().usable());
    }

    #[test]
    fn a_hit_is_whole_blocks_and_leaves_a_token_to_compute(
        lengths in prop::collection::vec((0..3_u32, 0..60_u32, 1..40_u32), 1..20),
    ) {
        let mut engine = Engine::new(small(), 1).unwrap();
        let mut now = 0;
        for (tag, (group, shared, own)) in (0_u64..).zip(lengths) {
            let request = build(tag, &Act::Submit { group, shared, own, output: 1, priority: 0 });
            engine.submit(now, request.unwrap()).unwrap();
            while let Some(end) = engine.begin_step(now) {
                now = end;
                for ended in engine.finish_step(end).finished {
                    prop_assert!(ended.life.cached_tokens < ended.prompt_tokens);
                    prop_assert_eq!(ended.life.cached_tokens % 4, 0);
                    prop_assert!(ended.life.cached_tokens <= shared, "nothing is shared but the group's prefix");
                }
            }
        }
    }
}
