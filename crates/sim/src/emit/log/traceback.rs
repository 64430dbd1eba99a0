//! Tracebacks in Python's form.

/// A call: file below the package folder (or `py:` and a file of Python's own), line, function, the line's code.
pub(super) type Frame = (&'static str, u32, &'static str, &'static str);

const PACKAGES: &str = "/usr/local/lib/python3.12/dist-packages/";
const PYTHON: &str = "/usr/lib/python3.12/";

/// A traceback, outermost call first, and the exception that ends it.
pub(super) fn traceback<'a>(frames: impl IntoIterator<Item = &'a Frame>, error: &str) -> String {
    let mut text = "Traceback (most recent call last):".to_owned();
    for (file, line, function, code) in frames {
        let path = match file.strip_prefix("py:") {
            Some(own) => format!("{PYTHON}{own}"),
            None if file.starts_with('/') => (*file).to_owned(),
            None => format!("{PACKAGES}{file}"),
        };
        text.push_str(&format!("\n  File \"{path}\", line {line}, in {function}\n    {code}"));
        if let Some(marks) = marked(code) {
            text.push_str(&format!("\n    {marks}"));
        }
    }
    text.push('\n');
    text.push_str(error);
    text
}

/// Python marks the part of a line that failed where it is not the whole line: the right-hand side of an assignment or
/// what is returned.
fn marked(code: &str) -> Option<String> {
    let whole = code.chars().count();
    let from = ["return await ", "return ", " = "]
        .iter()
        .find_map(|word| code.find(word).filter(|at| *word == " = " || *at == 0).map(|at| at + word.len()))?;
    let start = code.get(..from)?.chars().count();
    Some(format!("{}{}", " ".repeat(start), "^".repeat(whole - start)))
}

/// What the core raises when a worker in another process raised `error`: the message without the exception's name.
pub(super) fn worker_failed(error: &str) -> String {
    let message = error.split_once(": ").map_or(error, |(_, message)| message);
    format!("RuntimeError: Worker failed with error '{message}', please check the stack trace above for the root cause")
}

/// How the API server ends when its engine did not start: no word of why.
pub(super) fn api_server(error: &str) -> String {
    traceback(&API, error)
}

const API: [Frame; 14] = [
    ("/usr/local/bin/vllm", 10, "<module>", "sys.exit(main())"),
    ("vllm/entrypoints/cli/main.py", 120, "main", "args.dispatch_function(args)"),
    ("vllm/entrypoints/cli/serve.py", 156, "cmd", "uvloop.run(run_server(args))"),
    ("uvloop/__init__.py", 96, "run", "return __asyncio.run("),
    ("py:asyncio/runners.py", 195, "run", "return runner.run(main)"),
    ("py:asyncio/runners.py", 118, "run", "return self._loop.run_until_complete(task)"),
    ("uvloop/__init__.py", 48, "wrapper", "return await main"),
    (
        "vllm/entrypoints/launchers/api_server/entry.py",
        177,
        "run_server",
        "await run_server_worker(listen_address, sock, args, **uvicorn_kwargs)",
    ),
    (
        "vllm/entrypoints/launchers/api_server/entry.py",
        95,
        "build_async_engine_client_from_engine_args",
        "async_llm = AsyncLLM.from_vllm_config(",
    ),
    ("vllm/v1/engine/async_llm.py", 255, "from_vllm_config", "return cls("),
    ("vllm/v1/engine/async_llm.py", 184, "__init__", "self.engine_core = EngineCoreClient.make_async_mp_client("),
    ("vllm/v1/engine/core_client.py", 682, "__init__", "with launch_core_engines("),
    ("vllm/v1/engine/utils.py", 1351, "launch_core_engines", "wait_for_engine_startup("),
    ("vllm/v1/engine/utils.py", 1431, "wait_for_engine_startup", "raise RuntimeError("),
];

/// Calls of the core's process around everything it does.
pub(super) const PROCESS: [Frame; 3] = [
    ("py:multiprocessing/process.py", 314, "_bootstrap", "self.run()"),
    ("py:multiprocessing/process.py", 108, "run", "self._target(*self._args, **self._kwargs)"),
    ("vllm/v1/engine/core.py", 1514, "run_engine_core", "raise e"),
];

/// Calls of the core's process while it starts.
pub(super) const CORE_START: [Frame; 3] = [
    (
        "vllm/v1/engine/core.py",
        1482,
        "run_engine_core",
        "engine_core = EngineCoreProc(*args, engine_index=dp_rank, **kwargs)",
    ),
    ("vllm/tracing/otel.py", 175, "sync_wrapper", "return func(*args, **kwargs)"),
    ("vllm/v1/engine/core.py", 1194, "__init__", "super().__init__("),
];

/// Calls of the core's process while it serves.
pub(super) const CORE_STEP: [Frame; 4] = [
    ("vllm/v1/engine/core.py", 1491, "run_engine_core", "engine_core.run_busy_loop()"),
    ("vllm/v1/engine/core.py", 1538, "run_busy_loop", "self._process_engine_step()"),
    ("vllm/v1/engine/core.py", 1577, "_process_engine_step", "outputs, model_executed = self.step_fn()"),
    ("vllm/v1/engine/core.py", 585, "step_with_batch_queue", "model_output = future.result()"),
];

/// Calls of a worker that run a forward pass.
pub(super) const FORWARD: [Frame; 3] = [
    ("vllm/v1/worker/gpu_worker.py", 801, "execute_model", "output = self.model_runner.execute_model("),
    ("vllm/v1/worker/gpu_model_runner.py", 4012, "execute_model", "model_output = self._model_forward("),
    ("vllm/model_executor/models/llama.py", 618, "forward", "model_output = self.model("),
];

/// The last call of a forward pass that wants memory.
pub(super) const FEED_FORWARD: Frame = (
    "vllm/model_executor/layers/activation.py",
    141,
    "forward_cuda",
    "out = torch.empty(output_shape, dtype=x.dtype, device=x.device)",
);

/// Calls that encode images.
pub(super) const ENCODER: [Frame; 4] = [
    ("vllm/v1/worker/gpu_worker.py", 801, "execute_model", "output = self.model_runner.execute_model("),
    (
        "vllm/v1/worker/gpu_model_runner.py",
        2677,
        "_execute_mm_encoder",
        "encoder_outputs = model.embed_multimodal(**mm_kwargs)",
    ),
    (
        "vllm/model_executor/models/qwen2_5_vl.py",
        1288,
        "_process_image_input",
        "image_embeds = self.visual(pixel_values, grid_thw=grid_thw_list)",
    ),
    ("vllm/model_executor/models/qwen2_5_vl.py", 402, "forward", "x_fc1 = self.mlp(self.norm2(x))"),
];

/// What PyTorch says when a GPU has no memory left.
pub(super) struct OutOfMemory {
    pub(super) gpu: u32,
    pub(super) tried: f64,
    pub(super) total: f64,
    pub(super) free: f64,
    /// Held by other processes.
    pub(super) others: f64,
    /// Held by the process that failed.
    pub(super) own: f64,
    /// The part of `own` that PyTorch holds.
    pub(super) torch: f64,
    /// The part of `torch` in graphs.
    pub(super) graphs: f64,
}

impl OutOfMemory {
    /// The message, without the name of the exception.
    pub(super) fn message(&self) -> String {
        let other = if self.others > 0.0 {
            format!("Process 412 has {} memory in use. ", size(self.others))
        } else {
            String::new()
        };
        let graphs = if self.graphs > 0.0 {
            format!("with {} allocated in private pools (e.g., CUDA Graphs), and ", size(self.graphs))
        } else {
            "and ".to_owned()
        };
        format!(
            "CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {} of which {} is free. \
             {other}Including non-PyTorch memory, this process has {} memory in use. Of the allocated memory {} is \
             allocated by PyTorch, {graphs}{} is reserved by PyTorch but unallocated. If reserved but unallocated \
             memory \
             is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See \
             documentation for Memory Management  \
             (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
            size(self.tried),
            self.gpu,
            size(self.total),
            size(self.free),
            size(self.own),
            size(self.torch),
            size(self.own * 0.002),
        )
    }
}

/// A size as PyTorch writes it.
fn size(bytes: f64) -> String {
    const MIB: f64 = 1_048_576.0;
    if bytes >= 1024.0 * MIB { format!("{:.2} GiB", bytes / (1024.0 * MIB)) } else { format!("{:.2} MiB", bytes / MIB) }
}
