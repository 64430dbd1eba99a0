//! What makes a step longer: launches, ranks, pauses, slow parts.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{
    AllReduce, EngineConfig, Experts, GraphMode, GraphUse, Graphs, Host, LateRank, Noise, Parallel, Pause, PauseClock,
    Preset, SlowRank, StepRecord, Timing,
};

/// A GPU engine without random spread.
fn gpu(preset: Preset) -> EngineConfig {
    EngineConfig {
        timing: Timing::Preset(preset),
        noise: Noise::NONE,
        host_seconds: 0.0,
        frontend_seconds: 0.0,
        max_model_len: 4096,
        ..EngineConfig::default()
    }
}

/// The record of a decode step of `sequences` sequences.
fn decode(config: EngineConfig, sequences: u32) -> StepRecord {
    let mut play = Play::new(config);
    for tag in 0..sequences {
        play.submit(u64::from(tag), prompt(tag, 8), 10);
    }
    play.step();
    play.step();
    let record = play.engine.last_step().clone();
    assert_eq!((record.rows, record.prompt_rows, record.tokens), (sequences, 0, sequences));
    record
}

fn graphs(mode: GraphMode) -> Graphs {
    Graphs { mode, ..Graphs::default() }
}

#[test]
fn captured_sizes_are_the_engine_s_list() {
    let sizes = Graphs::default().sizes(1024);
    assert_eq!((&sizes[..6], sizes.len(), sizes.last()), (&[1, 2, 4, 8, 16, 24][..], 51, Some(&512)));
    assert_eq!(Graphs::default().sizes(8), [1, 2, 4, 8, 16], "twice the seats at most");
    assert!(graphs(GraphMode::None).sizes(1024).is_empty());
}

#[test]
fn decodes_are_padded_to_a_captured_size_and_beyond_the_largest_run_eagerly() {
    let largest = Graphs { capture_sizes: Some(vec![1, 8, 16]), ..Graphs::default() };
    let of = |sequences| {
        let record = decode(EngineConfig { graphs: largest.clone(), ..gpu(Preset::H100Llama8bTp1) }, sequences);
        (record.graph, record.padded_tokens)
    };
    assert_eq!(of(1), (GraphUse::Full, 1));
    assert_eq!(of(9), (GraphUse::Full, 16));
    assert_eq!(of(17), (GraphUse::Eager, 17));
}

#[test]
fn without_graphs_a_small_batch_lasts_as_long_as_its_launches_and_a_large_one_does_not_notice() {
    let seconds = |mode, sequences| {
        decode(EngineConfig { graphs: graphs(mode), ..gpu(Preset::H100Llama8bTp1) }, sequences).device_seconds
    };
    let launches = 32.0 * Graphs::default().eager_layer_seconds;
    assert_eq!(seconds(GraphMode::None, 1), launches);
    assert!(seconds(GraphMode::FullAndPiecewise, 1) < 0.6 * launches);
    let large = |mode| {
        let mut play = Play::new(EngineConfig { graphs: graphs(mode), ..gpu(Preset::H100Llama8bTp1) });
        play.submit(1, prompt(1, 4000), 1);
        play.step();
        play.engine.last_step().device_seconds
    };
    assert_eq!(large(GraphMode::None), large(GraphMode::FullAndPiecewise));
}

#[test]
fn a_mixed_step_runs_in_pieces_where_only_decodes_are_captured_whole() {
    let mut play = Play::new(gpu(Preset::H100Llama8bTp1));
    play.submit(1, prompt(1, 100), 5);
    play.step();
    assert_eq!(play.engine.last_step().graph, GraphUse::Piecewise);
    play.step();
    assert_eq!(play.engine.last_step().graph, GraphUse::Full);
}

#[test]
fn an_all_reduce_by_a_ring_costs_its_latency_twice_a_layer() {
    let seconds = |all_reduce| {
        let parallel = Parallel { all_reduce, ..Parallel::default() };
        decode(EngineConfig { parallel, ..gpu(Preset::H100Llama70bTp8) }, 8).device_seconds
    };
    let model = |latency_seconds| AllReduce::Model { latency_seconds, bytes_per_second: 1e15 };
    let difference = seconds(model(40e-6)) - seconds(model(10e-6));
    assert!((difference - 160.0 * 30e-6).abs() < 1e-9, "{difference}");
    assert!(seconds(model(40e-6)) > 1.2 * seconds(AllReduce::Calibrated));
}

#[test]
fn one_late_or_slow_rank_makes_all_others_wait() {
    let record = |parallel| decode(EngineConfig { parallel, ..gpu(Preset::H100Llama70bTp8) }, 8);
    let healthy = record(Parallel::default());
    assert!(healthy.ranks.is_empty(), "all do the same");
    let slow = record(Parallel { slow_rank: Some(SlowRank { rank: 3, factor: 1.5 }), ..Parallel::default() });
    assert_eq!(slow.ranks.len(), 8);
    assert!((slow.device_seconds / healthy.device_seconds - 1.5).abs() < 1e-9);
    assert!(slow.ranks.iter().enumerate().all(|(rank, step)| (step.wait_seconds == 0.0) == (rank == 3)));
    let late = LateRank { rank: Some(5), seconds: 0.004 };
    let late = record(Parallel { late_rank: Some(late), ..Parallel::default() });
    assert!((late.device_seconds - healthy.device_seconds - 0.004).abs() < 1e-9);
    assert!(late.ranks[0].wait_seconds > 0.0039 && late.ranks[5].wait_seconds == 0.0);
}

#[test]
fn ranks_are_told_apart_only_as_long_as_they_differ() {
    let mut play = Play::new(gpu(Preset::H100Llama70bTp8));
    play.submit(1, prompt(1, 8), 10);
    let mut ranks = |parallel| {
        let config = EngineConfig { parallel, ..gpu(Preset::H100Llama70bTp8) };
        play.engine.reconfigure(play.now, &config).unwrap();
        assert!(play.step());
        play.engine.last_step().ranks.len()
    };
    let slow = Parallel { slow_rank: Some(SlowRank { rank: 3, factor: 1.5 }), ..Parallel::default() };
    assert_eq!([ranks(Parallel::default()), ranks(slow), ranks(Parallel::default())], [0, 8, 0]);
}

#[test]
fn hot_experts_and_a_slow_network_are_told_apart_by_the_ranks() {
    let experts = |imbalance, latency_seconds| {
        let experts = Experts { imbalance, latency_seconds, ..Experts::default() };
        let parallel = Parallel { experts: Some(experts), ..Parallel::default() };
        decode(EngineConfig { parallel, ..gpu(Preset::H100Llama8bTp1) }, 64)
    };
    let (balanced, hot, far) = (experts(1.0, 15e-6), experts(3.0, 15e-6), experts(1.0, 200e-6));
    let spread = |record: &StepRecord| {
        let times = record.ranks.iter().map(|rank| rank.compute_seconds);
        times.clone().fold(0.0, f64::max) / (times.sum::<f64>() / record.ranks.len() as f64)
    };
    assert!(hot.device_seconds > 1.5 * balanced.device_seconds && spread(&hot) > 1.5);
    assert!(far.device_seconds > 1.5 * balanced.device_seconds && spread(&far) < 1.01);
    let tokens: u32 = hot.ranks.iter().map(|rank| rank.tokens).sum();
    assert!(tokens.abs_diff(64) <= 8, "{tokens}");
}

#[test]
fn a_slow_board_stretches_gpu_time_and_a_slow_host_stretches_its_own() {
    let length = |change: fn(&mut EngineConfig)| {
        let mut config = EngineConfig { host_seconds: 0.005, ..small() };
        change(&mut config);
        let mut play = Play::new(config);
        play.submit(1, prompt(1, 4), 3);
        play.run();
        let life = play.ended(1).life;
        (life.last_token_ns.unwrap() - life.first_token_ns.unwrap()) / 2_000_000
    };
    assert_eq!(length(|_| {}), 16);
    assert_eq!(length(|config| config.gpu_slowness = 2.0), 27);
    assert_eq!(length(|config| config.host.slowness = 3.0), 26);
}

#[test]
fn only_the_first_step_after_the_engine_had_nothing_to_do_takes_longer() {
    let host = Host { wake_seconds: 0.003, ..Host::default() };
    let mut play = Play::new(EngineConfig { host, ..small() });
    let mut lengths = Vec::new();
    let mut steps = |play: &mut Play| {
        while let Some(ends_ns) = play.engine.begin_step(play.now) {
            lengths.push((ends_ns - play.now) / 1_000_000);
            play.now = ends_ns;
            play.engine.finish_step(ends_ns);
        }
    };
    play.submit(1, prompt(1, 4), 2);
    steps(&mut play);
    // At the very end of the last step: the engine does not sleep in between.
    play.submit(2, prompt(2, 4), 1);
    steps(&mut play);
    play.now += 1_000_000;
    play.submit(3, prompt(3, 4), 1);
    // Taken in beside it, and after it without a rest.
    play.submit(4, prompt(4, 4), 2);
    steps(&mut play);
    assert_eq!(lengths, [17, 11, 14, 21, 11]);
}

fn pausing(clock: PauseClock, seconds: f64, growth_seconds: f64) -> EngineConfig {
    let pause = Pause { clock, seconds, growth_seconds, jitter: 0.0 };
    EngineConfig { host: Host { pauses: vec![pause], ..Host::default() }, max_model_len: 128, ..small() }
}

/// Gaps between tokens of one long answer beyond 50 ms: when each ended and how long it was, in milliseconds.
fn spikes(play: &Play, tag: u64) -> Vec<(i64, i64)> {
    let at: Vec<i64> = play.outputs.iter().filter(|output| output.tag == tag).map(|output| output.at_ns).collect();
    let gaps = at.windows(2).map(|pair| (pair[1] / 1_000_000, (pair[1] - pair[0]) / 1_000_000));
    gaps.filter(|(_, gap)| *gap > 50).collect()
}

#[test]
fn pauses_come_back_on_their_own_clock_and_grow_where_they_do() {
    let mut play = Play::new(pausing(PauseClock::Wall(0.3), 0.1, 0.02));
    play.submit(1, prompt(1, 4), 100);
    play.run();
    let seen = spikes(&play, 1);
    let lengths: Vec<i64> = seen.iter().map(|(_, gap)| gap - 11).collect();
    assert!(lengths.len() >= 4);
    assert!(lengths.iter().enumerate().all(|(count, length)| *length == 100 + 20 * count as i64), "{lengths:?}");
    assert!(seen.windows(2).all(|pair| (pair[1].0 - pair[0].0 - 300).abs() <= 150), "{seen:?}");

    let mut play = Play::new(pausing(PauseClock::Steps(20), 0.1, 0.0));
    play.submit(1, prompt(1, 4), 100);
    play.run();
    assert_eq!(spikes(&play, 1).len(), 4, "steps 20, 40, 60 and 80 of 100");

    let mut play = Play::new(pausing(PauseClock::Requests(5), 0.1, 0.0));
    play.submit(0, prompt(1, 4), 100);
    for tag in 1..=20 {
        play.submit(tag, prompt(tag as u32, 4), 1);
        play.step();
        play.step();
        play.step();
    }
    play.run();
    assert_eq!(spikes(&play, 0).len(), 4, "each fifth of 21 requests");
}

#[test]
fn a_pause_on_the_wall_while_nothing_runs_holds_nobody_up() {
    let mut play = Play::new(pausing(PauseClock::Wall(1.0), 0.1, 0.0));
    play.now = 1_050_000_000;
    play.submit(1, prompt(1, 4), 1);
    play.run();
    let life = play.ended(1).life;
    let first_ms = (life.first_token_ns.unwrap() - life.arrival_ns) / 1_000_000;
    assert_eq!(first_ms, 50 + 14, "it came in the middle of one");
    play.now = 5_500_000_000;
    play.submit(2, prompt(2, 4), 1);
    play.run();
    let life = play.ended(2).life;
    assert_eq!((life.first_token_ns.unwrap() - life.arrival_ns) / 1_000_000, 14, "four went by");
}

#[test]
fn a_frozen_engine_begins_no_step_until_it_thaws() {
    let frozen = EngineConfig { host: Host { frozen: true, ..Host::default() }, ..small() };
    let mut play = Play::new(small());
    play.submit(1, prompt(1, 4), 5);
    play.step();
    play.engine.reconfigure(play.now, &frozen).unwrap();
    play.submit(2, prompt(2, 4), 1);
    assert!(!play.step());
    assert_eq!(play.engine.next_ready_ns(), None, "time alone does not help");
    play.now += 5_000_000_000;
    play.engine.reconfigure(play.now, &small()).unwrap();
    play.run();
    assert_eq!(play.finished.len(), 2);
    assert!(spikes(&play, 1)[0].1 >= 5000);
}
