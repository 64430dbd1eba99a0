//! Names of the fields that code asks for. Others may stand beside them under the engine's own names.

/// `vllm`, `sglang`, …
pub const ENGINE: &str = "engine";
/// The engine's version.
pub const ENGINE_VERSION: &str = "engine_version";
/// What stands before the engine and speaks for it (`dynamo`).
pub const FRONT: &str = "front";
/// Model as served.
pub const MODEL: &str = "model";
/// Where the model was loaded from.
pub const MODEL_ROOT: &str = "model_root";
/// Hash over names and layouts of all tensors, and the sizes of their files.
pub const WEIGHTS_LAYOUT: &str = "weights_layout";
/// Hash over every byte of the weights.
pub const WEIGHTS_HASH: &str = "weights_hash";
/// Bytes of the weights.
pub const WEIGHTS_BYTES: &str = "weights_bytes";
/// Hash of the tokenizer's vocabulary and rules.
pub const TOKENIZER_HASH: &str = "tokenizer_hash";
/// Hash of the chat template.
pub const CHAT_TEMPLATE_HASH: &str = "chat_template_hash";
/// Longest sequence, tokens.
pub const MAX_MODEL_LEN: &str = "max_model_len";
/// KV blocks of one replica.
pub const KV_BLOCKS: &str = "kv_blocks";
/// Tokens a KV block.
pub const KV_BLOCK_SIZE: &str = "kv_block_size";
/// Tokens that the KV cache of one replica holds, as the engine states it.
pub const KV_TOKENS: &str = "kv_tokens";
/// Whether prefix caching is on.
pub const PREFIX_CACHING: &str = "prefix_caching";
/// Upper bound on running requests.
pub const MAX_NUM_SEQS: &str = "max_num_seqs";
/// Token budget of a step.
pub const MAX_NUM_BATCHED_TOKENS: &str = "max_num_batched_tokens";
/// GPU memory share the engine may use.
pub const GPU_MEMORY_UTILIZATION: &str = "gpu_memory_utilization";
/// Data type of the KV cache.
pub const KV_CACHE_DTYPE: &str = "kv_cache_dtype";
/// Whether a profiler was seen at work: `started` or `stopped`.
pub const PROFILER: &str = "profiler";
/// Product name of the GPUs.
pub const GPU_MODEL: &str = "gpu_model";
/// How many GPUs.
pub const GPU_COUNT: &str = "gpu_count";
/// Beginning of the names of what somebody set: `given.max_num_seqs`.
pub const GIVEN: &str = "given.";
/// Beginning of the names of environment variables, behind [`GIVEN`] where they were set.
pub const ENV: &str = "env.";
