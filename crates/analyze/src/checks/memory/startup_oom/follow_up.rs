//! What to do next for each cause.

use super::Cause;
use firstcheck_model::finding::FollowUp;

/// `fits`: tokens of the longest sequence that the KV cache holds, where the engine says so.
pub(super) fn of(cause: Cause, fits: Option<f64>) -> FollowUp {
    let (measure, command, mitigation) = match cause {
        Cause::OtherProcess => (
            "list the processes on the device: one that is no engine of this deployment, or one that a killed start left",
            "nvidia-smi -q -x > gpus.xml",
            Some("end that process, or lower --gpu-memory-utilization to what is free".to_owned()),
        ),
        Cause::WeightsLarger => (
            "sum the checkpoint's bytes by data type and compare with what each rank loaded",
            "firstcheck diagnose server.log MODEL_FOLDER",
            Some("raise --tensor-parallel-size, or load the build that was served before".to_owned()),
        ),
        Cause::ActivationPeak => (
            "halve --max-num-batched-tokens (of a multimodal model --limit-mm-per-prompt) and read the profile again",
            "VLLM_LOGGING_LEVEL=DEBUG vllm serve … 2>&1 | grep -E 'Memory profiling|Available KV'",
            Some("start with half of --max-num-batched-tokens".to_owned()),
        ),
        Cause::ContextTooLong => (
            "compare the longest prompt and answer of your traffic with --max-model-len",
            "firstcheck report RUN --format json",
            Some(match fits {
                Some(tokens) => format!("start with --max-model-len {tokens:.0}, or with --kv-cache-dtype fp8"),
                None => "lower --max-model-len, or start with --kv-cache-dtype fp8".to_owned(),
            }),
        ),
        Cause::GraphMemory => (
            "compare the estimate for graphs with what a start with fewer captures takes",
            "grep -E 'CUDA graph|Graph capturing' server.log",
            Some(
                "lower --gpu-memory-utilization by a point, or capture fewer sizes (--max-cudagraph-capture-size)"
                    .to_owned(),
            ),
        ),
        Cause::SamplerWarmUp => (
            "multiply --max-num-seqs by the vocabulary and 8 bytes: that must fit beside the KV cache",
            "grep -E 'warming up|max_num_seqs' server.log",
            Some("halve --max-num-seqs".to_owned()),
        ),
        Cause::HostMemory => (
            "read why the container ended: OOMKilled with code 137, or a full /dev/shm",
            "kubectl describe pod POD; dmesg -T | grep -iE 'oom|killed process'",
            Some("raise the container's memory limit or the size of /dev/shm".to_owned()),
        ),
        Cause::Rejected => (
            "read the message: it names the option and what is allowed",
            "vllm serve --help=all",
            Some("take back the option that was changed last".to_owned()),
        ),
        Cause::KvRequest => (
            "start once without the size set by hand and read what the profile leaves",
            "grep -E 'KV cache|num_gpu_blocks' server.log; env | grep KVCACHE",
            Some("take back --kv-cache-memory-bytes, --num-gpu-blocks-override or VLLM_CPU_KVCACHE_SPACE".to_owned()),
        ),
        Cause::Utilization => (
            "compare what is free on the empty device with what the engine may use",
            "nvidia-smi -q -x > gpus.xml",
            Some("start with --gpu-memory-utilization 0.9".to_owned()),
        ),
        Cause::NotMemory => (
            "read the message: it names the port, the file or the rank",
            "ss -ltnp; df -h; firstcheck diagnose LOGS OF ALL RANKS",
            None,
        ),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests: 0, mitigation }
}
