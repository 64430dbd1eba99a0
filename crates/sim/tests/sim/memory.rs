//! Memory of the GPUs at the start, and of the host over a run.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{
    EngineConfig, Preset, Timing,
    config::{Leak, LeakKind, Leaker, Memory},
    emit::metrics,
    memory::{Failure, GIB, HostUse, ledger, start, start::Phase},
};
use proptest::prelude::*;

fn with(memory: Memory) -> EngineConfig {
    EngineConfig { memory, ..EngineConfig::default() }
}

#[test]
fn a_start_with_nothing_unusual_has_the_stated_pool() {
    let eight = EngineConfig {
        timing: Timing::Preset(Preset::H100Llama70bTp8),
        num_gpu_blocks: 90_000,
        ..EngineConfig::default()
    };
    for config in [EngineConfig::default(), EngineConfig { version: "0.16.0".into(), ..EngineConfig::default() }, eight]
    {
        let started = start(&config);
        assert_eq!(started.outcome, Ok(config.num_gpu_blocks));
        assert_eq!(started.serving(&config), Ok(config.clone()));
        for gpu in &started.ledgers {
            let spent = gpu.non_kv() + gpu.graphs_reserved + gpu.kv;
            assert!((spent - gpu.requested).abs() < 1.0, "the ledger adds up");
            assert!(gpu.activation > 0.25 * GIB && gpu.activation < 10.0 * GIB);
            let within = gpu.free_serving(f64::from(config.num_gpu_blocks) * started.block_bytes);
            assert!(within > gpu.sampler, "what is left holds the sampler");
        }
    }
    assert_eq!(
        start(&small()).outcome,
        Ok(small().num_gpu_blocks),
        "a pool that no profile would leave is taken as stated"
    );
}

#[test]
fn the_ledger_is_that_of_a_published_start() {
    // 39.38 GiB at 0.95; weights 34.43, outside the framework 0.34, activations 2.51: 0.13 GiB are left.
    let config = EngineConfig {
        version: "0.10.2".into(),
        gpu_memory_utilization: 0.95,
        max_model_len: 512,
        num_gpu_blocks: 64,
        ..with(Memory {
            gpu_gib: 39.38,
            context_gib: 0.0,
            weights_gib: Some(34.43),
            non_torch_gib: 0.34,
            activation_gib: Some(2.51),
            ..Memory::default()
        })
    };
    assert!((ledger::ledgers(&config)[0].kv / GIB - 0.13).abs() < 0.005);
}

#[test]
fn a_term_beyond_its_default_is_taken_off_the_pool() {
    let block = ledger::block_bytes(&EngineConfig::default());
    let usual = Memory::default();
    let two_more = [
        Memory { graphs_gib: usual.graphs_gib + 2.0, ..usual.clone() },
        Memory { graphs_estimate_gib: Some(usual.graphs_gib + 2.0), ..usual.clone() },
        Memory { non_torch_gib: usual.non_torch_gib + 2.0, ..usual.clone() },
        Memory { extra_weights_gib: vec![2.0], ..usual.clone() },
    ];
    let fewer = (2.0 * GIB / block).round() as u32;
    for memory in two_more {
        assert_eq!(start(&with(memory)).outcome, Ok(EngineConfig::default().num_gpu_blocks - fewer));
    }
    let unreserved = Memory { graphs_gib: usual.graphs_gib + 2.0, estimate_graphs: Some(false), ..usual };
    let config = EngineConfig { version: "0.16.0".into(), ..with(unreserved) };
    assert_eq!(start(&config).outcome, Ok(config.num_gpu_blocks), "graphs that nobody expects cost no pool");
}

#[test]
fn each_phase_fails_in_its_own_way() {
    let usual = Memory::default();
    let phase = |config: &EngineConfig| match start(config).outcome {
        Err(Failure::OutOfMemory { phase, tried, free, .. }) => {
            assert!(tried > free, "{tried} would have fitted into {free}");
            phase
        }
        other => panic!("{other:?}"),
    };
    let fails = |memory: Memory| start(&with(memory)).outcome.unwrap_err();
    let unknown = Memory { unknown_argument: Some("--swap-space 4".into()), ..usual.clone() };
    assert!(matches!(fails(unknown), Failure::UnknownArgument(_)));
    let shorter = Memory { model_max_len: Some(8192), ..usual.clone() };
    assert_eq!(fails(shorter), Failure::LongerThanModel { asked: 131_072, allowed: 8192 });
    let shared = Memory { others_gib: vec![7.0], ..usual.clone() };
    assert_eq!(fails(shared), Failure::NotFree { gpu: 0 });
    let mut poor = usual.clone();
    poor.host.limit_gib = 8.0;
    assert!(matches!(fails(poor), Failure::Killed { used, limit } if used > limit));
    assert_eq!(phase(&with(Memory { weights_gib: Some(80.0), ..usual.clone() })), Phase::Load);
    assert_eq!(phase(&with(Memory { activation_gib: Some(70.0), ..usual.clone() })), Phase::Profile);
    assert_eq!(phase(&with(Memory { encoder_gib: 66.0, ..usual.clone() })), Phase::Profile);
    assert_eq!(fails(Memory { activation_gib: Some(58.0), ..usual.clone() }), Failure::NoKv { gpu: 0 });
    match fails(Memory { activation_gib: Some(50.0), ..usual.clone() }) {
        Failure::TooLittleKv { needed, available, fits } => {
            assert_eq!(needed, 16.0 * GIB);
            assert!((f64::from(fits) * 131_072.0 - available).abs() < 1.0);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(phase(&with(Memory { kv_gib: Some(70.0), ..usual.clone() })), Phase::Allocate);
    assert_eq!(
        phase(&with(Memory { graphs_gib: 12.0, graphs_estimate_gib: Some(0.5), ..usual.clone() })),
        Phase::Capture
    );
    assert_eq!(phase(&with(Memory { sampler_gib: Some(16.0), ..usual })), Phase::Sampler);
}

#[test]
fn the_fullest_gpu_decides() {
    let four = EngineConfig {
        timing: Timing::Preset(Preset::H100Llama70bTp4),
        num_gpu_blocks: 25_000,
        ..EngineConfig::default()
    };
    let uneven =
        EngineConfig { memory: Memory { extra_weights_gib: vec![0.0, 0.0, 1.0], ..Memory::default() }, ..four.clone() };
    let fewer = (GIB / ledger::block_bytes(&four)).ceil() as u32;
    assert_eq!(start(&uneven).outcome, Ok(four.num_gpu_blocks - fewer));
    let crowded = EngineConfig { memory: Memory { others_gib: vec![0.0, 30.0], ..Memory::default() }, ..four };
    assert_eq!(start(&crowded).outcome, Err(Failure::NotFree { gpu: 1 }));
}

proptest! {
    #[test]
    fn more_of_anything_never_makes_the_pool_larger(term in 0usize..5, less in 0.0f64..20.0, more in 0.0f64..20.0) {
        let memory = |size: f64| match term {
            0 => Memory { activation_gib: Some(size), ..Memory::default() },
            1 => Memory { non_torch_gib: size, ..Memory::default() },
            2 => Memory { graphs_estimate_gib: Some(size), ..Memory::default() },
            3 => Memory { encoder_gib: size, ..Memory::default() },
            _ => Memory { extra_weights_gib: vec![size], ..Memory::default() },
        };
        let pool = |size| start(&with(memory(size))).profiled_blocks;
        prop_assert!(pool(less.max(more)) <= pool(less.min(more)));
    }
}

/// Runs three requests of 40 prompt and 10 generated tokens and gives what the API server's page then states.
fn after(leak: Leak) -> (f64, HostUse) {
    let mut memory = Memory::default();
    memory.host.leak = leak;
    let mut play = Play::new(EngineConfig { memory, ..small() });
    for tag in 1..=3 {
        play.submit(tag, prompt(tag as u32, 40), 10);
    }
    play.run();
    let process = metrics::Process { start_unix_seconds: 0.0, resident_bytes: Some(1e9) };
    let page = metrics::page(&play.engine, &process);
    let line = page.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    (line.unwrap().parse().unwrap(), HostUse::of(play.engine.config(), play.engine.stats()))
}

#[test]
fn host_memory_grows_on_the_clock_of_its_leak() {
    let rest = HostUse::at_rest(&small());
    let none = after(Leak::default());
    assert_eq!((none.0, none.1), (1e9, rest));
    let cases = [
        (Leak { per_request: 1e6, ..Leak::default() }, 3e6),
        (Leak { per_prompt_token: 1e6, ..Leak::default() }, 120e6),
        (Leak { per_output_token: 1e6, ..Leak::default() }, 30e6),
    ];
    for (leak, grown) in cases {
        assert_eq!(after(leak).0, 1e9 + grown, "{leak:?}");
    }
    let (page, held) = after(Leak { per_request: 1e6, swapped: 0.75, ..Leak::default() });
    assert_eq!(page, 1e9 + 0.75e6, "what is swapped out is not resident");
    assert_eq!((held.swapped(), held.anonymous() - rest.anonymous()), (2.25e6, 0.75e6));
    let (page, held) = after(Leak { process: Leaker::Core, per_request: 1e6, ..Leak::default() });
    assert_eq!(
        (page, held.core.anonymous - rest.core.anonymous),
        (1e9, 3e6),
        "another process's memory is not on the page"
    );
    let (_, held) = after(Leak { kind: LeakKind::Shared, per_request: 1e6, ..Leak::default() });
    assert_eq!(held.shared() - rest.shared(), 3e6);
    let (_, held) = after(Leak { kind: LeakKind::File, per_request: 1e6, ..Leak::default() });
    assert_eq!((held.page_cache - rest.page_cache, held.working_set()), (3e6, rest.working_set()));
    let (page, _) = after(Leak { per_request: 1e9, plateau: Some(1e6), ..Leak::default() });
    assert!((page - 1e9 - 1e6).abs() < 1.0, "it levels off");
}
