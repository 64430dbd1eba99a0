//! Engine logs: wrappers, prefixes, settings, the start, statistics, failures.

use firstcheck_ingest::{
    Input, Limits, collect,
    log::{LogReader, prefix::split, settings::settings, wrapper::unwrap},
};
use firstcheck_model::{
    engine_log::{ChoiceOf, EngineLog, FailureKind, StartPhase, Term},
    moment::Moment,
    signal::{Series, Signal},
};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn read(text: &str) -> EngineLog {
    let mut reader = LogReader::new("server.log");
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(number, line);
    }
    reader.finish()
}

fn artefact(name: &str) -> Option<EngineLog> {
    let Some(folder) = std::env::var_os("FIRSTCHECK_ARTEFACTS") else {
        eprintln!("SKIPPED: FIRSTCHECK_ARTEFACTS is not set, {name} is not read");
        return None;
    };
    let path: PathBuf = Path::new(&folder).join(name);
    Some(read(&String::from_utf8_lossy(&std::fs::read(path).unwrap())))
}

fn term(log: &EngineLog, term: Term) -> Option<f64> {
    let found = log.memory.iter().find(|one| one.term == term)?;
    Some((found.bytes.0 / 1024f64.powi(3) * 100.0).round() / 100.0)
}

const START: &str = "\
INFO 03-04 05:06:07 [__init__.py:241] Automatically detected platform cuda.
(APIServer pid=1) INFO 03-04 05:06:08 [api_server.py:1805] vLLM API server version 0.11.2
(APIServer pid=1) INFO 03-04 05:06:08 [utils.py:326] non-default args: {'model': 'm', 'api_key': ['sk-planted'], 'max_num_seqs': 64, 'env': {'HF_TOKEN': 'hf_planted'}}
(EngineCore_DP0 pid=2) INFO 03-04 05:06:10 [core.py:74] Initializing a V1 LLM engine (v0.11.2) with config: model='m, with comma', dtype=torch.bfloat16, enforce_eager=False, compilation_config={'mode': <CompilationMode.VLLM_COMPILE: 3>, 'cudagraph_mode': <CUDAGraphMode.PIECEWISE: 1>}, observability_config=ObservabilityConfig(otlp_traces_endpoint='http://u:planted@h'), enable_prefix_caching=True
(Worker_TP0 pid=3) INFO 03-04 05:06:11 [parallel_state.py:1] rank 0 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 0
(Worker_TP0 pid=3) INFO 03-04 05:06:12 [gpu_model_runner.py:1] Starting to load model m...
(Worker_TP0 pid=3) INFO 03-04 05:06:20 [gpu_model_runner.py:2] Model loading took 7.1217 GiB memory and 8.25 seconds
(Worker_TP1 pid=4) INFO 03-04 05:06:20 [gpu_model_runner.py:2] Model loading took 7.2000 GiB memory and 8.50 seconds
(Worker_TP0 pid=3) DEBUG 03-04 05:06:21 [gpu_worker.py:9] Memory profiling takes 1.50 seconds. Total non KV cache memory: 9.00GiB; torch peak memory increase: 1.25GiB; non-torch forward increase memory: 0.50GiB; weights memory: 7.12GiB.
(Worker_TP0 pid=3) INFO 03-04 05:06:22 [gpu_worker.py:276] Available KV cache memory: 12.02 GiB
(EngineCore_DP0 pid=2) INFO 03-04 05:06:22 [kv_cache_utils.py:849] GPU KV cache size: 450,192 tokens
(EngineCore_DP0 pid=2) INFO 03-04 05:06:22 [kv_cache_utils.py:853] Maximum concurrency for 16,384 tokens per request: 27.48x
(Worker_TP0 pid=3) INFO 03-04 05:06:23 [backends.py:161] Directly load the compiled graph(s) for dynamic shape from the cache, took 8.314 s
(Worker_TP0 pid=3) WARNING 03-04 05:06:23 [custom_all_reduce.py:147] Custom allreduce is disabled because your platform lacks GPU P2P capability
(Worker_TP1 pid=4) WARNING 03-04 05:06:23 [custom_all_reduce.py:147] Custom allreduce is disabled because your platform lacks GPU P2P capability
(Worker_TP0 pid=3) INFO 03-04 05:06:24 [cuda.py:1] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER'].
(Worker_TP0 pid=3) INFO 03-04 05:06:27 [gpu_model_runner.py:2708] Graph capturing finished in 4 secs, took 0.65 GiB
(EngineCore_DP0 pid=2) INFO 03-04 05:06:28 [core.py:214] init engine (profile, create kv cache, warmup model) took 16.25 seconds
(APIServer pid=1) INFO:     Application startup complete.
(APIServer pid=1) INFO 03-04 05:06:38 [loggers.py:1] Engine 000: Avg prompt throughput: 384.1 tokens/s, Avg generation throughput: 92.2 tokens/s, Running: 3 reqs, Waiting: 1 reqs, GPU KV cache usage: 12.5%, Prefix cache hit rate: 1.3%
(APIServer pid=1) INFO 03-04 05:06:48 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 90.0 tokens/s, Running: 2 reqs, Waiting: 0 reqs, Preemptions: 4, GPU KV cache usage: 10.0%
(APIServer pid=1) INFO 03-04 05:06:48 [metrics.py:1] SpecDecoding metrics: Mean acceptance length: 2.50, Accepted: 30 tokens, Per-position acceptance rate: 0.8, 0.7, Avg Draft acceptance rate: 75.0%
(APIServer pid=1) INFO 03-04 05:06:49 [something.py:1] A line that nobody knows
";

#[test]
fn a_start_is_read_with_settings_ledger_and_phases() {
    let log = read(START);
    assert_eq!((log.engine.as_deref(), log.version.as_deref()), (Some("vllm"), Some("0.11.2")));
    let value = |name: &str| log.setting(name).map(|setting| setting.value.as_str());
    assert_eq!(value("max_num_seqs"), Some("64"));
    assert_eq!(value("model"), Some("m, with comma"));
    assert_eq!(value("compilation_config.cudagraph_mode"), Some("PIECEWISE"));
    assert_eq!(value("enable_prefix_caching"), Some("True"));
    assert!(!format!("{log:?}").contains("planted"), "secrets are redacted: {log:?}");
    assert_eq!((log.kv.tokens, log.kv.concurrency, log.kv.line), (Some(450_192), Some(27.48), Some(11)));
    assert_eq!(term(&log, Term::Weights), Some(7.12));
    assert_eq!(term(&log, Term::ActivationPeak), Some(1.25));
    assert_eq!(term(&log, Term::NonTorch), Some(0.5));
    assert_eq!(term(&log, Term::KvCache), Some(12.02));
    assert_eq!(term(&log, Term::GraphsActual), Some(0.65));
    let length = |phase| log.phases.iter().find(|one| one.phase == phase).and_then(|one| one.length).map(|s| s.0);
    assert_eq!(length(StartPhase::Weights), Some(8.25));
    assert_eq!(length(StartPhase::Initialised), Some(16.25));
    assert_eq!((log.reached(), log.root_cause()), (Some(StartPhase::Ready), None));
    assert_eq!(log.compile.hits, 1);
    assert_eq!((log.costly[0].kind, log.costly[0].times, log.costly[0].line), ("custom_allreduce_off", 2, 14));
    let attention = log.choices.iter().find(|choice| choice.of == ChoiceOf::Attention).unwrap();
    assert_eq!(attention.value, "FLASH_ATTN");
    assert_eq!(log.not_understood, 1);
}

#[test]
fn statistics_lines_become_series_by_name() {
    let log = read(START);
    let series = |name: &str| log.series.iter().find(|series| series.name == name).unwrap();
    assert_eq!(series("log:Running").value, [3.0, 2.0]);
    assert_eq!(series("log:Running").signal, Some(Signal::Running));
    assert_eq!(series("log:Running").labels.get("engine"), Some("000"));
    assert_eq!(series("log:GPU KV cache usage").value, [0.125, 0.1]);
    assert_eq!(series("log:Preemptions").value, [4.0]);
    assert_eq!(series("log:Prefix cache hit rate").signal, None, "a rolling rate is no counter");
    assert_eq!(series("log:spec Per-position acceptance rate [1]").value, [0.7]);
    assert_eq!(series("log:spec Avg Draft acceptance rate").value, [0.75]);
    let at: Vec<_> = series("log:Running").at.clone();
    assert_eq!(at[1].since(at[0]).map(|s| s.0), Some(10.0));
    assert_eq!(at[0], Moment::at(31_000_000_000), "seconds since the first dated line");
}

#[test]
fn series_are_told_apart_whatever_fields_and_ranks_come_next() {
    let line = |second: u32, rank: u32, fields: &str| {
        format!("[2026-01-02 03:04:{second:02} TP{rank}] Decode batch, {fields}\n")
    };
    let log = read(
        &[
            line(1, 0, "#running-req: 1, #token: 10, #queue-req: 2"),
            line(1, 1, "#running-req: 3, #token: 30, #queue-req: 4"),
            line(2, 1, "#running-req: 5, #queue-req: 6, #token: 50"),
            line(2, 0, "#token: 70, #running-req: 7"),
            line(3, 0, "#running-req: 9, #token: 1,090.5, #queue-req: 8"),
        ]
        .concat(),
    );
    let values = |name: &str, rank: &str| {
        let is_it = |series: &&Series| series.name == name && series.labels.get("engine") == Some(rank);
        log.series.iter().find(is_it).map(|series| series.value.clone()).unwrap()
    };
    assert_eq!(values("log:decode #running-req", "TP0"), [1.0, 7.0, 9.0]);
    assert_eq!(values("log:decode #token", "TP0"), [10.0, 70.0, 1090.5]);
    assert_eq!(values("log:decode #queue-req", "TP0"), [2.0, 8.0]);
    assert_eq!(values("log:decode #running-req", "TP1"), [3.0, 5.0]);
    assert_eq!(values("log:decode #token", "TP1"), [30.0, 50.0]);
    assert_eq!(values("log:decode #queue-req", "TP1"), [4.0, 6.0]);
    assert_eq!(log.series.len(), 6);
}

#[test]
fn a_message_behind_a_progress_bar_is_read() {
    for bar in [
        "22/23 [00:13<00:00, 2.05it/s]",
        "50%|█████     | 1/2 [00:01<00:01, 1.00s/it]",
        "100%|██| 2/2 [00:02<00:00, 1.5s/it]",
    ] {
        let log = read(&format!(
            "Loading: 4%| [a] 1.5it/s]\r{bar}INFO 01-02 03:04:05 [a.py:1] GPU KV cache size: 1,024 tokens\n"
        ));
        assert_eq!(log.kv.tokens, Some(1024), "{bar}");
    }
}

#[test]
fn v0_prints_its_ledger_in_lines_of_one_message() {
    let log = read(
        "INFO 01-02 03:04:05 worker.py:267] Memory profiling takes 1.19 seconds\n\
         INFO 01-02 03:04:05 worker.py:267] the current vLLM instance can use total_gpu_memory (39.38GiB) x gpu_memory_utilization (0.95) = 37.41GiB\n\
         INFO 01-02 03:04:05 worker.py:267] model weights take 34.43GiB; non_torch_memory takes 0.34GiB; PyTorch activation peak memory takes 2.51GiB; the rest of the memory reserved for KV Cache is 0.13GiB.\n\
         INFO 01-02 03:04:05 executor_base.py:111] # cuda blocks: 71, # CPU blocks: 2184\n",
    );
    let terms: Vec<_> = [Term::Total, Term::Budget, Term::Weights, Term::NonTorch, Term::ActivationPeak, Term::KvCache]
        .into_iter()
        .map(|one| term(&log, one).unwrap())
        .collect();
    assert_eq!(terms, [39.38, 37.41, 34.43, 0.34, 2.51, 0.13]);
    assert_eq!(log.kv.blocks, Some(71));
}

const SGLANG: &str = "\
[2026-01-02 03:04:05] server_args=ServerArgs(model_path='m', api_key='planted', chunked_prefill_size=8192, schedule_policy='lpm')
[2026-01-02 03:04:06 TP0] Init torch distributed begin.
[2026-01-02 03:04:07 TP0] Init torch distributed ends. elapsed=1.20 s, mem usage=0.50 GB
[2026-01-02 03:04:08 TP0] Load weight begin. avail mem=78.50 GB
[2026-01-02 03:04:20 TP0] Load weight end. elapsed=12.00 s, type=LlamaForCausalLM, avail mem=63.50 GB, mem usage=15.00 GB.
[2026-01-02 03:04:21 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 400000, K size: 24.41 GB, V size: 24.41 GB
[2026-01-02 03:04:25 TP0] Capture cuda graph end. Time elapsed: 4.00 s. mem usage=1.50 GB. avail mem=12.00 GB.
[2026-01-02 03:04:26 TP0] max_total_num_tokens=400000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072, available_gpu_mem=12.00 GB
[2026-01-02 03:04:27] The server is fired up and ready to roll!
[2026-01-02 03:05:00 TP0] Prefill batch, #new-seq: 2, #new-token: 4096, #cached-token: 512, token usage: 0.10, #running-req: 3, #queue-req: 7, cuda graph: False
[2026-01-02 03:05:01 TP0] Decode batch, #running-req: 5, #token: 40000, token usage: 0.12, cuda graph: True, gen throughput (token/s): 250.50, #queue-req: 6
[2026-01-02 03:05:02 TP0] Decode batch [40], #running-req: 6, #token: 40000, token usage: 0.99, gen throughput (token/s): 250.50, #queue-req: 0
[2026-01-02 03:05:03 TP0] WARNING: KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_tokens_gained: 900, #new_token_ratio: 0.3000 -> 0.6500
";

#[test]
fn sglang_is_read_as_well() {
    let log = read(SGLANG);
    assert_eq!(log.engine.as_deref(), Some("sglang"));
    assert_eq!(log.setting("schedule_policy").map(|setting| setting.value.as_str()), Some("lpm"));
    assert!(!format!("{log:?}").contains("planted"));
    assert_eq!((log.kv.tokens, log.reached()), (Some(400_000), Some(StartPhase::Ready)));
    assert_eq!((term(&log, Term::Weights), term(&log, Term::KvCache)), (Some(15.0), Some(48.82)));
    assert_eq!(term(&log, Term::GraphsActual), Some(1.5));
    let series = |name: &str| log.series.iter().find(|series| series.name == name).unwrap();
    assert_eq!(series("log:decode #running-req").value, [5.0, 6.0]);
    assert_eq!(series("log:decode #running-req").labels.get("engine"), Some("TP0"));
    assert_eq!(series("log:prefill #cached-token").value, [512.0]);
    assert_eq!(series("log:prefill cuda graph").value, [0.0]);
    let retraction = &log.events[0];
    assert_eq!(retraction.kind, "retraction");
    assert!(retraction.figures.contains(&("requests", 3.0)));
    assert!(retraction.figures.contains(&("new_token_ratio_after", 0.65)));
}

#[test]
fn the_root_cause_is_not_the_last_traceback() {
    let log = read(
        "(Worker pid=3) INFO 03-04 05:06:12 [gpu_model_runner.py:1] Starting to load model m...\n\
         (EngineCore pid=2) ERROR 03-04 05:06:13 [core.py:1] EngineCore failed to start.\n\
         (EngineCore pid=2) ERROR 03-04 05:06:13 [core.py:1] Traceback (most recent call last):\n\
         (APIServer pid=1) INFO 03-04 05:06:13 [other.py:1] a line of another process between\n\
         (EngineCore pid=2) ERROR 03-04 05:06:13 [core.py:1]   File \"/x/vllm/v1/core/kv_cache_utils.py\", line 740, in check\n\
         (EngineCore pid=2) ERROR 03-04 05:06:13 [core.py:1]     raise ValueError(\n\
         (EngineCore pid=2) ERROR 03-04 05:06:13 [core.py:1] ValueError: To serve at least one request with the model's max seq len (8192), (2.50 GiB KV cache is needed, which is larger than the available KV cache memory (1.25 GiB). Try increasing.\n\
         Traceback (most recent call last):\n  File \"/x/serve.py\", line 3, in run\nRuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
    );
    let root = log.root_cause().unwrap();
    assert_eq!((root.kind, root.line, root.phase), (FailureKind::KvTooSmall, 7, Some(StartPhase::Weights)));
    assert_eq!(root.frame.as_deref(), Some("core/kv_cache_utils.py:740 check"));
    assert_eq!(root.process.as_deref(), Some("EngineCore"));
    assert_eq!((term(&log, Term::KvNeeded), term(&log, Term::KvCache)), (Some(2.5), Some(1.25)));
    assert_eq!(log.failures.len(), 3);
}

#[test]
fn failures_after_the_start_stand_alone() {
    let log = read(&format!("{START}Killed\n"));
    assert_eq!(log.root_cause().map(|failure| failure.kind), Some(FailureKind::Killed));
    let text = "INFO 03-04 05:06:38 [a.py:1] request of a user: \"Error: out of memory\"\n";
    assert!(read(text).failures.is_empty(), "a message is no failure because it contains a word");
}

#[test]
fn real_failed_starts_name_their_cause() {
    for (name, kind, part) in [
        ("engine/e_kv_too_small_blocks/server.log", FailureKind::KvTooSmall, "is larger than the available"),
        ("engine/e_maxlen_over_model/server.log", FailureKind::Configuration, "99999"),
        ("engine/e_kv_bigger_than_ram/server.log", FailureKind::KvRequestTooLarge, "KV"),
        ("metrics/vllm-0.25/vllm_serve_no_kv_cache_memory_v0.25.1.log", FailureKind::NoKvMemory, "cache blocks"),
        ("metrics/vllm-0.25/vllm_serve_max_model_len_rejected_v0.25.1.log", FailureKind::Configuration, "999999"),
        (
            "metrics/vllm-0.25/vllm_serve_unrecognized_argument_v0.25.1.log",
            FailureKind::Configuration,
            "--no-such-flag",
        ),
    ] {
        let Some(log) = artefact(name) else { return };
        let root = log.root_cause().unwrap_or_else(|| panic!("{name}: no failure found"));
        assert_eq!(root.kind, kind, "{name}: {root:?}");
        assert!(root.text.contains(part), "{name}: {root:?}");
        assert!(log.reached() < Some(StartPhase::Ready), "{name}");
    }
}

#[test]
fn real_logs_give_capacity_and_version() {
    for (name, version, tokens, blocks) in [
        ("engine/a_baseline_e1/server.log", "0.32.0", Some(262_144), None),
        ("engine/f_old_baseline/server.log", "0.16.0", Some(262_144), None),
        ("engine/c_kv_small_preempt/server.log", "0.32.0", None, Some(14)),
        ("logs/vllm-0.10-a100/vllm-7B-2gpuA10080GB-0.25GRAM-same-node.log", "0.10.1.1", Some(450_192), Some(28_137)),
    ] {
        let Some(log) = artefact(name) else { return };
        assert_eq!(log.version.as_deref(), Some(version), "{name}");
        if tokens.is_some() {
            assert_eq!(log.kv.tokens, tokens, "{name}");
        }
        if blocks.is_some() {
            assert_eq!(log.kv.blocks, blocks, "{name}");
        }
        assert_eq!(log.root_cause(), None, "{name}");
        assert_eq!(log.reached(), Some(StartPhase::Ready), "{name}");
    }
}

#[test]
fn collectors_around_lines() {
    let journal = "Jan 02 03:04:05 host7 vllm[77]: INFO 01-02 03:04:05 [a.py:1] text";
    assert_eq!(unwrap(journal).text, "INFO 01-02 03:04:05 [a.py:1] text");
    let line = unwrap("2026-01-02T03:04:05.5Z stdout P first ");
    assert_eq!((line.text.as_ref(), line.partial), ("first ", true));
    let line = unwrap("[pod/vllm-0/server] 2026-01-02T03:04:05Z \u{1b}[1;36m(APIServer pid=1)\u{1b}[0;0m INFO");
    assert_eq!((line.text.as_ref(), line.origin.as_deref()), ("(APIServer pid=1) INFO", Some("vllm-0/server")));
    let iso = unwrap("2026-01-02T04:04:05+0100 host7 vllm[77]: INFO text");
    assert_eq!((iso.text.as_ref(), iso.at_unix_ns), ("INFO text", Some(1_767_323_045_000_000_000)));
    let compose = unwrap("vllm-1  | (APIServer pid=1) INFO text");
    assert_eq!((compose.text.as_ref(), compose.origin.as_deref()), ("(APIServer pid=1) INFO text", Some("vllm-1")));
    assert_eq!(unwrap("a | b | c").text, "a | b | c");
    let text = "2026-01-02T03:04:05Z stderr P (APIServer pid=1) INFO 01-02 03:04:05 [a.py:1] vLLM API server \n\
                2026-01-02T03:04:06Z stderr F version 0.12.0\n";
    assert_eq!(read(text).version.as_deref(), Some("0.12.0"), "parts of a line are put together");
}

#[test]
fn a_message_in_pieces_loses_nothing() {
    let whole = [
        "Traceback (most recent call last):",
        "  File \"/x/config.py\", line 3, in check",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
        "  Value error, User-specified max_model_len (99999) is greater than the derived max_model_len (2048)",
    ];
    let mut text = String::new();
    for line in whole {
        let pieces: Vec<char> = line.chars().collect();
        let last = pieces.chunks(7).count() - 1;
        for (number, piece) in pieces.chunks(7).enumerate() {
            let (tag, piece): (_, String) = (if number == last { 'F' } else { 'P' }, piece.iter().collect());
            text += &format!("2026-01-02T03:04:05Z stderr {tag} {piece}\n");
        }
    }
    let log = read(&text);
    let root = log.root_cause().unwrap();
    assert_eq!(root.kind, FailureKind::Configuration);
    assert!(root.text.contains("max_model_len (99999)"), "{root:?}");
}

/// A scheduler that is gone says why itself, unless it was killed: then its parent knows by the signal alone.
#[test]
fn a_parent_of_sglang_tells_a_kill_and_repeats_the_rest() {
    let trace =
        |error: &str| format!("Traceback (most recent call last):\n  File \"/sglang/x.py\", line 1, in f\n{error}\n");
    let gone = |exit: i32| {
        format!(
            "RuntimeError: Rank 0 scheduler died during initialization (exit code: {exit}). If exit code is -9 (SIGKILL), a \
             common cause is the OS OOM killer."
        )
    };
    let at = "[2026-01-02 03:04:05] ";
    let context = "ValueError: Warning: User-specified context_length (65536) is greater than the derived context_length \
                   (32768). This may lead to incorrect model outputs or CUDA errors.";
    let memory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
    let raised = format!("{at}Scheduler hit an exception: {}", trace(memory));
    let cases = [
        (trace(context), FailureKind::Configuration),
        (trace(&gone(-9)), FailureKind::Killed),
        (format!("{raised}{at}Received sigquit from a child process.\n{}", trace(&gone(-3))), FailureKind::OutOfMemory),
    ];
    for (text, kind) in cases {
        let log = read(&text);
        assert_eq!(log.root_cause().map(|root| root.kind), Some(kind), "{text}: {:?}", log.failures);
    }
}

#[test]
fn a_day_that_no_month_has_dates_nothing() {
    for day in ["0", "32", "4294967295"] {
        let line = format!("INFO 12-{day} 03:04:05 [a.py:1] vLLM API server version 0.9.0");
        assert_eq!(split(&line).stated, None, "{line}");
        let mut source = line.as_bytes();
        let collected = collect(vec![Input::Stream("-", &mut source)], &Limits::default());
        assert_eq!(collected.read.len() + collected.unread.len(), 1, "{line}");
    }
}

#[test]
fn a_message_whose_end_is_missing_is_read_as_it_stands() {
    let log = read("2026-01-02T03:04:05Z stderr P torch.OutOfMemoryError: CUDA out of mem");
    assert_eq!(
        log.failures.iter().map(|one| (one.kind, one.line)).collect::<Vec<_>>(),
        [(FailureKind::OutOfMemory, 1)]
    );
}

#[test]
fn lines_out_of_order_around_the_new_year_do_not_add_years() {
    let mut reader = LogReader::new("server.log");
    for (number, time) in (1..).zip(["12-31 23:59:58", "01-01 00:00:00", "12-31 23:59:59", "01-01 00:00:01"]) {
        reader.line(number, &format!("INFO {time} [a.py:1] text"));
    }
    assert_eq!(reader.latest(), Some(Moment::at(3_000_000_000)));
}

#[test]
fn failures_without_end_are_bounded_and_the_last_one_stays() {
    let mut text = String::from("INFO 01-02 03:04:05 [a.py:1] Starting vLLM server on http://x\n");
    for number in 0..1_500 {
        text += &format!("Traceback (most recent call last):\nBadRequestError: request {number} is too long\n");
    }
    text += "torch.OutOfMemoryError: CUDA out of memory\n";
    let log = read(&text);
    assert_eq!((log.failures.len(), log.failures_dropped), (1_000, 501));
    assert_eq!(log.root_cause().map(|failure| failure.kind), Some(FailureKind::OutOfMemory));
}

#[test]
fn settings_as_python_prints_them() {
    let all = settings("{'a': 'x, y', 'b': [1, 2], 'c': {'d': None, 'e': 'q\\'s'}, 'api_key': ['sk-1']}", 3);
    let pairs: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
    assert_eq!(pairs, [("a", "x, y"), ("b", "[1, 2]"), ("c.d", "None"), ("c.e", "q\\'s"), ("api_key", "(redacted)")]);
    assert!(settings("", 1).is_empty());
    assert!(settings("{{{(((", 1).is_empty());
}

proptest! {
    #[test]
    fn nothing_panics(text in "(\\(Worker pid=1\\) |INFO |ERROR |01-02 03:04:05 |\\[a.py:1\\] |Traceback \\(most recent call last\\):|  File \"|ValueError: |\n|, |: |=|\\{|\\}|'|\\(|\\)|Avg prompt throughput: |Decode batch|took |[0-9.,%é]){0,60}") {
        let log = read(&text);
        log.root_cause();
        settings(&text, 1);
    }
}

#[test]
fn a_log_without_end_is_held_in_bounded_memory() {
    let mut reader = LogReader::new("server.log");
    let mut line = 0;
    let mut take = |text: &str| {
        line += 1;
        reader.line(line, text);
    };
    for number in 0..5_500 {
        take(&format!("(Worker_{number} pid=1) INFO 01-02 03:04:05 [a.py:1] Starting to load model m{number}"));
        take(&format!("(Worker_{number} pid=1) INFO 01-02 03:04:05 [a.py:1] Using {number} MoE backend"));
        take(&format!("(Worker_{number} pid=1) INFO 01-02 03:04:05 [a.py:1] Available KV cache memory: {number} GiB"));
        take(&format!("INFO 01-02 03:04:05 [a.py:1] non-default args: {{'a{number}': 1, 'b': 2}}"));
        take(&format!("(Worker_{number} pid=1) ERROR 01-02 03:04:05 [a.py:1] Traceback (most recent call last):"));
    }
    let log = reader.finish();
    assert_eq!((log.phases.len(), log.choices.len(), log.memory.len(), log.given.len()), (5_000, 1_000, 5_000, 5_000));
}

#[test]
fn of_statistics_lines_without_end_every_second_one_is_held() {
    let line = "INFO 01-02 03:04:05 [a.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 3 reqs";
    let mut reader = LogReader::within("server.log", &Limits { samples: 100, ..Limits::default() });
    for number in 1..=120 {
        reader.line(number, line);
    }
    assert_eq!(reader.stride(), 4);
    let log = reader.finish();
    assert_eq!(log.series.len(), 2);
    assert!(log.series.iter().all(|series| series.at.len() == 30 && series.value.len() == 30));
}

#[test]
fn a_traceback_in_one_message_of_sglang_is_that_of_its_process() {
    let log = read(
        "[2026-01-02 03:04:05 TP1] Scheduler hit an exception: Traceback (most recent call last):\n\
         \x20 File \"/x/sglang/srt/managers/scheduler.py\", line 12, in run\n    self.load()\n\
         \x20 File \"/x/sglang/srt/models/loader.py\", line 34, in load\n\
         torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n\n\
         [2026-01-02 03:04:06] Received sigquit from a child process. It usually means the child failed.\n",
    );
    let root = log.root_cause().unwrap();
    assert_eq!((root.kind, root.line, root.process.as_deref()), (FailureKind::OutOfMemory, 5, Some("TP1")));
    assert_eq!(root.frame.as_deref(), Some("models/loader.py:34 load"));
}

#[test]
fn a_message_behind_a_progress_bar_that_was_not_ended_is_read() {
    for bar in [
        " 96%|#########5| 22/23 [00:13<00:00,  2.05it/s]",
        "Loading shards:  50% | 1/2 [00:00<00:01,  2.1s/it]\rLoading shards: 100% | 2/2 [00:01<00:00,  1.3s/it] ",
    ] {
        let log = read(&format!("{bar}[2026-01-02 03:04:05 TP0] max_total_num_tokens=935444, context_len=32768"));
        assert_eq!(log.kv.tokens, Some(935_444), "{bar}");
        let log = read(&format!("{bar}\nINFO 01-02 03:04:05 [a.py:1] GPU KV cache size: 1,000 tokens"));
        assert_eq!(log.kv.tokens, Some(1_000), "{bar}");
    }
}

#[test]
fn lines_of_requests_are_none_that_are_not_understood() {
    let log = read(
        "[2026-01-02 03:04:05] INFO:     127.0.0.1:32770 - \"GET /health HTTP/1.1\" 200 OK\n\
         [2026-01-02 03:04:05] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)\n\
         (APIServer pid=7) INFO:     127.0.0.1:32770 - \"GET /health HTTP/1.1\" 200 OK\n\
         [2026-01-02 03:04:05] something else\n",
    );
    assert_eq!(log.not_understood, 1);
}

#[test]
fn a_program_that_logs_what_its_server_says() {
    let line =
        "2026-01-02 03:04:05,527 - __main__ - INFO - [2026-01-02 03:04:05 TP0] Load weight begin. avail mem=22.46 GB";
    let log = read(line);
    assert_eq!((log.engine.as_deref(), log.memory.len()), (Some("sglang"), 1));
    assert_eq!(unwrap("2026-01-02 03:04:05,527 - a - NOTE - b").text, "2026-01-02 03:04:05,527 - a - NOTE - b");
}

#[test]
fn what_reports_a_failure_elsewhere_is_no_root_even_where_the_log_begins_after_it() {
    for text in [
        "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause.",
        "vllm.engine.async_llm_engine.AsyncEngineDeadError: Task finished unexpectedly. This should never happen!",
    ] {
        let log = read(&format!(
            "ERROR 01-02 03:04:05 [core.py:1] Traceback (most recent call last):\nERROR 01-02 03:04:05 [core.py:1] {text}"
        ));
        assert_eq!(log.failures.iter().map(|one| one.kind).collect::<Vec<_>>(), [FailureKind::Consequence], "{text}");
    }
}

#[test]
fn a_start_that_ended_at_its_options_is_a_log_of_the_server() {
    for (before, refused) in [
        ("", "vllm: error: unrecognized arguments: --no-such-flag 3"),
        (
            "INFO 01-02 03:04:05 [importing.py:88] Triton not installed\n",
            "vllm serve: error: argument --port: invalid int",
        ),
        ("W0102 03:04:05 a warning of some library\n", "launch_server.py: error: unrecognized arguments: --x"),
    ] {
        let text = format!("{before}usage: vllm [-h] [-v]\n            {{chat,serve}} ...\n{refused}\n");
        let mut source = text.as_bytes();
        let collected = collect(vec![Input::Stream("-", &mut source)], &Limits::default());
        assert_eq!(
            collected.read.iter().map(|row| row.format.as_str()).collect::<Vec<_>>(),
            ["engine-log"],
            "{refused}"
        );
        let root = collected.evidence.logs[0].root_cause().unwrap();
        assert_eq!(root.kind, FailureKind::Configuration, "{refused}");
    }
}

#[test]
fn a_watchdog_tells_rank_and_number_of_its_collective() {
    let log = read(
        "[rank3]:[E304 05:36:12.5 ProcessGroupNCCL.cpp:632] [PG ID 2 PG GUID 3 Rank 3] Watchdog caught collective operation \
         timeout: WorkNCCL(SeqNum=5729, OpType=BROADCAST, NumelIn=3612672, NumelOut=3612672, Timeout(ms)=600000) ran for 600054 \
         milliseconds before timing out.",
    );
    let [timeout] = log.collective_timeouts.as_slice() else { panic!("{:?}", log.collective_timeouts) };
    let waited = timeout.waited.map(|waited| waited.0);
    assert_eq!(
        (timeout.rank, timeout.sequence, timeout.elements, waited),
        (Some(3), 5729, Some(3_612_672), Some(600.054))
    );
    assert_eq!(timeout.operation, "BROADCAST");
}

#[test]
fn the_cut_tail_of_a_failed_start_is_a_log() {
    let tail = "    self.engine_core = make_client(\n                       ^^^^^^^^^^^^\n  \
                File \"/opt/python/site-packages/vllm/v1/engine/utils.py\", line 9, in wait\n\
                RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n";
    let mut bytes = tail.as_bytes();
    let collected = collect(vec![Input::Stream("tail.log", &mut bytes)], &Limits::default());
    assert_eq!(collected.read.iter().map(|row| row.format.as_str()).collect::<Vec<_>>(), ["engine-log"]);
    assert_eq!(read(tail).failures.len(), 1, "and what it failed of is told");
    let poem = "a poem of a file \"/opt/vllm/x.py\"\nRuntimeError: none of these\n";
    let mut bytes = poem.as_bytes();
    assert!(collect(vec![Input::Stream("poem.txt", &mut bytes)], &Limits::default()).read.is_empty());
}

#[test]
fn names_of_pods_before_a_line_are_taken_off() {
    let line = "(APIServer pid=1) INFO 03-04 05:06:08 [api_server.py:1805] vLLM API server version 0.11.2";
    for (wrapped, origin) in [
        (format!("vllm-0 server {line}"), "vllm-0/server"),
        (format!("vllm-7d4f9c-x2k9q vllm {line}"), "vllm-7d4f9c-x2k9q/vllm"),
        (format!("[vllm-1] {line}"), "vllm-1"),
        (format!(r#"{{"ts":"2030-01-02T03:04:05Z","labels":{{"pod":"a"}},"line":"{line}"}}"#), "a"),
        (format!(r#"{{"line":"{line}","timestamp":"2030-01-02T03:04:05Z","labels":{{}}}}"#), ""),
    ] {
        let found = unwrap(&wrapped);
        assert_eq!(found.text, line, "{wrapped}");
        assert_eq!(found.origin.as_deref().unwrap_or_default(), origin, "{wrapped}");
    }
    let structured = format!(r#"{{"message":"{line}","line":245,"labels":"x","ts":1.5}}"#);
    assert_eq!(unwrap(&structured).text, line, "a number of a line is no text");
    let failed = "Traceback (most recent call last):\n  File \"/x/vllm/serve.py\", line 3, in run\n    raise ValueError(text)\n\
                  ValueError: To serve at least one request 9.0 GiB KV cache is needed\n";
    let log = format!("{line}\n{failed}");
    let wrapped: String = log.lines().map(|line| format!("vllm-0 server {line}\n")).collect();
    let messages = |text: &str| {
        read(text)
            .failures
            .iter()
            .map(|one| (one.exception.clone(), one.text.clone(), one.functions.clone()))
            .collect::<Vec<_>>()
    };
    assert!(!messages(&log).is_empty());
    assert_eq!(messages(&wrapped), messages(&log), "of a traceback every line loses them");
    for prose in ["gpt-4 model INFO is text", "[vllm] a word", "[2026-01-02 03:04:05] Decode batch", "a-1 b c"] {
        assert_eq!(unwrap(prose).text, prose);
    }
}
