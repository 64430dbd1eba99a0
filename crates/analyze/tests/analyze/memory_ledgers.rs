//! Ledgers of a device's memory out of start-up logs.

use crate::synthetic::{Spec, counter};
use firstcheck_analyze::{
    measure::{
        graph_budget::GraphBudget,
        memory_growth::{Holder, MemoryGrowth},
        memory_ledger::{MemoryLedger, StartLedger},
    },
    side::Side,
};
use firstcheck_ingest::log::LogReader;
use firstcheck_model::{
    engine_log::Term,
    evidence::Evidence,
    moment::Moment,
    signal::{Part, Series, Signal},
};

const GIB: f64 = 1_073_741_824.0;

fn evidence(text: &str) -> Evidence {
    let mut reader = LogReader::new("server.log");
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(number, line);
    }
    Evidence { logs: vec![reader.finish()], ..Evidence::default() }
}

fn ledger(text: &str) -> StartLedger {
    let evidence = evidence(text);
    Side::new(&evidence).measure::<MemoryLedger>().unwrap().starts[0].clone()
}

#[test]
fn a_whole_ledger_gives_the_kv_cache_that_the_log_states() {
    // As engine V0 tells it, with the figures of a report.
    let whole = ledger(
        "INFO 03-04 05:06:07 [worker.py:1] Memory profiling takes 5.21 seconds\n\
         the current vLLM instance can use total_gpu_memory (39.38GiB) x gpu_memory_utilization (0.95) = 37.41GiB\n\
         model weights take 34.43GiB; non_torch_memory takes 0.34GiB; PyTorch activation peak memory takes 2.51GiB; the rest \
         of the memory reserved for KV Cache is 0.13GiB.\n",
    );
    let rest = whole.remainder().unwrap();
    assert_eq!(rest.unknown, []);
    assert!(rest.bytes.value.0.abs() < 0.01 * GIB, "{rest:?}");
    // As V1 tells it at DEBUG, and with what is kept for graphs.
    let verbose = "\
        DEBUG 03-04 05:06:07 [gpu_worker.py:1] Initial free memory: 78.68 GiB; Requested memory: 0.920000 (util), 72.85 GiB\n\
        DEBUG 03-04 05:06:17 [gpu_worker.py:1] Memory profiling takes 3.42 seconds. Total non KV cache memory: 32.1GiB; torch \
        peak memory increase: 16.25GiB; total consumed (from mem_get_info): 15.85GiB; weights memory: 14.99GiB.\n\
        INFO 03-04 05:06:18 [gpu_model_runner.py:1] Estimated CUDA graph memory: 0.54 GiB total\n\
        INFO 03-04 05:06:19 [gpu_worker.py:1] Available KV cache memory: 40.21 GiB\n\
        INFO 03-04 05:06:19 [gpu_worker.py:1] CUDA graph memory profiling is enabled. The current \
        --gpu-memory-utilization=0.9200 is equivalent to --gpu-memory-utilization=0.9132 without CUDA graph memory profiling.\n";
    let rest = ledger(verbose).remainder().unwrap();
    assert!(rest.unknown.is_empty() && rest.bytes.value.0.abs() < 0.15 * GIB, "{rest:?}");
    let outside = ledger(verbose).bytes(Term::NonTorch).unwrap();
    assert!((outside - 0.86 * GIB).abs() < 0.01 * GIB, "{outside}");
}

#[test]
fn terms_that_the_level_leaves_out_are_unknown_and_named() {
    let told = ledger(
        "INFO 03-04 05:06:08 [gpu_model_runner.py:1] Model loading took 14.99 GiB memory and 6.5 seconds\n\
         INFO 03-04 05:06:09 [gpu_worker.py:1] Available KV cache memory: 40.21 GiB\n\
         DEBUG 03-04 05:06:07 [gpu_worker.py:1] Initial free memory: 78.68 GiB; Requested memory: 0.920000 (util), 72.85 GiB\n",
    );
    assert_eq!(told.unknown(), [Term::ActivationPeak, Term::NonTorch]);
    let rest = told.remainder().unwrap();
    assert_eq!(rest.unknown, told.unknown());
    assert!((rest.bytes.value.0 - 17.65 * GIB).abs() < 0.02 * GIB, "{rest:?}");
    let silent = evidence("INFO 03-04 05:06:08 [gpu_model_runner.py:1] Starting to load model m...\n");
    assert!(Side::new(&silent).measure::<MemoryLedger>().is_err());
}

#[test]
fn the_rank_with_the_least_left_is_the_ledgers() {
    let told = ledger(
        "(Worker_TP0 pid=1) INFO 03-04 05:06:08 [a.py:1] Model loading took 14.0 GiB memory and 6.5 seconds\n\
         (Worker_TP1 pid=2) INFO 03-04 05:06:08 [a.py:1] Model loading took 18.0 GiB memory and 6.5 seconds\n\
         (Worker_TP0 pid=1) INFO 03-04 05:06:09 [a.py:1] Estimated CUDA graph memory: 0.54 GiB total\n\
         (Worker_TP0 pid=1) INFO 03-04 05:06:09 [a.py:1] Available KV cache memory: 40.0 GiB\n\
         (Worker_TP1 pid=2) INFO 03-04 05:06:09 [a.py:1] Available KV cache memory: 36.0 GiB\n",
    );
    assert_eq!(told.process.as_deref(), Some("Worker_TP1"));
    assert_eq!((told.bytes(Term::Weights), told.bytes(Term::KvCache)), (Some(18.0 * GIB), Some(36.0 * GIB)));
    assert_eq!(told.bytes(Term::GraphsEstimated), Some(0.54 * GIB), "logged once, for all");
}

#[test]
fn the_engines_advice_implies_the_device() {
    // 0.36 GiB are 1.52 points of a card of 23.7 GiB.
    let evidence = evidence(
        "INFO 03-04 05:06:18 [a.py:1] Estimated CUDA graph memory: 0.36 GiB total\n\
         INFO 03-04 05:06:19 [a.py:1] CUDA graph memory profiling is enabled. The current --gpu-memory-utilization=0.8200 is \
         equivalent to --gpu-memory-utilization=0.8048 without CUDA graph memory profiling.\n",
    );
    let budget = Side::new(&evidence).measure::<GraphBudget>().unwrap();
    let total = budget.implied_total.as_ref().unwrap().value.0 / GIB;
    assert!((total - 23.7).abs() < 0.05, "{total}");
}

/// A page may name a series without a sample of it.
#[test]
fn a_start_time_without_samples_is_no_restart() {
    let mut run = Spec::default().run();
    let level = |signal, value: &[f64]| Series {
        at: (1..).map(Moment::at).take(value.len()).collect(),
        value: value.to_vec(),
        ..counter(signal, Part::Value, 0.0)
    };
    run.signals = vec![level(Signal::ProcessStart, &[]), level(Signal::ProcessMemory, &[1.0, 2.0, 3.0])];
    let evidence = Evidence::of(vec![run]);
    let growth = Side::new(&evidence).measure::<MemoryGrowth>().unwrap();
    assert_eq!(growth.of(Holder::ProcessResident).next().unwrap().growth().value.0, 2.0);
}
