//! Stacks as `py-spy dump` prints them: the innermost call first.

use crate::config::{Hang, HangCause};
use std::fmt::Write;

/// A call: function, file, line.
type Call = (&'static str, &'static str, u32);

/// A worker's dump.
pub(super) fn worker(hang: &Hang, rank: u32, pid: u32) -> String {
    let (busy, inner) = standing(hang, rank);
    let outer: &[Call] = if hang.cause == HangCause::Queue { &LOOP[1..] } else { &STEP };
    let main: Vec<Call> = inner.iter().chain(outer).copied().collect();
    let mut text = head(pid, &format!("VLLM::Worker_TP{rank}"));
    thread(&mut text, pid, busy, "MainThread", &main);
    thread(&mut text, pid + 1000, false, "WorkerAsyncOutputCopy", &COPIER);
    text
}

/// The core's dump: it waits for its workers.
pub(super) fn core(pid: u32) -> String {
    let mut text = head(pid, "VLLM::EngineCore");
    thread(&mut text, pid, false, "MainThread", &CORE);
    thread(&mut text, pid + 1000, false, "Thread-1 (process_input_sockets)", &SOCKETS);
    text
}

fn head(pid: u32, command: &str) -> String {
    format!("Process {pid}: {command}\nPython v3.12.12 (/usr/bin/python3.12)\n\n")
}

fn thread(text: &mut String, id: u32, busy: bool, name: &str, calls: &[Call]) {
    let state = if busy { "active" } else { "idle" };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Thread {id} ({state}): \"{name}\"");
    for (function, file, line) in calls {
        let _ = writeln!(text, "    {function} ({file}:{line})");
    }
}

/// The calls in which a rank stands, and whether it is computing.
fn standing(hang: &Hang, rank: u32) -> (bool, &'static [Call]) {
    match hang.cause {
        HangCause::Lock if hang.departs(rank) => (false, &LOCK),
        HangCause::Compile if hang.departs(rank) => (true, &COMPILE),
        HangCause::Skipped if hang.departs(rank) => (false, &ALL_GATHER),
        HangCause::NoSource => (false, &BROADCAST),
        HangCause::Queue => (false, &DEQUEUE),
        _ => (false, &ALL_REDUCE),
    }
}

const ALL_REDUCE: [Call; 6] = [
    ("all_reduce", "torch/distributed/distributed_c10d.py", 2974),
    ("wrapper", "torch/distributed/c10d_logger.py", 81),
    ("all_reduce", "vllm/distributed/device_communicators/cuda_communicator.py", 191),
    ("all_reduce", "vllm/distributed/parallel_state.py", 541),
    ("tensor_model_parallel_all_reduce", "vllm/distributed/communication_op.py", 14),
    ("forward", "vllm/model_executor/layers/linear.py", 1405),
];

const ALL_GATHER: [Call; 6] = [
    ("all_gather_into_tensor", "torch/distributed/distributed_c10d.py", 4001),
    ("wrapper", "torch/distributed/c10d_logger.py", 81),
    ("all_gather", "vllm/distributed/device_communicators/base_device_communicator.py", 166),
    ("all_gather", "vllm/distributed/parallel_state.py", 571),
    ("tensor_model_parallel_all_gather", "vllm/distributed/communication_op.py", 21),
    ("_gather_logits", "vllm/model_executor/layers/logits_processor.py", 89),
];

const BROADCAST: [Call; 5] = [
    ("broadcast", "torch/distributed/distributed_c10d.py", 2865),
    ("wrapper", "torch/distributed/c10d_logger.py", 81),
    ("broadcast", "vllm/distributed/parallel_state.py", 642),
    ("broadcast_tensor_dict", "vllm/distributed/parallel_state.py", 741),
    ("_sync_metadata", "vllm/v1/worker/gpu_model_runner.py", 3188),
];

const LOCK: [Call; 4] = [
    ("wait", "threading.py", 359),
    ("wait_for_layer_load", "vllm/distributed/kv_transfer/kv_connector/v1/base.py", 331),
    ("maybe_wait_for_kv_load", "vllm/attention/layer.py", 873),
    ("forward", "vllm/attention/layer.py", 412),
];

const COMPILE: [Call; 6] = [
    ("make_cubin", "triton/backends/nvidia/compiler.py", 412),
    ("compile", "triton/compiler/compiler.py", 322),
    ("_do_compile", "triton/runtime/jit.py", 861),
    ("run", "triton/runtime/jit.py", 709),
    ("fused_moe_kernel", "vllm/model_executor/layers/fused_moe/fused_moe.py", 655),
    ("forward", "vllm/model_executor/layers/fused_moe/layer.py", 1544),
];

const DEQUEUE: [Call; 3] = [
    ("acquire_read", "vllm/distributed/device_communicators/shm_broadcast.py", 701),
    ("dequeue", "vllm/distributed/device_communicators/shm_broadcast.py", 782),
    ("worker_busy_loop", "vllm/v1/executor/multiproc_executor.py", 1031),
];

const STEP: [Call; 8] = [
    ("forward", "vllm/model_executor/models/llama.py", 262),
    ("forward", "vllm/model_executor/models/llama.py", 618),
    ("_model_forward", "vllm/v1/worker/gpu_model_runner.py", 3304),
    ("execute_model", "vllm/v1/worker/gpu_model_runner.py", 4012),
    ("execute_model", "vllm/v1/worker/gpu_worker.py", 801),
    ("worker_busy_loop", "vllm/v1/executor/multiproc_executor.py", 1044),
    ("worker_main", "vllm/v1/executor/multiproc_executor.py", 914),
    ("run", "multiprocessing/process.py", 108),
];

const LOOP: [Call; 3] = [
    ("worker_busy_loop", "vllm/v1/executor/multiproc_executor.py", 1031),
    ("worker_main", "vllm/v1/executor/multiproc_executor.py", 914),
    ("run", "multiprocessing/process.py", 108),
];

const COPIER: [Call; 4] = [
    ("wait", "threading.py", 355),
    ("get", "queue.py", 171),
    ("async_output_busy_loop", "vllm/v1/executor/multiproc_executor.py", 988),
    ("run", "threading.py", 1012),
];

const CORE: [Call; 8] = [
    ("acquire_read", "vllm/distributed/device_communicators/shm_broadcast.py", 701),
    ("dequeue", "vllm/distributed/device_communicators/shm_broadcast.py", 782),
    ("get_response", "vllm/v1/executor/multiproc_executor.py", 431),
    ("result", "vllm/v1/executor/multiproc_executor.py", 99),
    ("step_with_batch_queue", "vllm/v1/engine/core.py", 585),
    ("_process_engine_step", "vllm/v1/engine/core.py", 1577),
    ("run_busy_loop", "vllm/v1/engine/core.py", 1538),
    ("run_engine_core", "vllm/v1/engine/core.py", 1491),
];

const SOCKETS: [Call; 3] = [
    ("poll", "zmq/sugar/poll.py", 106),
    ("process_input_sockets", "vllm/v1/engine/core.py", 1748),
    ("run", "threading.py", 1012),
];
