//! Starts that fail, and logs of several starts.

use firstcheck_ingest::log::LogReader;
use firstcheck_model::engine_log::{EngineLog, FailureKind, StartPhase, Term};

fn read(text: &str) -> EngineLog {
    let mut reader = LogReader::new("server.log");
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(number, line);
    }
    reader.finish()
}

/// A term in GiB, the last one stated.
fn term(log: &EngineLog, term: Term) -> Option<f64> {
    let found = log.memory.iter().rfind(|one| one.term == term)?;
    Some((found.bytes.0 / 1024f64.powi(3) * 100.0).round() / 100.0)
}

const CAME_UP: &str = "\
(APIServer pid=1) INFO 03-04 05:06:07 [api_utils.py:1] non-default args: {'model': 'm'}
(EngineCore pid=2) INFO 03-04 05:06:08 [gpu_model_runner.py:1] Starting to load model m...
(EngineCore pid=2) INFO 03-04 05:06:18 [gpu_model_runner.py:1] Model loading took 14.0 GiB memory and 9.5 seconds
(EngineCore pid=2) INFO 03-04 05:06:28 [monitor.py:1] torch.compile took 6.09 s in total
(EngineCore pid=2) INFO 03-04 05:06:38 [gpu_worker.py:1] Available KV cache memory: 40.0 GiB
(APIServer pid=1) INFO 03-04 05:06:48 [entry.py:1] Starting vLLM server on http://0.0.0.0:8000
";

const NOT_FREE: &str = "\
(APIServer pid=3) INFO 03-05 01:00:00 [api_utils.py:1] non-default args: {'model': 'm'}
(EngineCore pid=4) ERROR 03-05 01:00:09 [core.py:1] Traceback (most recent call last):
(EngineCore pid=4) ERROR 03-05 01:00:09 [core.py:1]   File \"/x/vllm/v1/worker/utils.py\", line 1, in request_memory
(EngineCore pid=4) ERROR 03-05 01:00:09 [core.py:1] ValueError: Free memory on device cuda:0 (67.24/79.25 GiB) on startup is less than desired GPU memory utilization (0.9, 71.33 GiB). Decrease GPU memory utilization.
";

#[test]
fn a_second_start_has_steps_of_its_own() {
    let log = read(&format!("{CAME_UP}{NOT_FREE}"));
    assert_eq!((log.began, log.reached()), (7, Some(StartPhase::Configuration)));
    let root = log.root_cause().unwrap();
    assert_eq!((root.kind, root.phase, root.line), (FailureKind::FreeMemory, Some(StartPhase::Configuration), 10));
    let recovered = read(&format!("{NOT_FREE}{CAME_UP}"));
    assert_eq!((recovered.reached(), recovered.root_cause()), (Some(StartPhase::Ready), None));
    let compiled = recovered.last_start().find(|phase| phase.phase == StartPhase::Compile);
    assert!(compiled.is_some_and(|phase| phase.length.is_some()));
}

#[test]
fn a_device_that_is_not_free_states_its_sizes() {
    let log = read(NOT_FREE);
    let terms = [Term::FreeAtStart, Term::Total, Term::Budget].map(|one| term(&log, one));
    assert_eq!(terms, [Some(67.24), Some(79.25), Some(71.33)]);
}

#[test]
fn a_process_that_the_system_ended_is_told_by_its_signal() {
    let log = read(
        "Traceback (most recent call last):\n  File \"/x/utils.py\", line 1, in wait\n\
         RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': -9}\n",
    );
    assert_eq!(log.root_cause().map(|failure| failure.kind), Some(FailureKind::Killed));
}

fn out_of_memory(processes: &str) -> firstcheck_model::engine_log::DeviceMemory {
    let log = read(&format!(
        "Traceback (most recent call last):\n  File \"/x/a.py\", line 1, in b\n\
         torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 1 has a total capacity of 79.19 GiB \
         of which 512.00 MiB is free. {processes}Of the allocated memory 66.00 GiB is allocated by PyTorch, and 1.50 GiB is \
         reserved by PyTorch but unallocated.\n"
    ));
    log.root_cause().unwrap().memory.unwrap()
}

#[test]
fn memory_that_ran_out_is_told_part_by_part() {
    let gib = |bytes: Option<firstcheck_model::unit::Bytes>| bytes.map(|bytes| bytes.0 / 1024f64.powi(3));
    let memory = out_of_memory(
        "Process 412 has 9.50 GiB memory in use. Including non-PyTorch memory, this process has 69.19 GiB memory in use. ",
    );
    assert_eq!((gib(memory.tried), gib(memory.free), gib(memory.total)), (Some(0.875), Some(0.5), Some(79.19)));
    assert_eq!((gib(memory.others), gib(memory.own)), (Some(9.5), Some(69.19)));
    assert_eq!((gib(memory.allocated), gib(memory.unallocated)), (Some(66.0), Some(1.5)));
    // In a container a process does not know its own number.
    let memory = out_of_memory("Process 7 has 9.50 GiB memory in use. Process 8 has 69.19 GiB memory in use. ");
    assert_eq!((gib(memory.others), gib(memory.own)), (Some(9.5), Some(69.19)));
    // Ranks of one model on one device hold the same.
    let memory = out_of_memory("Process 7 has 69.19 GiB memory in use. Process 8 has 69.19 GiB memory in use. ");
    assert_eq!((gib(memory.others), gib(memory.own)), (Some(69.19), Some(69.19)));
    let memory = out_of_memory("");
    assert_eq!((memory.others, memory.own), (None, None));
}

#[test]
fn what_is_kept_for_graphs_is_an_event_with_its_shares() {
    let log = read(
        "INFO 03-04 05:06:30 [gpu_model_runner.py:1] Profiling CUDA graph memory: PIECEWISE=16 (largest=128), FULL=16 (largest=128)\n\
         INFO 03-04 05:06:31 [gpu_worker.py:1] CUDA graph memory profiling is enabled (default since v0.21.0). The current \
         --gpu-memory-utilization=0.8200 is equivalent to --gpu-memory-utilization=0.8048 without CUDA graph memory \
         profiling.\n\
         INFO 03-04 05:06:32 [kv_cache_utils.py:1] Overriding num_gpu_blocks=2048 with num_gpu_blocks_override=14\n",
    );
    let figure = |kind: &str, name: &str| {
        let event = log.events.iter().find(|event| event.kind == kind)?;
        event.figures.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    };
    assert_eq!(figure("graphs_profiled", "largest"), Some(128.0));
    assert_eq!(figure("graphs_reserved", "utilization"), Some(0.82));
    assert_eq!(figure("graphs_reserved", "equivalent"), Some(0.8048));
    assert_eq!(figure("kv_blocks_overridden", "profiled_blocks"), Some(2048.0));
}
