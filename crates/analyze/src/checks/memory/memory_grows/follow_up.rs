//! What to do next for each cause.

use super::Cause;
use firstcheck_model::finding::FollowUp;

pub(super) fn of(cause: Cause) -> FollowUp {
    let restart = Some("restart replicas one after the other before the limit is reached".to_owned());
    let (measure, command, requests, mitigation) = match cause {
        Cause::PerRequest => (
            "load with max_tokens 1: the growth a request must stay",
            "firstcheck run --url URL --output-tokens fixed:1 --rate RATE; memray attach PID",
            2000,
            restart,
        ),
        Cause::PerToken => (
            "load with max_tokens 512 at a lower rate: the growth a token must stay",
            "firstcheck run --url URL --output-tokens fixed:512 --rate RATE; memray attach PID",
            200,
            restart,
        ),
        Cause::OverTime => (
            "leave the server idle for an hour: the growth must stay",
            "while sleep 60; do echo \"# $(date +%s) pid=PID\"; cat /proc/PID/smaps_rollup; done >> smaps.txt",
            0,
            restart,
        ),
        Cause::Retention => (
            "ask the allocator to give back: what it holds must fall",
            "gdb -p PID -batch -ex 'call (int)malloc_trim(0)'",
            0,
            Some("start with MALLOC_ARENA_MAX=2, or with jemalloc preloaded".to_owned()),
        ),
        Cause::BoundedCache => (
            "compare the level with the configured size after another hour: it must stay",
            "grep -E 'cache_gb|swap_space|offload|hicache' server.log",
            0,
            Some("lower the size of that cache".to_owned()),
        ),
        Cause::SharedMemory => (
            "list the segments and files that grow",
            "ls -la --sort=size /dev/shm | head; df -h /dev/shm /tmp",
            0,
            restart,
        ),
        Cause::DeviceFragmentation => (
            "take a snapshot of the allocator: gaps between blocks that are in use",
            "torch.cuda.memory._record_memory_history(); torch.cuda.memory._dump_snapshot('memory.pickle')",
            0,
            Some("start with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True".to_owned()),
        ),
        Cause::DeviceOutside => (
            "compare the device's memory before and after each adapter, group of ranks and captured graph",
            "nvidia-smi -q -x > gpus.xml",
            0,
            restart,
        ),
        Cause::DeviceTensors => (
            "take a snapshot of the allocator: the stacks of what is never freed",
            "torch.cuda.memory._record_memory_history(); torch.cuda.memory._dump_snapshot('memory.pickle')",
            0,
            restart,
        ),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation }
}
