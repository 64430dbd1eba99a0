//! What holds in every step, whatever is asked.

use super::small_sglang;
use firstcheck_sim::{Engine, EngineConfig, NewRequest, RequestId, SchedulePolicy, Sglang, radix_cache::Eviction};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

/// One thing a client does before a step.
#[derive(Debug, Clone)]
enum Act {
    Submit { group: u32, shared: u32, own: u32, output: u32, forced: bool },
    Abort { which: usize },
    AbortInStep { which: usize },
    Wait,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let submit = (0..3_u32, 0..60_u32, 1..40_u32, 1..28_u32, any::<bool>())
        .prop_map(|(group, shared, own, output, forced)| Act::Submit { group, shared, own, output, forced });
    let act = prop_oneof![
        5 => submit,
        1 => (0..16_usize).prop_map(|which| Act::Abort { which }),
        1 => (0..16_usize).prop_map(|which| Act::AbortInStep { which }),
        4 => Just(Act::Wait),
    ];
    prop::collection::vec(act, 1..60)
}

fn policies() -> impl Strategy<Value = SchedulePolicy> {
    prop::sample::select(vec![
        SchedulePolicy::Fcfs,
        SchedulePolicy::Lpm,
        SchedulePolicy::DfsWeight,
        SchedulePolicy::Hrrn,
        SchedulePolicy::ShortestPrefillFirst,
        SchedulePolicy::Lof,
        SchedulePolicy::Random,
    ])
}

fn configs() -> impl Strategy<Value = EngineConfig> {
    let evictions = vec![Eviction::Lru, Eviction::Lfu, Eviction::Fifo, Eviction::Mru, Eviction::Filo];
    (
        (prop::sample::select(vec![1_u32, 4, 16]), 170..400_u32, 1..10_u32, 0..5_u32),
        (policies(), prop::sample::select(evictions), 0..6_u32, 0.0..1.0_f64),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0..3_u32),
    )
        .prop_map(|((page, tokens, seats, chunk), (policy, eviction, threshold, ratio), switches)| {
            let (plain, skips, mixed, caching, interval) = switches;
            small_sglang(Sglang {
                page_size: page,
                max_total_num_tokens: tokens,
                max_running_requests: seats,
                chunked_prefill_size: (chunk > 0).then_some(chunk * 16),
                schedule_policy: if caching { policy } else { SchedulePolicy::Fcfs },
                radix_eviction_policy: eviction,
                cache_aware_waiting_max: threshold,
                in_batch_deprioritize_threshold: 8,
                fcfs_touch_interval: 2,
                init_new_token_ratio: ratio,
                clip_max_new_tokens: 20,
                disable_overlap_schedule: plain,
                overlap_skips_known_length: skips,
                enable_mixed_chunk: mixed,
                disable_radix_cache: !caching,
                prefill_decode_interval: interval,
                ..Sglang::default()
            })
        })
}

fn build(tag: u64, act: &Act) -> Option<NewRequest> {
    let Act::Submit { group, shared, own, output, forced } = act else { return None };
    let shared = (0..*shared).map(|position| 1_000_000 + group * 1000 + position);
    let own = (0..*own).map(|position| 5_000_000 + tag as u32 * 1000 + position);
    let request = NewRequest::forced(tag, shared.chain(own).collect::<Vec<_>>(), *output);
    Some(NewRequest { ignore_eos: *forced, ..request })
}

struct Watched {
    engine: Engine,
    now: i64,
    tokens: HashMap<u64, u32>,
    ended: HashSet<u64>,
    failed: HashSet<u64>,
}

impl Watched {
    /// One step, with all that must hold of it. False: nothing to do.
    fn step(&mut self, leaver: Option<RequestId>) -> Result<bool, TestCaseError> {
        let rules = self.engine.config().sglang.clone();
        let Some(end) = self.engine.begin_step(self.now) else { return Ok(false) };
        prop_assert!(end > self.now);
        self.books()?;
        let batch: Vec<(RequestId, u32)> = self.engine.batch().collect();
        prop_assert!(batch.iter().all(|(_, tokens)| *tokens > 0));
        let ids: HashSet<RequestId> = batch.iter().map(|(id, _)| *id).collect();
        prop_assert_eq!(ids.len(), batch.len(), "nobody twice in a batch");
        let decodes = batch.iter().all(|(_, tokens)| *tokens == 1);
        if let (Some(chunk), false) = (rules.chunked_prefill_size, decodes) {
            prop_assert!(batch.iter().map(|(_, tokens)| tokens).sum::<u32>() <= chunk.max(batch.len() as u32));
        }
        prop_assert!(self.engine.running().len() <= rules.max_running_requests as usize + 1);
        if let Some(id) = leaver {
            self.engine.abort(id);
        }
        self.now = end;
        let result = self.engine.finish_step(end);
        for ended in result.finished {
            if ended.reason == firstcheck_sim::FinishReason::Error {
                self.failed.insert(ended.tag);
            } else {
                self.ended.insert(ended.tag);
            }
        }
        for output in result.outputs.iter().copied() {
            let next = self.tokens.entry(output.tag).or_default();
            prop_assert_eq!(output.position, *next);
            *next += 1;
        }
        self.books()?;
        Ok(true)
    }

    /// Every token of the pool is free, held by one request, or in the tree; and the tree's own sums are right.
    fn books(&self) -> Result<(), TestCaseError> {
        let view = self.engine.sglang().expect("an SGLang engine");
        let tokens = view.tokens();
        let (mut locked, mut unlocked) = (0, 0);
        for (_, len, is_locked) in view.tree().segments() {
            *(if is_locked { &mut locked } else { &mut unlocked }) += len;
        }
        prop_assert_eq!((locked, unlocked), (tokens.protected, tokens.evictable));
        let running: Vec<RequestId> = self.engine.running().collect();
        let held: u32 = running.iter().filter_map(|id| view.held(*id)).sum();
        prop_assert_eq!(tokens.free + held + tokens.protected + tokens.evictable, tokens.capacity);
        let page = self.engine.config().sglang.page_size;
        prop_assert!(held.is_multiple_of(page) && tokens.free.is_multiple_of(page));
        // What a live request has in the tree is locked, and no request that waits holds anything.
        let longest = running.iter().filter_map(|id| view.locked(*id)).max().unwrap_or(0);
        prop_assert!(longest <= tokens.protected, "{} locked, {} protected", longest, tokens.protected);
        prop_assert!(!running.is_empty() || tokens.protected == 0);
        for id in self.engine.waiting() {
            prop_assert_eq!((view.held(id), view.locked(id)), (Some(0), Some(0)));
        }
        prop_assert!(view.chunked().is_none_or(|id| running.contains(&id)));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn every_step_keeps_the_books(config in configs(), acts in acts()) {
        let engine = Engine::new(config, 1).unwrap();
        let mut watched = Watched {
            engine,
            now: 0,
            tokens: HashMap::new(),
            ended: HashSet::new(),
            failed: HashSet::new(),
        };
        let mut live: Vec<(u64, RequestId, u32, bool)> = Vec::new();
        let mut aborted = HashSet::new();
        for (tag, act) in (0_u64..).zip(&acts) {
            match act {
                Act::Submit { output, forced, .. } => {
                    if let Some(request) = build(tag, act) {
                        live.push((tag, watched.engine.submit(watched.now, request).unwrap(), *output, *forced));
                    }
                }
                Act::Abort { which } if !live.is_empty() => {
                    let (tag, id, ..) = live[which % live.len()];
                    watched.engine.abort(id);
                    aborted.insert(tag);
                    watched.books()?;
                }
                Act::AbortInStep { which } if !live.is_empty() => {
                    let (tag, id, ..) = live[which % live.len()];
                    aborted.insert(tag);
                    if !watched.step(Some(id))? {
                        watched.engine.abort(id);
                    }
                }
                Act::Abort { .. } | Act::AbortInStep { .. } => {}
                Act::Wait => { watched.step(None)?; }
            }
        }
        let mut steps = 0;
        while watched.step(None)? {
            steps += 1;
            prop_assert!(steps < 20_000, "every request ends");
        }
        prop_assert!(watched.engine.is_idle());
        for (tag, _, output, forced) in live {
            if aborted.contains(&tag) || watched.failed.contains(&tag) {
                continue;
            }
            prop_assert!(watched.ended.contains(&tag), "request {} has not ended", tag);
            let given = watched.tokens.get(&tag).copied().unwrap_or(0);
            let whole = if forced { given == output } else { (1..=output).contains(&given) };
            prop_assert!(whole, "request {} got {} of {}", tag, given, output);
        }
        let tokens = watched.engine.sglang().expect("an SGLang engine").tokens();
        prop_assert_eq!((tokens.used(), tokens.protected), (0, 0));
    }

    #[test]
    fn a_request_alone_that_fits_always_ends_undisturbed(
        config in configs(),
        own in 1..100_u32,
        output in 1..28_u32,
    ) {
        let mut engine = Engine::new(config, 1).unwrap();
        let act = Act::Submit { group: 0, shared: 0, own, output, forced: true };
        engine.submit(0, build(1, &act).unwrap()).unwrap();
        let (mut now, mut given) = (0, 0);
        while let Some(end) = engine.begin_step(now) {
            now = end;
            given += engine.finish_step(end).outputs.len();
        }
        prop_assert_eq!(given, output as usize);
        prop_assert_eq!(engine.stats().preemptions, 0);
    }
}

proptest! {
    /// Against a tree that is a plain list of sequences.
    #[test]
    fn the_tree_finds_what_a_list_of_sequences_finds(
        page in 1..4_u32,
        sequences in prop::collection::vec(prop::collection::vec(0..3_u32, 0..24), 1..24),
        asked in prop::collection::vec(prop::collection::vec(0..3_u32, 0..24), 1..12),
    ) {
        let mut tree = firstcheck_sim::radix_cache::RadixCache::new(page, Eviction::Lru);
        let shared = |one: &[u32], other: &[u32]| {
            one.iter().zip(other).take_while(|(one, other)| one == other).count() as u32 / page * page
        };
        let mut known: Vec<Vec<u32>> = Vec::new();
        for mut sequence in sequences {
            let longest = |known: &[Vec<u32>], asked: &[u32]| {
                known.iter().map(|other| shared(other, asked)).max().unwrap_or(0)
            };
            sequence.truncate(sequence.len() / page as usize * page as usize);
            let inserted = tree.insert(0, &sequence);
            prop_assert_eq!(inserted.known, longest(&known, &sequence));
            prop_assert_eq!(inserted.prefix.tokens as usize, sequence.len());
            known.push(sequence);
            for asked in &asked {
                prop_assert_eq!(tree.find(0, asked).tokens, longest(&known, asked));
            }
        }
        let held: u32 = tree.segments().map(|(_, len, _)| len).sum();
        prop_assert_eq!(held, tree.evictable());
        prop_assert_eq!(tree.evict(u32::MAX), held);
        prop_assert_eq!(tree.segments().count(), 0);
    }
}
