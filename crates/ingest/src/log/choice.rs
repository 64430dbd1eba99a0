//! Kernels and backends that an engine says it chose, and what it says will cost speed.

use super::{
    reader::{At, LogReader},
    scan::between,
};
use firstcheck_model::engine_log::ChoiceOf;

/// How a line names a choice: what stands before the value and what after it (empty: to the end).
const CHOICES: [(ChoiceOf, &str, &str); 21] = [
    (ChoiceOf::Attention, "Using ", " attention backend out of potential backends"),
    (ChoiceOf::Attention, "Using ", " backend on V1 engine"),
    (ChoiceOf::Attention, "Using FlashAttention version ", ""),
    (ChoiceOf::Attention, "Using hybrid attention backend for decode and prefill: ", ""),
    (ChoiceOf::Attention, "Attention backend: ", ""),
    (ChoiceOf::Moe, "Using configuration from ", " for MoE layer"),
    (ChoiceOf::Moe, "Using MoE kernel config from ", ""),
    (ChoiceOf::Moe, "Using ", " MoE backend"),
    (ChoiceOf::Linear, "Selected ", " for "),
    (ChoiceOf::Linear, "Using ", " for mixed-precision linear"),
    (ChoiceOf::Linear, "Using ", " for NVFP4 GEMM"),
    (ChoiceOf::Linear, "Using ", " for AutoAWQMarlinLinearMethod"),
    (ChoiceOf::Linear, "Using ", " for AutoGPTQLinearMethod"),
    (ChoiceOf::Linear, "Using ", " for CompressedTensorsWNA16"),
    (ChoiceOf::Sampler, "Using ", " for top-p & top-k sampling"),
    (ChoiceOf::AllToAll, "Using ", " all2all manager"),
    (ChoiceOf::Nccl, "is using nccl==", ""),
    (ChoiceOf::Platform, "Automatically detected platform ", ""),
    (ChoiceOf::KvConnector, "Creating v1 connector with name: ", " and engine_id"),
    (ChoiceOf::Graphs, "setting cudagraph_mode=", ""),
    (ChoiceOf::Attention, "Using ", " backend."),
];

/// Remarks that cost speed: the name for programs and what the line contains.
const COSTLY: [(&str, &str); 31] = [
    ("default_moe_config", "Using default MoE"),
    ("default_moe_config", "MoE config file not found"),
    ("default_moe_config", "Fallback to triton version"),
    ("default_block_fp8_config", "Using default W8A8 Block FP8 kernel config"),
    ("custom_allreduce_off", "Custom allreduce is disabled"),
    ("custom_allreduce_off", "Setup Custom allreduce failed"),
    ("custom_allreduce_off", "is disabled because this process group spans across nodes"),
    ("graphs_off", "Cudagraph is disabled under eager mode"),
    ("graphs_off", "Enforce eager set"),
    ("graphs_off", "Skipping CUDA graph capture"),
    ("graphs_off", "Cuda graph is disabled"),
    ("graph_mode_downgraded", "CUDAGraphMode."),
    ("graph_estimate_counts", "The current --gpu-memory-utilization="),
    ("weight_only_fallback", "does not have native support for FP"),
    ("unoptimised_quantisation", "quantization is not fully optimized yet"),
    ("unoptimised_quantisation", "Falling back to unoptimized AWQ kernels"),
    ("unoptimised_quantisation", "Falling back to Moe WNA16 kernels"),
    ("quantisation_forced", "however you specified quantization="),
    ("bf16_before_sm90", "You are running Marlin kernel with bf16 on GPUs before SM90"),
    ("threads_reduced", "Reducing Torch parallelism"),
    ("threads_reduced", "Reducing Torch threads"),
    ("sampling_defaults", "Default sampling parameters have been overridden"),
    ("sampling_defaults", "sampling params from model: "),
    ("allocator_missing", "is not found in LD_PRELOAD"),
    ("block_size_set", "Setting attention block size to"),
    ("page_size_set", "Setting page size to"),
    ("jit_at_run_time", "Entering DeepGEMM JIT Pre-Compile"),
    ("grammar_fallback", "Falling back to use outlines"),
    ("grammar_fallback", "Falling back to grammar_backend"),
    ("unpinned_memory", "Using 'pin_memory=False'"),
    ("overlap_off", "verlap scheduler is disabled"),
];

/// Parts of which every choice and costly remark has one.
pub(super) fn parts() -> Vec<&'static str> {
    // Where a line begins with a word as common as `Using `, what stands after the value tells it.
    let choices = CHOICES.iter().map(|(_, before, after)| if *before == "Using " { *after } else { *before });
    choices.chain(COSTLY.iter().map(|(_, part)| *part)).collect()
}

/// Takes a choice or a costly remark; whether the line was one.
pub(super) fn take(reader: &mut LogReader, message: &str, at: &At<'_>) -> bool {
    let costly = COSTLY.iter().find(|(_, part)| message.contains(part));
    if let Some((kind, _)) = costly {
        reader.costly(kind, message, at);
    }
    let choice = CHOICES.iter().find_map(|(of, before, after)| {
        let starts = message.starts_with(before) || (!before.starts_with("Using ") && message.contains(before));
        let value = match after.is_empty() {
            true => message.split_once(before).map(|(_, value)| value),
            false => between(message, before, after),
        };
        let value = value.filter(|_| starts)?.trim().trim_end_matches('.').trim_matches('\'');
        (!value.is_empty()).then_some((*of, value))
    });
    if let Some((of, value)) = choice {
        reader.choice(of, value, at);
    }
    choice.is_some() || costly.is_some()
}
