//! How a server ends whose engine dies while it serves.

use super::{
    ServerLog,
    style::{Level, Line, Process, Site},
    traceback::{CORE_STEP, ENCODER, FEED_FORWARD, FORWARD, Frame, OutOfMemory, PROCESS, traceback, worker_failed},
};
use crate::memory::ledger;

/// Why an engine dies while it serves.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Death {
    /// A GPU had no memory left for a forward pass of the language model.
    OutOfMemory {
        /// Which GPU.
        gpu: u32,
        /// What was asked for, bytes.
        tried: f64,
        /// What was free, bytes.
        free: f64,
    },
    /// A GPU had no memory left for encoding images.
    EncoderOutOfMemory {
        /// Which GPU.
        gpu: u32,
        /// What was asked for, bytes.
        tried: f64,
        /// What was free, bytes.
        free: f64,
    },
    /// The kernel killed a process: the container's memory was full.
    Killed,
    /// A kernel touched memory that was not its own.
    IllegalAccess,
    /// A collective of all ranks did not end in time.
    CollectiveTimeout {
        /// Its number in its group.
        sequence: u64,
        /// What it does, as NCCL names it (`ALLREDUCE`).
        operation: String,
        /// Elements.
        elements: u64,
        /// The limit, seconds.
        seconds: f64,
    },
    /// Something else: type and message of the exception.
    Exception(String),
}

pub(super) fn write(log: &mut ServerLog, at_ns: i64, death: &Death) {
    let error = match death {
        Death::Killed => None,
        Death::OutOfMemory { gpu, tried, free } | Death::EncoderOutOfMemory { gpu, tried, free } => {
            Some(format!("torch.OutOfMemoryError: {}", out_of_memory(log, *gpu, *tried, *free)))
        }
        Death::IllegalAccess => Some(
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be \
             asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor \
             debugging \
             consider passing CUDA_LAUNCH_BLOCKING=1"
                .to_owned(),
        ),
        Death::CollectiveTimeout { sequence, operation, elements, seconds } => {
            let limit = (seconds * 1e3).round();
            let waited = limit + 57.0;
            Some(format!(
                "torch.distributed.DistBackendError: [PG ID 2 PG GUID 3 Rank 0] Watchdog caught collective operation \
                 timeout: WorkNCCL(SeqNum={sequence}, OpType={operation}, NumelIn={elements}, NumelOut={elements}, \
                 Timeout(ms)={limit}) ran for {waited} milliseconds before timing out."
            ))
        }
        Death::Exception(error) => Some(error.clone()),
    };
    let inner: &[Frame] = match death {
        Death::EncoderOutOfMemory { .. } => &ENCODER,
        Death::OutOfMemory { .. } => &FEED,
        _ => &FORWARD,
    };
    match error {
        Some(error) => fatal(log, at_ns, inner, &error),
        None => killed(log, at_ns),
    }
    api_dies(log, at_ns);
}

const FEED: [Frame; 4] = [FORWARD[0], FORWARD[1], FORWARD[2], FEED_FORWARD];

fn out_of_memory(log: &ServerLog, gpu: u32, tried: f64, free: f64) -> String {
    let ledgers = ledger::ledgers(&log.config);
    let Some(ledger) = ledgers.get(gpu as usize).or(ledgers.first()) else { return String::new() };
    let own = (ledger.total - ledger.others - free).max(0.0);
    let torch = (own - ledger.context - ledger.non_torch).max(0.0);
    let (total, others, graphs) = (ledger.total, ledger.others, ledger.graphs);
    OutOfMemory { gpu, tried, total, free, others, own, torch, graphs }.message()
}

fn say(log: &mut ServerLog, at_ns: i64, process: Process, site: Site, message: &str) {
    let line = Line { process, level: Level::Error, site, message: message.to_owned() };
    log.line_at(at_ns, &line);
}

fn fatal(log: &mut ServerLog, at_ns: i64, inner: &[Frame], error: &str) {
    let core = Site("v1/engine/", "core.py", 1015, 1519);
    let mut outer: Vec<Frame> = CORE_STEP.to_vec();
    let told = if log.style.ranks > 1 {
        let worker = Site("v1/executor/", "multiproc_executor.py", 772, 1063);
        let cause = format!("WorkerProc hit an exception.\n{}", traceback(inner, error));
        for rank in 0..log.style.ranks {
            say(log, at_ns, Process::Worker(rank), worker, &cause);
        }
        worker_failed(error)
    } else {
        outer.extend_from_slice(inner);
        error.to_owned()
    };
    say(
        log,
        at_ns,
        Process::Core,
        core,
        &format!("EngineCore encountered a fatal error.\n{}", traceback(&outer, &told)),
    );
    let name = log.style.core_name();
    let again = format!("Process {name}:\n{}", traceback(PROCESS.iter().chain(&outer), &told));
    log.style.bare(&mut log.text, Process::Core, &again);
}

/// A killed process says nothing itself.
fn killed(log: &mut ServerLog, at_ns: i64) {
    if log.style.ranks > 1 {
        let site = Site("v1/executor/", "multiproc_executor.py", 231, 315);
        let text = "Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor.";
        say(log, at_ns, Process::Core, site, text);
    } else {
        let site = Site("v1/engine/", "core_client.py", 612, 741);
        let text = "Engine core proc EngineCore died unexpectedly, shutting down client.";
        say(log, at_ns, Process::Api, site, text);
    }
}

/// The API server fails all its requests and ends.
fn api_dies(log: &mut ServerLog, at_ns: i64) {
    const HANDLER: [Frame; 2] = [
        ("vllm/v1/engine/async_llm.py", 849, "output_handler", "outputs = await engine_core.get_output_async()"),
        ("vllm/v1/engine/core_client.py", 1235, "get_output_async", "raise self._format_exception(outputs) from None"),
    ];
    let dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) \
    for the \
                root cause.";
    let handler = format!("AsyncLLM output_handler failed.\n{}", traceback(&HANDLER, dead));
    say(log, at_ns, Process::Api, Site("v1/engine/", "async_llm.py", 708, 906), &handler);
    let line = Line {
        process: Process::Api,
        level: Level::Info,
        site: Site("entrypoints/", "launcher.py", 110, 304),
        message: "[shutdown] API server: shutting down FastAPI HTTP server".into(),
    };
    log.line_at(at_ns, &line);
    log.style.bare(
        &mut log.text,
        Process::Api,
        "INFO:     Shutting down\nINFO:     Waiting for application shutdown.\nINFO:     Application shutdown \
         complete.",
    );
}
