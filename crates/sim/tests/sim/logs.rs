//! The server's log.

use crate::{
    play::{Play, prompt, small},
    real::artefact,
};
use firstcheck_sim::{
    EngineConfig, Preset, Timing,
    config::Memory,
    emit::{
        calendar::{Civil, WallClock},
        log::{Death, LogOptions, Notice, ServerLog},
    },
    memory::start,
};
use std::collections::BTreeSet;

const SECOND: i64 = 1_000_000_000;

fn started(config: &EngineConfig, options: LogOptions) -> String {
    let mut log = ServerLog::new(config, options);
    log.start(&start(config));
    log.into_text()
}

fn plain(config: &EngineConfig) -> String {
    started(config, LogOptions::default())
}

fn of(version: &str) -> EngineConfig {
    EngineConfig { version: version.into(), ..EngineConfig::default() }
}

fn with(memory: Memory) -> EngineConfig {
    EngineConfig { memory, ..EngineConfig::default() }
}

/// Where the parts stand in a text; every one must be there, in this order.
fn in_order(text: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        match text[from..].find(part) {
            Some(at) => from += at + part.len(),
            None => panic!("no {part:?} after {:?} in\n{text}", &text[from.saturating_sub(80)..from]),
        }
    }
}

#[test]
fn the_wall_clock_knows_the_calendar() {
    let at = |unix: i64| WallClock { zero_unix_seconds: unix }.at(0);
    let date = |year, month, day, hour, minute, second| Civil { year, month, day, hour, minute, second };
    for (unix, expected) in [
        (0, date(1970, 1, 1, 0, 0, 0)),
        (-1, date(1969, 12, 31, 23, 59, 59)),
        (951_827_696, date(2000, 2, 29, 12, 34, 56)),
        (1_709_251_199, date(2024, 2, 29, 23, 59, 59)),
        (4_107_542_400, date(2100, 3, 1, 0, 0, 0)),
    ] {
        assert_eq!(at(unix), expected, "{unix}");
    }
    assert_eq!(WallClock::default().at(-SECOND), date(2026, 1, 1, 11, 59, 59));
}

#[test]
fn a_start_goes_through_its_phases_and_ends_at_time_zero() {
    let text = plain(&of("0.32.0"));
    in_order(
        &text,
        &[
            "version 0.32.0",
            "non-default args: {'model_tag': 'llama-3.1-8b'",
            "Resolved architecture",
            "(EngineCore pid=2557) INFO 01-01 11:59:22 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with \
             config: ",
            "Starting to load model llama-3.1-8b...",
            "Model loading took 14.96 GiB memory",
            "Estimated CUDA graph memory: 0.54 GiB total",
            "Available KV cache memory: 52.73 GiB",
            "The current --gpu-memory-utilization=0.9200 is equivalent to --gpu-memory-utilization=0.9132",
            "GPU KV cache size: 432,000 tokens, Maximum concurrency for 131,072 tokens per request: 3.30x",
            "Graph capturing finished in 6 secs, took 0.54 GiB",
            "12:00:00 [entry.py:140] Starting vLLM server",
            "INFO:     Application startup complete.",
        ],
    );
    assert!(!text.contains("DEBUG") && !text.contains("Memory profiling takes"), "the terms are not told at INFO");
}

#[test]
fn a_verbose_log_tells_the_terms_of_the_ledger_and_folders() {
    let text = started(&of("0.32.0"), LogOptions { verbose: true, ..LogOptions::default() });
    in_order(
        &text,
        &[
            "INFO 01-01 11:59:22 [v1/engine/core.py:133] Initializing",
            "Initial free memory: 78.68 GiB; Requested memory: 0.920000 (util), 72.85 GiB",
            "Total non KV cache memory: 19.58GiB; torch peak memory increase: 3.77GiB; total consumed (from \
             mem_get_info): \
             15.81GiB; weights memory: 14.96GiB.",
        ],
    );
    let older = started(&of("0.16.0"), LogOptions { verbose: true, ..LogOptions::default() });
    in_order(
        &older,
        &["torch peak memory increase: ", "; non-torch forward increase memory: 0.85GiB; weights memory: "],
    );
}

#[test]
fn older_releases_say_it_their_way() {
    let text = plain(&EngineConfig { gpu_memory_utilization: 0.9, num_gpu_blocks: 26_500, ..of("0.16.0") });
    in_order(
        &text,
        &[
            "(EngineCore_DP0 pid=2557) INFO 01-01 11:59:22 [core.py:97]",
            "(EngineCore_DP0 pid=2557) Loading safetensors",
            "torch.compile takes",
            "GPU KV cache size: 424,000 tokens\n",
            "[kv_cache_utils.py:1312] Maximum concurrency for 131,072 tokens per request: 3.23x",
            "took 23.13 seconds",
            "Starting vLLM API server 0 on",
            "(APIServer pid=2375) INFO:     Application startup complete.",
        ],
    );
    assert!(!text.contains("CUDA graph memory profiling") && !text.contains("gpu_memory_utilization': 0.9"));
}

#[test]
fn several_gpus_have_workers_of_their_own() {
    let config = EngineConfig {
        timing: Timing::Preset(Preset::H100Llama70bTp4),
        num_gpu_blocks: 25_000,
        ..EngineConfig::default()
    };
    let text = plain(&config);
    for rank in 0..4 {
        let line = format!("(Worker_TP{rank} pid={}) INFO 01-01", 2375 + 318 + rank);
        assert!(
            text.lines().any(|text| text.starts_with(&line) && text.contains("Model loading took 32.85 GiB")),
            "{rank}"
        );
    }
    assert!(text.contains("'tensor_parallel_size': 4") && text.contains("tensor_parallel_size=4,"));
}

#[test]
fn a_failed_start_names_its_cause_far_above_the_last_traceback() {
    let usual = Memory::default();
    let cases = [
        (
            Memory { others_gib: vec![7.0], ..usual.clone() },
            "ValueError: Free memory on device cuda:0 (71.68/79.19 GiB) on startup is less than desired GPU memory \
             utilization (0.92, 72.85 GiB).",
        ),
        (
            Memory { weights_gib: Some(80.0), ..usual.clone() },
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has a total capacity of \
             79.19 GiB of which ",
        ),
        (
            Memory { activation_gib: Some(70.0), ..usual.clone() },
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 70.00 GiB.",
        ),
        (
            Memory { activation_gib: Some(58.0), ..usual.clone() },
            "ValueError: No available memory for the cache blocks.",
        ),
        (
            Memory { activation_gib: Some(50.0), ..usual.clone() },
            "max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory \
             (6.51 GiB). Based on the available memory, the estimated maximum model length is 53296.",
        ),
        (
            Memory { graphs_gib: 12.0, graphs_estimate_gib: Some(0.5), ..usual.clone() },
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB.",
        ),
        (
            Memory { sampler_gib: Some(16.0), ..usual },
            "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.",
        ),
    ];
    for (memory, cause) in cases {
        let text = plain(&with(memory));
        let last = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}";
        in_order(
            &text,
            &["[core.py:1510] EngineCore failed to start.", cause, "Process EngineCore:", cause, "bin/vllm", last],
        );
        let told = text.lines().position(|line| line.contains(cause)).unwrap();
        let end = text.lines().position(|line| line.contains(last)).unwrap();
        assert!(end - told > 30, "{} lines between cause and end", end - told);
        assert!(!text.contains("startup complete"));
    }
}

#[test]
fn the_phase_of_a_failure_is_the_last_one_told() {
    let usual = Memory::default();
    let last = |memory: Memory| {
        let text = plain(&with(memory));
        let marks = [
            "Starting to load model",
            "Model loading took",
            "Available KV cache memory",
            "GPU KV cache size",
            "Capturing CUDA graphs",
            "Graph capturing finished",
            "Application startup complete",
        ];
        marks.into_iter().rfind(|mark| text.contains(mark))
    };
    assert_eq!(last(Memory { others_gib: vec![7.0], ..usual.clone() }), None);
    assert_eq!(last(Memory { weights_gib: Some(80.0), ..usual.clone() }), Some("Starting to load model"));
    assert_eq!(last(Memory { activation_gib: Some(70.0), ..usual.clone() }), Some("Model loading took"));
    assert_eq!(last(Memory { activation_gib: Some(58.0), ..usual.clone() }), Some("Available KV cache memory"));
    assert_eq!(
        last(Memory { graphs_gib: 12.0, graphs_estimate_gib: Some(0.5), ..usual.clone() }),
        Some("Capturing CUDA graphs")
    );
    assert_eq!(last(Memory { sampler_gib: Some(16.0), ..usual }), Some("Graph capturing finished"));
}

#[test]
fn a_worker_s_failure_is_told_by_the_worker() {
    let config = EngineConfig {
        timing: Timing::Preset(Preset::H100Llama70bTp4),
        num_gpu_blocks: 25_000,
        memory: Memory { others_gib: vec![0.0, 30.0], ..Memory::default() },
        ..EngineConfig::default()
    };
    let text = plain(&config);
    in_order(
        &text,
        &[
            "(Worker_TP1 pid=2694) ERROR 01-01 12:00:00 [multiproc_executor.py:1063] WorkerProc failed to start.",
            "ValueError: Free memory on device cuda:1 (48.68/79.19 GiB)",
            "EngineCore failed to start.",
            "Exception: WorkerProc initialization failed due to an exception in a background process.",
        ],
    );
}

#[test]
fn what_is_not_memory_fails_before_memory() {
    let mut killed = Memory::default();
    killed.host.limit_gib = 8.0;
    let text = plain(&with(killed));
    in_order(&text, &["Loading safetensors", "Failed core proc(s): {'EngineCore': -9}"]);
    assert!(
        !text.contains("OutOfMemory") && !text.contains("EngineCore failed to start"),
        "a killed process says nothing"
    );
    let text = plain(&with(Memory { unknown_argument: Some("--swap-space 4".into()), ..Memory::default() }));
    assert!(text.ends_with("vllm: error: unrecognized arguments: --swap-space 4\n") && !text.contains("INFO"));
    let text = plain(&with(Memory { model_max_len: Some(8192), ..Memory::default() }));
    in_order(
        &text,
        &[
            "Resolved architecture",
            "ValidationError",
            "max_model_len (131072) is greater than the derived max_model_len (max_position_embeddings=8192.0",
        ],
    );
    assert!(!text.contains("EngineCore"));
}

/// A play of three requests with its log: one interval of work, then silence.
fn spoken() -> String {
    let config = EngineConfig { num_gpu_blocks: 33, max_num_batched_tokens: 128, ..small() };
    let mut log = ServerLog::new(&config, LogOptions::default());
    let mut play = Play::new(config);
    for tag in 1..=3 {
        play.submit(tag, prompt(tag as u32, 40), 30);
    }
    while let Some(end) = play.engine.begin_step(play.now) {
        log.advance(&play.engine, end);
        play.engine.finish_step(end);
        play.now = end;
    }
    assert!(play.now < 10 * SECOND, "all of it within the first interval");
    log.advance(&play.engine, 60 * SECOND);
    log.into_text()
}

#[test]
fn statistics_come_every_ten_seconds_and_stop_when_idle() {
    let lines: Vec<String> = spoken().lines().map(str::to_owned).collect();
    assert_eq!(
        lines,
        [
            "(APIServer pid=2375) INFO 01-01 12:00:10 [loggers.py:335] Engine 000: Avg prompt throughput: 12.0 \
             tokens/s, Avg \
             generation throughput: 9.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, Prefix \
             cache hit \
             rate: 0.0%",
            "(APIServer pid=2375) INFO 01-01 12:00:20 [loggers.py:335] Engine 000: Avg prompt throughput: 0.0 \
             tokens/s, Avg \
             generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, Prefix \
             cache hit \
             rate: 0.0%",
        ],
        "the second idle line is said at DEBUG"
    );
}

#[test]
fn a_death_fails_everything_and_ends_the_log() {
    let config = EngineConfig::default();
    let deaths = [
        (
            Death::EncoderOutOfMemory { gpu: 0, tried: 2.0 * 1024.0_f64.powi(3), free: 1e9 },
            "qwen2_5_vl.py",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of \
             79.19 GiB of which 953.67 MiB is free.",
        ),
        (Death::OutOfMemory { gpu: 0, tried: 1e9, free: 1e8 }, "llama.py", "torch.OutOfMemoryError: "),
        (Death::IllegalAccess, "execute_model", "an illegal memory access was encountered"),
        (
            Death::CollectiveTimeout { sequence: 5730, operation: "ALLREDUCE".into(), elements: 8192, seconds: 600.0 },
            "step",
            "WorkNCCL(SeqNum=5730, OpType=ALLREDUCE, NumelIn=8192, NumelOut=8192, Timeout(ms)=600000) ran for 600057 \
             milliseconds",
        ),
        (Death::Exception("KeyError: 'cmpl-7'".into()), "step", "KeyError: 'cmpl-7'"),
    ];
    for (death, frame, cause) in deaths {
        let mut log = ServerLog::new(&config, LogOptions::default());
        log.notice(75 * SECOND, &Notice::Died(death));
        log.notice(80 * SECOND, &Notice::PrefixCacheReset);
        let text = log.into_text();
        in_order(
            &text,
            &[
                "ERROR 01-01 12:01:15 [core.py:1519] EngineCore encountered a fatal error.",
                frame,
                cause,
                "Process EngineCore:",
                "[async_llm.py:906] AsyncLLM output_handler failed.",
                "EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
                "INFO:     Application shutdown complete.",
            ],
        );
        assert!(!text.contains("reset prefix cache"), "nothing follows the end");
    }
    let mut log = ServerLog::new(&config, LogOptions::default());
    log.notice(75 * SECOND, &Notice::Died(Death::Killed));
    assert!(!log.text().contains("fatal error") && log.text().contains("died unexpectedly"));
}

/// A line with its numbers, names and paths blotted out: what the format is.
fn blotted(line: &str) -> String {
    let line =
        line.replace("tiny-llama", "MODEL").replace("facebook/opt-125m", "MODEL").replace("llama-3.1-8b", "MODEL");
    // On a CPU the worker is a process of its own even when it is alone.
    let line = line.replace("CPU KV cache", "GPU KV cache").replace("(Worker pid", "(EngineCore pid");
    let mut text = String::new();
    for character in line.chars() {
        match character {
            '0'..='9' | ',' | '.' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            other => text.push(other),
        }
    }
    text
}

/// Every line of ours that contains one of `words` has the form of a line of the real log that contains it.
fn same_form(ours: &str, real: &str, words: &[&str]) {
    let real: BTreeSet<String> = real.lines().map(blotted).collect();
    for word in words {
        let own: Vec<String> = ours.lines().filter(|line| line.contains(word)).map(blotted).collect();
        assert!(!own.is_empty(), "no line with {word:?}");
        for line in own {
            let near: Vec<_> = real.iter().filter(|real| real.contains(word)).collect();
            assert!(real.contains(&line), "{line}\nis not among\n{near:#?}");
        }
    }
}

#[test]
fn lines_have_the_form_of_a_real_log_of_that_version() {
    let small = |version: &str| EngineConfig { version: version.into(), ..EngineConfig::default() };
    let always = [
        "█▄   ▄█",
        "Resolved architecture",
        "Using max model len",
        "Loading weights took",
        "KV cache size:",
        "Maximum concurrency",
        "Supported tasks",
        "Available routes",
        "Route: /metrics",
        "Started server process",
        "Application startup complete",
        "0% Completed",
    ];
    for (version, file, more) in [
        ("0.32.0", "engine/a_baseline_e1/server.log", &[][..]),
        (
            "0.16.0",
            "engine/f_old_baseline/server.log",
            &["init engine", "Starting vLLM API server", "Chunked prefill is enabled", "Asynchronous scheduling"][..],
        ),
    ] {
        let Some(real) = artefact(file) else { return };
        let ours = plain(&small(version));
        // The real server ran on a CPU with weights of one shard.
        let ours = ours.replace("1.31it/s", "36.48it/s");
        same_form(&ours, &real, &[&always[..always.len() - 1], more].concat());
        same_form(
            &spoken().replace("0.32", version),
            &artefact("engine/a_baseline_e1/server.log").unwrap(),
            &["Avg prompt throughput"],
        );
    }
}

#[test]
fn failures_have_the_form_of_real_ones() {
    let usual = Memory::default();
    let too_little = plain(&with(Memory { activation_gib: Some(50.0), ..usual.clone() }));
    let Some(real) = artefact("engine/e_kv_too_small_blocks/server.log") else { return };
    let words = [
        "EngineCore failed to start.",
        "To serve at least one request",
        "Process EngineCore:",
        "Engine core initialization failed",
        "_check_enough_kv_cache_memory(",
    ];
    same_form(&too_little, &real, &words);
    let none = plain(&EngineConfig {
        version: "0.25.1".into(),
        ..with(Memory { activation_gib: Some(58.0), ..usual.clone() })
    });
    let real = artefact("metrics/vllm-0.25/vllm_serve_no_kv_cache_memory_v0.25.1.log").unwrap();
    same_form(
        &none,
        &real,
        &["No available memory for the cache blocks", "Process EngineCore:", "Engine core initialization failed"],
    );
    let longer = plain(&EngineConfig {
        version: "0.25.1".into(),
        ..with(Memory { model_max_len: Some(2048), ..usual.clone() })
    });
    let real = artefact("metrics/vllm-0.25/vllm_serve_max_model_len_rejected_v0.25.1.log").unwrap();
    same_form(&longer, &real, &["validation error for ModelConfig", "For further information visit"]);
    let unknown = plain(&EngineConfig {
        version: "0.25.1".into(),
        ..with(Memory { unknown_argument: Some("--no-such-flag 3".into()), ..usual })
    });
    let real = artefact("metrics/vllm-0.25/vllm_serve_unrecognized_argument_v0.25.1.log").unwrap();
    assert!(real.trim_end().ends_with(unknown.trim_end()));
}
