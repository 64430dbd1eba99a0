//! How a start that fails ends: the root cause first, far above the last traceback, which does not name it.

use super::{
    ServerLog,
    style::{Level, Line, Process, Site, gib},
    traceback::{CORE_START, FEED_FORWARD, Frame, OutOfMemory, PROCESS, api_server, traceback, worker_failed},
};
use crate::memory::{Failure, Ledger, Start, start::Phase};

const ADVICE: &str = "See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details.";

pub(super) fn write(log: &mut ServerLog, at_ns: i64, start: &Start, failure: &Failure) {
    log.failing_ns = at_ns;
    match failure {
        Failure::UnknownArgument(argument) => {
            let usage =
                "usage: vllm [-h] [-v]\n            {chat,complete,serve,launch,bench,collect-env,run-batch} ...";
            log.text.push_str(&format!("{usage}\nvllm: error: unrecognized arguments: {argument}\n"));
        }
        Failure::LongerThanModel { asked, allowed } => {
            let text = traceback(&REJECTED, &longer_than_model(*asked, *allowed));
            log.style.bare(&mut log.text, Process::Api, &text);
        }
        Failure::Killed { .. } => {
            let name = log.style.core_name();
            last_words(log, &format!("{{'{name}': -9}}"));
        }
        Failure::NotFree { gpu } => {
            if let Some(ledger) = start.ledgers.get(*gpu as usize) {
                let error = not_free(log, ledger);
                of_worker(log, *gpu, &DEVICE, &format!("ValueError: {error}"), Rank::Starts);
            }
        }
        Failure::OutOfMemory { gpu, phase, tried, free } => {
            if let Some(ledger) = start.ledgers.get(*gpu as usize) {
                out_of_memory(log, ledger, *phase, [*tried, *free]);
            }
        }
        Failure::NoKv { .. } => {
            let advice = if log.style.since(20) {
                format!(
                    "Try increasing `gpu_memory_utilization` when initializing the engine (this flag also controls CPU \
                     memory reservation on the CPU backend, despite its name). {ADVICE}"
                )
            } else {
                "Try increasing `gpu_memory_utilization` when initializing the engine.".to_owned()
            };
            let error = format!("ValueError: No available memory for the cache blocks. {advice}");
            of_core(log, &[&CORE_START[..], &POOL[..]].concat(), &error);
        }
        Failure::TooLittleKv { needed, available, fits } => {
            // The stray parenthesis is the engine's own.
            let error = format!(
                "ValueError: To serve at least one request with the model's max seq len ({}), ({} GiB KV cache is \
                 needed, \
                 which is larger than the available KV cache memory ({} GiB). Based on the available memory, the \
                 estimated maximum model length is {fits}. Try increasing `gpu_memory_utilization` (which also \
                 controls \
                 CPU memory on the CPU backend) or decreasing `max_model_len` when initializing the engine. {ADVICE}",
                log.config.max_model_len,
                gib(*needed),
                gib(*available)
            );
            of_core(log, &[&CORE_START[..], &POOL[..]].concat(), &error);
        }
    }
}

fn longer_than_model(asked: u32, allowed: u32) -> String {
    format!(
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, \
         User-specified \
         max_model_len ({asked}) is greater than the derived max_model_len (max_position_embeddings={allowed}.0 or \
         model_max_length=None in model's config.json). To allow overriding this maximum, set the env var \
         VLLM_ALLOW_LONG_MAX_MODEL_LEN=1. VLLM_ALLOW_LONG_MAX_MODEL_LEN must be used with extreme caution. If the \
         model \
         uses relative position encoding (RoPE), positions exceeding derived_max_model_len lead to nan. If the model \
         uses \
         absolute position encoding, positions exceeding derived_max_model_len will cause a CUDA array out-of-bounds \
         error. [type=value_error, input_value=ArgsKwargs((), {{'model': ...rocessor_plugin': None}}), \
         input_type=ArgsKwargs]\n    For further information visit https://errors.pydantic.dev/2.13/v/value_error"
    )
}

fn not_free(log: &ServerLog, ledger: &Ledger) -> String {
    let device = if log.style.since(12) { format!(" cuda:{}", ledger.gpu) } else { String::new() };
    format!(
        "Free memory on device{device} ({}/{} GiB) on startup is less than desired GPU memory utilization ({}, {} \
         GiB). \
         Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        gib(ledger.free_at_start()),
        gib(ledger.total),
        log.config.gpu_memory_utilization,
        gib(ledger.requested)
    )
}

fn out_of_memory(log: &mut ServerLog, ledger: &Ledger, phase: Phase, [tried, free]: [f64; 2]) {
    let own = (ledger.total - ledger.others - free).max(0.0);
    let graphs = if phase == Phase::Sampler { ledger.graphs } else { 0.0 };
    let outside = ledger.context + if phase == Phase::Load { 0.0 } else { ledger.non_torch };
    let torch = (own - outside).max(0.0);
    let (gpu, total, others) = (ledger.gpu, ledger.total, ledger.others);
    let message = OutOfMemory { gpu, tried, total, free, others, own, torch, graphs }.message();
    let error = format!("torch.OutOfMemoryError: {message}");
    match phase {
        Phase::Load => {
            let told = format!(
                "Failed to load model - not enough GPU memory. Try lowering --gpu-memory-utilization to free memory \
                 for \
                 weights, increasing --tensor-parallel-size, or using --quantization. See \
                 https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more tips. (original error: \
                 {message})"
            );
            say(log, Process::Worker(gpu), Site("v1/worker/", "gpu_model_runner.py", 4173, 5058), &told);
            of_worker(log, gpu, &LOAD, &error, Rank::Starts);
        }
        Phase::Profile => of_worker(log, gpu, &PROFILE, &error, Rank::Works),
        Phase::Allocate => of_worker(log, gpu, &ALLOCATE, &error, Rank::Works),
        Phase::Capture => of_worker(log, gpu, &CAPTURE, &error, Rank::Works),
        Phase::Sampler => {
            let rows = log.config.max_num_seqs.min(log.config.max_num_batched_tokens);
            let told = format!(
                "RuntimeError: CUDA out of memory occurred when warming up sampler with {rows} dummy requests. Please \
                 try \
                 lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine."
            );
            let cause = traceback(&SAMPLER[3..], &error);
            let first = format!("{cause}\n\nThe above exception was the direct cause of the following exception:\n\n");
            chained(log, gpu, &first, &SAMPLER[..3], &told);
        }
    }
}

/// What a rank was at when it failed: the core learns of it in different words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    /// Starting its process.
    Starts,
    /// Carrying out a call of the core.
    Works,
}

/// A failure in a worker. A single GPU has its worker in the core's process: one traceback shows it all. With several,
/// the worker prints the cause, and the core only that a worker failed.
fn of_worker(log: &mut ServerLog, gpu: u32, frames: &[Frame], error: &str, rank: Rank) {
    if log.style.ranks == 1 {
        let all = [&CORE_START[..], frames].concat();
        return of_core(log, &all, error);
    }
    let site = Site("v1/executor/", "multiproc_executor.py", 772, 1063);
    let headline = if rank == Rank::Starts { "WorkerProc failed to start." } else { "WorkerProc hit an exception." };
    say(log, Process::Worker(gpu), site, &format!("{headline}\n{}", traceback(frames, error)));
    let told = match rank {
        Rank::Starts => {
            "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace \
             for root cause."
                .to_owned()
        }
        Rank::Works => worker_failed(error),
    };
    of_core(log, &[&CORE_START[..], &EXECUTOR[..]].concat(), &told);
}

/// As [`of_worker`], with an exception that another one caused.
fn chained(log: &mut ServerLog, gpu: u32, first: &str, frames: &[Frame], error: &str) {
    if log.style.ranks > 1 {
        let site = Site("v1/executor/", "multiproc_executor.py", 772, 1063);
        let text = format!("WorkerProc hit an exception.\n{first}{}", traceback(frames, error));
        say(log, Process::Worker(gpu), site, &text);
        return of_core(log, &[&CORE_START[..], &EXECUTOR[..]].concat(), &worker_failed(error));
    }
    let all = [&CORE_START[..], frames].concat();
    let site = Site("v1/engine/", "core.py", 1006, 1510);
    say(log, Process::Core, site, &format!("EngineCore failed to start.\n{first}{}", traceback(&all, error)));
    core_ends(log, &all, error);
}

/// A failure in the core: logged, raised again by its process, and mourned by the API server.
fn of_core(log: &mut ServerLog, frames: &[Frame], error: &str) {
    let site = Site("v1/engine/", "core.py", 1006, 1510);
    say(log, Process::Core, site, &format!("EngineCore failed to start.\n{}", traceback(frames, error)));
    core_ends(log, frames, error);
}

fn core_ends(log: &mut ServerLog, frames: &[Frame], error: &str) {
    let name = log.style.core_name();
    let again = traceback(PROCESS.iter().chain(frames), error);
    log.style.bare(&mut log.text, Process::Core, &format!("Process {name}:\n{again}"));
    last_words(log, "{}");
}

/// The API server's end: it only knows that the core is gone.
fn last_words(log: &mut ServerLog, failed: &str) {
    let error =
        format!("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {failed}");
    log.style.bare(&mut log.text, Process::Api, &api_server(&error));
    log.text.push_str(
        "/usr/lib/python3.12/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to \
         be 1 \
         leaked shared_memory objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be \
         %d '\n",
    );
}

fn say(log: &mut ServerLog, process: Process, site: Site, message: &str) {
    let line = Line { process, level: Level::Error, site, message: message.to_owned() };
    log.line_at(log.failing_ns, &line);
}

const REJECTED: [Frame; 5] = [
    ("/usr/local/bin/vllm", 10, "<module>", "sys.exit(main())"),
    ("vllm/entrypoints/cli/main.py", 120, "main", "args.dispatch_function(args)"),
    ("vllm/entrypoints/cli/serve.py", 156, "cmd", "uvloop.run(run_server(args))"),
    ("vllm/engine/arg_utils.py", 1614, "create_model_config", "return ModelConfig("),
    (
        "pydantic/_internal/_dataclasses.py",
        121,
        "__init__",
        "s.__pydantic_validator__.validate_python(ArgsKwargs(args, kwargs), self_instance=s)",
    ),
];

const POOL: [Frame; 4] = [
    ("vllm/v1/engine/core.py", 157, "__init__", "kv_cache_config = self._initialize_kv_caches(vllm_config)"),
    ("vllm/v1/engine/core.py", 326, "_initialize_kv_caches", "kv_cache_configs = get_kv_cache_configs("),
    ("vllm/v1/core/kv_cache_utils.py", 2642, "get_kv_cache_configs", "_check_enough_kv_cache_memory("),
    ("vllm/v1/core/kv_cache_utils.py", 1030, "_check_enough_kv_cache_memory", "raise ValueError("),
];

const EXECUTOR: [Frame; 3] = [
    ("vllm/v1/engine/core.py", 148, "__init__", "self.model_executor = executor_class(vllm_config)"),
    (
        "vllm/v1/executor/multiproc_executor.py",
        455,
        "collective_rpc",
        "return future if non_block else future.result()",
    ),
    ("vllm/v1/executor/multiproc_executor.py", 444, "get_response", "raise RuntimeError("),
];

const DEVICE: [Frame; 3] = [
    ("vllm/v1/executor/uniproc_executor.py", 47, "_init_executor", "self.driver_worker.init_device()"),
    (
        "vllm/v1/worker/gpu_worker.py",
        318,
        "init_device",
        "self.requested_memory = request_memory(init_snapshot, self.cache_config)",
    ),
    ("vllm/v1/worker/utils.py", 412, "request_memory", "raise ValueError("),
];

const LOAD: [Frame; 6] = [
    ("vllm/v1/executor/uniproc_executor.py", 48, "_init_executor", "self.driver_worker.load_model()"),
    ("vllm/v1/worker/gpu_worker.py", 357, "load_model", "self.model_runner.load_model()"),
    ("vllm/v1/worker/gpu_model_runner.py", 5033, "load_model", "self.model = model_loader.load_model("),
    (
        "vllm/model_executor/models/llama.py",
        388,
        "__init__",
        "self.start_layer, self.end_layer, self.layers = make_layers(",
    ),
    ("vllm/model_executor/models/llama.py", 92, "__init__", "self.gate_up_proj = MergedColumnParallelLinear("),
    ("torch/utils/_device.py", 104, "__torch_function__", "return func(*args, **kwargs)"),
];

const PROFILE: [Frame; 6] = [
    (
        "vllm/v1/engine/core.py",
        297,
        "_initialize_kv_caches",
        "available_gpu_memory = self.model_executor.determine_available_memory()",
    ),
    ("vllm/v1/worker/gpu_worker.py", 489, "determine_available_memory", "self.model_runner.profile_run()"),
    ("vllm/v1/worker/gpu_model_runner.py", 6212, "profile_run", "hidden_states, last_hidden_states = self._dummy_run("),
    ("vllm/v1/worker/gpu_model_runner.py", 6005, "_dummy_run", "outputs = self.model("),
    ("vllm/model_executor/models/llama.py", 618, "forward", "model_output = self.model("),
    FEED_FORWARD,
];

const ALLOCATE: [Frame; 3] = [
    (
        "vllm/v1/engine/core.py",
        351,
        "_initialize_kv_caches",
        "self.model_executor.initialize_from_config(kv_cache_configs)",
    ),
    (
        "vllm/v1/worker/gpu_model_runner.py",
        7204,
        "initialize_kv_cache_tensors",
        "kv_cache_raw_tensors = self._allocate_kv_cache_tensors(kv_cache_config)",
    ),
    ("vllm/v1/worker/gpu_model_runner.py", 7088, "_allocate_kv_cache_tensors", "tensor = torch.zeros("),
];

const CAPTURE: [Frame; 6] = [
    (
        "vllm/v1/engine/core.py",
        351,
        "_initialize_kv_caches",
        "self.model_executor.initialize_from_config(kv_cache_configs)",
    ),
    (
        "vllm/v1/worker/gpu_worker.py",
        655,
        "compile_or_warm_up_model",
        "cuda_graph_memory_bytes = self.model_runner.capture_model()",
    ),
    ("vllm/v1/worker/gpu_model_runner.py", 6931, "capture_model", "self._capture_cudagraphs("),
    ("vllm/compilation/cuda_graph.py", 318, "__call__", "output = self.runnable(*args, **kwargs)"),
    ("vllm/model_executor/models/llama.py", 618, "forward", "model_output = self.model("),
    FEED_FORWARD,
];

const SAMPLER: [Frame; 5] = [
    (
        "vllm/v1/engine/core.py",
        351,
        "_initialize_kv_caches",
        "self.model_executor.initialize_from_config(kv_cache_configs)",
    ),
    (
        "vllm/v1/worker/gpu_worker.py",
        709,
        "compile_or_warm_up_model",
        "self.model_runner._dummy_sampler_run(hidden_states=last_hidden_states)",
    ),
    ("vllm/v1/worker/gpu_model_runner.py", 6117, "_dummy_sampler_run", "raise RuntimeError("),
    ("vllm/v1/worker/gpu_model_runner.py", 6111, "_dummy_sampler_run", "sampler_output = self.sampler("),
    ("vllm/v1/sample/sampler.py", 98, "forward", "logits = logits.to(torch.float32)"),
];
