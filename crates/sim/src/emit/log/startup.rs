//! What a server says while it starts, up to being ready or to the phase that fails.

use super::{
    ServerLog, args,
    style::{Level, Line, Process, Site, Style, gib, thousands},
};
use crate::{
    config::{EngineConfig, GraphMode},
    memory::{Failure, GIB, Ledger, Start, ledger, start::Phase},
};

/// How far a start comes: the phases in the order in which their first lines appear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    Arguments,
    Config,
    Device,
    Load,
    Profile,
    Pool,
    Capture,
    Warm,
    Ready,
}

impl Reached {
    fn of(start: &Start) -> Self {
        match &start.outcome {
            Ok(_) => Self::Ready,
            Err(Failure::UnknownArgument(_)) => Self::Arguments,
            Err(Failure::LongerThanModel { .. }) => Self::Config,
            Err(Failure::NotFree { .. }) => Self::Device,
            Err(Failure::Killed { .. }) => Self::Load,
            Err(Failure::OutOfMemory { phase, .. }) => match phase {
                Phase::Load => Self::Load,
                Phase::Profile => Self::Profile,
                Phase::Allocate => Self::Pool,
                Phase::Capture => Self::Capture,
                Phase::Sampler => Self::Warm,
            },
            Err(Failure::NoKv { .. } | Failure::TooLittleKv { .. }) => Self::Pool,
        }
    }
}

/// A line to come, or a bare one, at a share of the start's time.
enum Entry {
    Logged(Line),
    Bare(Process, String),
}

/// The start so far.
struct Script<'a> {
    config: &'a EngineConfig,
    start: &'a Start,
    style: &'a Style,
    at: f64,
    entries: Vec<(f64, Entry)>,
}

pub(super) fn write(log: &mut ServerLog, ready_ns: i64, start: &Start) {
    let (style, config, options) = (log.style.clone(), log.config.clone(), log.options.clone());
    let mut script = Script { config: &config, start, style: &style, at: 0.0, entries: Vec::new() };
    let reached = Reached::of(start);
    if reached > Reached::Arguments {
        script.arguments(options.port, options.access);
    }
    type Say = fn(&mut Script<'_>);
    let phases: [(Reached, Say); 6] = [
        (Reached::Device, |script| script.engine()),
        (Reached::Load, |script| script.load()),
        (Reached::Profile, |script| script.profile()),
        (Reached::Pool, |script| script.pool()),
        (Reached::Capture, |script| script.capture()),
        (Reached::Ready, |script| script.initialised()),
    ];
    for (phase, say) in phases {
        if reached >= phase {
            say(&mut script);
        }
    }
    if reached == Reached::Ready {
        script.serving(options.port);
    }
    let (entries, length) = (script.entries, script.at.max(1e-9));
    for (at, entry) in entries {
        let at_ns = ready_ns + ((at / length - 1.0) * options.start_seconds * 1e9) as i64;
        match entry {
            Entry::Logged(line) => log.line_at(at_ns, &line),
            Entry::Bare(process, text) => log.style.bare(&mut log.text, process, &text),
        }
    }
}

impl Script<'_> {
    /// Lets time pass; a share of the whole, not seconds.
    fn wait(&mut self, time: f64) {
        self.at += time;
    }

    fn say(&mut self, process: Process, level: Level, site: Site, message: impl Into<String>) {
        let line = Line { process, level, site, message: message.into() };
        self.entries.push((self.at, Entry::Logged(line)));
    }

    fn api(&mut self, site: Site, message: impl Into<String>) {
        self.say(Process::Api, Level::Info, site, message);
    }

    fn core(&mut self, site: Site, message: impl Into<String>) {
        self.say(Process::Core, Level::Info, site, message);
    }

    /// A message of every worker.
    fn workers(&mut self, level: Level, site: Site, message: impl Fn(&Ledger) -> String) {
        for ledger in self.start.ledgers.clone() {
            self.say(Process::Worker(ledger.gpu), level, site, message(&ledger));
        }
    }

    /// A message that only the first worker gives.
    fn once(&mut self, site: Site, message: impl Into<String>) {
        self.say(Process::Worker(0), Level::Info, site, message);
    }

    fn bare(&mut self, process: Process, text: impl Into<String>) {
        self.entries.push((self.at, Entry::Bare(process, text.into())));
    }

    fn arguments(&mut self, port: u16, access: bool) {
        let (style, config) = (self.style, self.config);
        let banner =
            Site("entrypoints/.../utils/", if style.since(20) { "api_utils.py" } else { "utils.py" }, 287, 347);
        self.api(
            banner,
            format!(
                "\n       █     █     █▄   ▄█\n ▄▄ ▄█ █     █     █ ▀▄▀ █  version {}\n  █▄█▀ █     █     █     █  \
                 model   {}\n   ▀▀  ▀▀▀▀▀ ▀▀▀▀▀ ▀     ▀\n",
                config.version, config.model_name
            ),
        );
        let given = format!("non-default args: {}", args::non_default(config, style, port, access));
        self.api(Site(banner.0, banner.1, 223, 286), given);
        self.wait(6.0);
        self.api(Site("config/", "model.py", 529, 733), "Resolved architecture: LlamaForCausalLM");
        if Reached::of(self.start) == Reached::Config {
            return;
        }
        self.api(Site("config/", "model.py", 1549, 2152), format!("Using max model len {}", config.max_model_len));
        let budget = config.max_num_batched_tokens;
        let chunked = format!("Chunked prefill is enabled with max_num_batched_tokens={budget}.");
        self.api(Site("config/", "scheduler.py", 224, 246), chunked);
        if !style.since(29) && style.since(14) {
            self.api(Site("config/", "vllm.py", 689, 689), "Asynchronous scheduling is enabled.");
        }
        if config.kv_cache_dtype.starts_with("fp8") {
            let using = format!(
                "Using {} data type to store kv cache. It reduces the GPU memory footprint and boosts the performance. \
                 Meanwhile, it may cause accuracy drop without a proper scaling factor.",
                config.kv_cache_dtype
            );
            self.api(Site("config/", "cache.py", 216, 241), using);
        }
        if config.graphs.mode == GraphMode::None {
            let eager = if style.since(20) {
                "Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup. This is equivalent to \
                 setting -cc.mode=none -cc.cudagraph_mode=none and --kernel_config.enable_jit_warmup=False"
            } else {
                "Enforce eager set, overriding optimization level to -O0"
            };
            self.say(Process::Api, Level::Warning, Site("config/", "vllm.py", 727, 1703), eager);
        }
        self.wait(8.0);
    }

    fn engine(&mut self) {
        let (style, config) = (self.style, self.config);
        let resolved = args::resolved(config, style);
        let message = format!("Initializing a V1 LLM engine (v{}) with config: {resolved}", config.version);
        self.core(Site("v1/engine/", "core.py", 97, 133), message);
        let ranks = style.ranks;
        if ranks > 1 && style.since(20) {
            let leader = format!(
                "DP group leader: node_rank=0, node_rank_within_dp=0, master_addr=127.0.0.1, mq_connect_ip=192.0.2.2 \
                 (local), world_size={ranks}, local_world_size={ranks}"
            );
            self.core(Site("v1/executor/", "multiproc_executor.py", 118, 153), leader);
        }
        self.wait(5.0);
        self.workers(Level::Info, Site("distributed/", "parallel_state.py", 1234, 1906), |ledger| {
            let rank = ledger.gpu;
            format!(
                "world_size={ranks} rank={rank} local_rank={rank} distributed_init_method=tcp://127.0.0.1:34021 \
                 backend=nccl"
            )
        });
        if ranks > 1 {
            self.once(Site("distributed/", "pynccl.py", 111, 131), "vLLM is using nccl==2.27.5");
        }
        self.workers(Level::Info, Site("distributed/", "parallel_state.py", 1445, 2350), |ledger| {
            let rank = ledger.gpu;
            format!(
                "rank {rank} in world size {ranks} is assigned as DP rank 0, PP rank 0, PCP rank 0, TP rank {rank}, EP \
                 rank N/A"
            )
        });
        if style.since(14) && Reached::of(self.start) > Reached::Device {
            self.workers(Level::Debug, Site("v1/worker/", "gpu_worker.py", 266, 331), |ledger| {
                let share = ledger.requested / ledger.total;
                format!(
                    "Initial free memory: {} GiB; Requested memory: {share:.6} (util), {} GiB",
                    gib(ledger.free_at_start()),
                    gib(ledger.requested)
                )
            });
        }
    }

    fn load(&mut self) {
        let (style, model) = (self.style, self.config.model_name.clone());
        self.workers(Level::Info, Site("v1/worker/", "gpu_model_runner.py", 4128, 5012), |_| {
            format!("Starting to load model {model}...")
        });
        self.once(
            Site("platforms/", "cuda.py", 364, 471),
            "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN', \
             'FLEX_ATTENTION'].",
        );
        if style.since(18) {
            let attention = Site("v1/attention/backends/", "flash_attn.py", 560, 640);
            self.once(attention, "Using FlashAttention version 3");
        }
        let failing = Reached::of(self.start) == Reached::Load;
        let weights = self.start.ledgers.first().map_or(0.0, |ledger| ledger.weights);
        let shards = ((weights * f64::from(style.ranks) / (4.7 * GIB)).ceil() as u32).max(1);
        self.shard(0, shards);
        self.wait(4.0);
        if failing {
            return;
        }
        self.shard(shards, shards);
        let seconds = weights / 2.4e9;
        self.workers(Level::Info, Site("model_executor/model_loader/", "default_loader.py", 293, 501), |_| {
            format!("Loading weights took {seconds:.2} seconds")
        });
        self.workers(Level::Info, Site("v1/worker/", "gpu_model_runner.py", 4225, 5109), |ledger| {
            format!("Model loading took {} GiB memory and {:.6} seconds", gib(ledger.weights), seconds + 0.812_344)
        });
        self.wait(3.0);
    }

    fn shard(&mut self, done: u32, of: u32) {
        let percent = done * 100 / of.max(1);
        let eta =
            if done == 0 { "[00:00<?, ?it/s]".to_owned() } else { format!("[00:0{}<00:00,  1.31it/s]", of.min(9)) };
        self.bare(
            Process::Worker(0),
            format!("Loading safetensors checkpoint shards: {percent:>3}% Completed | {done}/{of} {eta}"),
        );
    }

    fn profile(&mut self) {
        let (style, config) = (self.style, self.config);
        let compiled = config.graphs.mode != GraphMode::None;
        if compiled {
            let cache = "Using cache directory: /var/cache/vllm/torch_compile_cache/5f2b7e61c0/rank_0_0/backbone for \
                         vLLM's torch.compile";
            self.once(Site("compilation/", "backends.py", 872, 1014), cache);
            self.once(Site("compilation/", "backends.py", 932, 1071), "Dynamo bytecode transform time: 4.61 s");
            self.wait(5.0);
            let budget = config.max_num_batched_tokens;
            let direct = format!(
                "Directly load the compiled graph(s) for compile range (1, {budget}) from the cache, took 1.482 s"
            );
            self.once(Site("compilation/", "backends.py", 270, 344), direct);
            let word = if style.since(18) { "took" } else { "takes" };
            self.once(Site("compilation/", "monitor.py", 34, 53), format!("torch.compile {word} 6.09 s in total"));
        }
        if Reached::of(self.start) == Reached::Profile {
            return;
        }
        // A pool of a stated size needs no estimate of anything.
        if compiled && style.since(18) && config.memory.kv_gib.is_none() {
            let (pieces, whole) = self.captures();
            let estimate = Site("v1/worker/", "gpu_model_runner.py", 5651, 6806);
            let largest = config.graphs.sizes(config.max_num_seqs).last().copied().unwrap_or(0);
            let profiling = format!(
                "Profiling CUDA graph memory: PIECEWISE={pieces} (largest={largest}), FULL={whole} (largest={largest})"
            );
            self.once(Site(estimate.0, estimate.1, 5528, 6681), profiling);
            self.workers(Level::Info, estimate, |ledger| {
                format!("Estimated CUDA graph memory: {:.2} GiB total", ledger.graphs_estimate / GIB)
            });
        }
        self.ledger();
    }

    /// The terms of the ledger, which only a verbose log has, and what they leave.
    fn ledger(&mut self) {
        let by_plan = self.config.memory.kv_gib.is_some();
        let file = ("v1/worker/", "gpu_worker.py");
        if by_plan {
            self.workers(Level::Info, Site(file.0, file.1, 344, 498), |ledger| {
                format!(
                    "Initial free memory {} GiB, reserved {} GiB memory for KV Cache as specified by \
                     kv_cache_memory_bytes config and skipped memory profiling. This does not respect the \
                     gpu_memory_utilization config. Only use kv_cache_memory_bytes config when you want manual control \
                     of KV cache memory size.",
                    gib(ledger.free_at_start()),
                    gib(ledger.kv)
                )
            });
            return;
        }
        self.workers(Level::Debug, Site(file.0, file.1, 389, 541), |ledger| {
            let held = ledger.context + ledger.weights + ledger.non_torch;
            format!(
                "Free memory after profiling: {} GiB (total), {} GiB (within requested)",
                gib(ledger.total - ledger.others - held),
                gib(ledger.requested - held)
            )
        });
        let newest = self.style.since(30);
        self.workers(Level::Debug, Site(file.0, file.1, 395, 549), |ledger| {
            let outside = if newest {
                let consumed = ledger.context + ledger.weights + ledger.non_torch;
                format!("total consumed (from mem_get_info): {}GiB", gib(consumed))
            } else {
                format!("non-torch forward increase memory: {}GiB", gib(ledger.non_torch + ledger.context))
            };
            format!(
                "Memory profiling takes 3.42 seconds. Total non KV cache memory: {}GiB; torch peak memory increase: \
                 {}GiB; {outside}; weights memory: {}GiB.",
                gib(ledger.non_kv()),
                gib(ledger.activation),
                gib(ledger.weights)
            )
        });
        self.workers(Level::Info, Site(file.0, file.1, 456, 563), |ledger| {
            format!("Available KV cache memory: {} GiB", gib(ledger.kv))
        });
        let reserved = self.start.ledgers.iter().any(|ledger| ledger.graphs_reserved > 0.0);
        if reserved && self.style.since(20) {
            self.workers(Level::Info, Site(file.0, file.1, 471, 578), |ledger| {
                let (now, share) = (ledger.requested / ledger.total, ledger.graphs_reserved / ledger.total);
                format!(
                    "CUDA graph memory profiling is enabled (default since v0.21.0). The current \
                     --gpu-memory-utilization={now:.4} is equivalent to --gpu-memory-utilization={:.4} without CUDA \
                     graph \
                     memory profiling. To maintain the same effective KV cache size as before, increase \
                     --gpu-memory-utilization to {:.4}. To disable, set VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0.",
                    now - share,
                    now + share
                )
            });
        }
    }

    fn pool(&mut self) {
        self.wait(1.0);
        let file = ("v1/core/", "kv_cache_utils.py");
        if let Some(stated) = ledger::stated_pool(self.config).filter(|_| self.start.profiled_blocks > 0) {
            let profiled = self.start.profiled_blocks;
            let by_hand = format!("Overriding num_gpu_blocks={profiled} with num_gpu_blocks_override={stated}");
            self.core(Site(file.0, file.1, 1198, 2619), by_hand);
        }
        if Reached::of(self.start) == Reached::Pool {
            return;
        }
        let blocks = ledger::stated_pool(self.config).unwrap_or(self.start.profiled_blocks);
        let tokens = u64::from(blocks) * u64::from(self.config.block_size);
        let longest = thousands(u64::from(self.config.max_model_len));
        let times = tokens as f64 / f64::from(self.config.max_model_len);
        let size = format!("GPU KV cache size: {} tokens", thousands(tokens));
        let concurrency = format!("Maximum concurrency for {longest} tokens per request: {times:.2}x");
        if self.style.since(29) {
            self.core(Site(file.0, file.1, 1307, 2327), format!("{size}, {concurrency}"));
        } else {
            self.core(Site(file.0, file.1, 1307, 1314), size);
            self.core(Site(file.0, file.1, 1312, 1319), concurrency);
        }
    }

    fn captures(&self) -> (usize, usize) {
        let count = self.config.graphs.sizes(self.config.max_num_seqs).len();
        match self.config.graphs.mode {
            GraphMode::FullAndPiecewise => (count, count),
            GraphMode::Piecewise => (count, 0),
            GraphMode::Full | GraphMode::FullDecodeOnly => (0, count),
            GraphMode::None => (0, 0),
        }
    }

    fn capture(&mut self) {
        let (pieces, whole) = self.captures();
        let failing = Reached::of(self.start) == Reached::Capture;
        for (count, what) in [(pieces, "mixed prefill-decode, PIECEWISE"), (whole, "decode, FULL")] {
            if count == 0 {
                continue;
            }
            let bar = |done: usize, text: &str| {
                let percent = done * 100 / count;
                let full = "█".repeat(percent / 10);
                format!("Capturing CUDA graphs ({what}): {percent:>3}%|{full:<10}| {done}/{count} {text}")
            };
            self.bare(Process::Worker(0), bar(0, "[00:00<?, ?it/s]"));
            self.wait(2.0);
            if failing {
                self.bare(Process::Worker(0), bar(count * 3 / 5, "[00:02<00:01, 14.92it/s]"));
                return;
            }
            self.bare(Process::Worker(0), bar(count, "[00:03<00:00, 14.87it/s]"));
        }
        if pieces + whole == 0 {
            return;
        }
        self.workers(Level::Info, Site("v1/worker/", "gpu_model_runner.py", 5246, 6951), |ledger| {
            format!("Graph capturing finished in 6 secs, took {:.2} GiB", ledger.graphs / GIB)
        });
        if self.style.since(18) {
            self.workers(Level::Info, Site("v1/worker/", "gpu_worker.py", 517, 671), |ledger| {
                let off = ledger.graphs - ledger.graphs_estimate;
                format!(
                    "CUDA graph pool memory: {} GiB (actual), {} GiB (estimated), difference: {} GiB ({:.1}%).",
                    gib(ledger.graphs),
                    gib(ledger.graphs_estimate),
                    gib(off),
                    off.abs() / ledger.graphs.max(1.0) * 100.0
                )
            });
        }
    }

    fn initialised(&mut self) {
        self.wait(2.0);
        let unit = if self.style.since(20) { "s" } else { "seconds" };
        let took = format!("init engine (profile, create kv cache, warmup model) took 23.13 {unit}");
        self.core(Site("v1/engine/", "core.py", 278, 402), took);
    }

    /// What the model's own defaults change for requests that do not say.
    fn sampling_defaults(&mut self) {
        let Some(settings) = self.config.sampler.defaults.python_dict() else { return };
        let relaunch = "If this is not intended, please relaunch vLLM instance with `--generation-config vllm`.";
        let changed = if self.style.since(29) {
            format!(
                "Default vLLM sampling parameters have been overridden by the model's `generation_config.json`: \
                 `{settings}`. {relaunch}"
            )
        } else {
            format!(
                "Default sampling parameters have been overridden by the model's Hugging Face generation config \
                 recommended from the model creator. {relaunch}"
            )
        };
        self.say(Process::Api, Level::Warning, Site("config/", "model.py", 1487, 1772), changed);
        if !self.style.since(29) {
            for (file, line, endpoint) in
                [("serving_chat.py", 137, "chat"), ("serving_completion.py", 77, "completion")]
            {
                let message = format!("Using default {endpoint} sampling params from model: {settings}");
                self.api(Site("entrypoints/openai/", file, line, line), message);
            }
        }
    }

    fn serving(&mut self, port: u16) {
        self.wait(1.0);
        let style = self.style;
        let (file, name) =
            if style.since(29) { ("entry.py", "vLLM server") } else { ("api_server.py", "vLLM API server 0") };
        self.api(Site("entrypoints/", file, 481, 136), "Supported tasks: ['generate']");
        self.sampling_defaults();
        self.api(Site("entrypoints/", file, 486, 140), format!("Starting {name} on http://0.0.0.0:{port}"));
        self.api(Site("entrypoints/", "launcher.py", 38, 186), "Available routes are:");
        for (route, methods) in [
            ("/health", "GET"),
            ("/load", "GET"),
            ("/version", "GET"),
            ("/metrics", "GET"),
            ("/tokenize", "POST"),
            ("/v1/models", "GET"),
            ("/v1/completions", "POST"),
            ("/v1/chat/completions", "POST"),
        ] {
            let listed = format!("Route: {route}, Methods: {methods}");
            self.api(Site("entrypoints/", "launcher.py", 47, 195), listed);
        }
        let pid = style.pid_of(Process::Api);
        self.bare(
            Process::Api,
            format!(
                "INFO:     Started server process [{pid}]\nINFO:     Waiting for application startup.\nINFO:     \
                     Application startup complete."
            ),
        );
    }
}
