//! A serving benchmark on disk: resolved configuration, one line a request with the engine's own timestamps, and the
//! workload that was offered.
//!
//! The layout is that of LLMServingSim's validation data: `config.json` (hardware), `vllm/meta.json` (engine), and
//! `vllm/requests.jsonl`. Arrivals are on the wall clock, the engine's stamps on a monotonic one; the two are joined by
//! the request that was queued soonest after its arrival, so what the frontend takes at least is not in these latencies.

use super::{FidelityError, Latency, Recorded, Served};
use firstcheck_sim::{EngineConfig, Preset, Timing};
use firstcheck_workload::prompt::Piece;
use serde::{Deserialize, de::DeserializeOwned};
use std::path::Path;

/// A run on a GPU with the configuration it had.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// What was served.
    pub recorded: Recorded,
    /// The engine; its step time is the preset for the GPU and model.
    pub engine: EngineConfig,
    /// Which preset.
    pub preset: Preset,
    /// Data-parallel ranks.
    pub ranks: u32,
    /// Whether [`EngineConfig::num_gpu_blocks`] is what the engine found; otherwise it follows from the memory size.
    pub blocks_recorded: bool,
    /// Whether it is known which requests share a prefix.
    pub prefixes_known: bool,
}

#[derive(Deserialize)]
struct Meta {
    model: String,
    vllm_version: String,
    engine_kwargs: Kwargs,
    kv_cache: Option<KvCache>,
}

#[derive(Deserialize)]
struct Kwargs {
    data_parallel_size: u32,
    max_num_seqs: u32,
    max_num_batched_tokens: u32,
    max_model_len: Option<u32>,
}

#[derive(Deserialize)]
struct KvCache {
    num_gpu_blocks: u32,
    block_size: u32,
}

#[derive(Deserialize)]
struct Hardware {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    instances: Vec<Instance>,
}

#[derive(Deserialize)]
struct Instance {
    hardware: String,
}

#[derive(Deserialize)]
struct Line {
    input_toks: u32,
    output_toks: u32,
    arrival_time: f64,
    queued_ts: f64,
    first_token_ts: f64,
    last_token_ts: f64,
}

#[derive(Deserialize)]
struct Asked {
    input_toks: u32,
    block16_ids: Vec<u64>,
}

/// Tokens a block of the workload's prefix ids.
const WORKLOAD_BLOCK: u32 = 16;
/// Longest sequence where the configuration leaves it to the model: more than any request here has.
const DEFAULT_MODEL_LEN: u32 = 32_768;

impl Setup {
    /// Reads the setup at `folder`; `workload` is the file that was offered, if it is known.
    ///
    /// # Errors
    /// Files that cannot be read, a workload that is not the one served, or a GPU and model without a preset.
    pub fn read(folder: &Path, workload: Option<&Path>) -> Result<Self, FidelityError> {
        let meta: Meta = json(&folder.join("vllm/meta.json"))?;
        let hardware: Hardware = json(&folder.join("config.json"))?;
        let instances = hardware.nodes.iter().flat_map(|node| &node.instances);
        let device = instances.map(|instance| instance.hardware.as_str()).next().unwrap_or_default();
        let known = (device, meta.model.as_str());
        let preset = match known {
            ("RTX4090", model) if model.ends_with("Llama-3.1-8B") => Preset::Rtx4090Llama8bTp1,
            ("RTXPRO6000", model) if model.ends_with("Llama-3.1-8B") => Preset::RtxPro6000Llama8bTp1,
            ("RTXPRO6000", model) if model.contains("Qwen3-30B-A3B") => Preset::RtxPro6000Qwen30bA3bEp2,
            (device, model) => {
                let (model, device) = (model.into(), device.into());
                return Err(FidelityError::NoPreset { path: folder.into(), model, device });
            }
        };
        let lines: Vec<Line> = json_lines(&folder.join("vllm/requests.jsonl"))?;
        let prompts = match workload {
            None => lines.iter().enumerate().map(|(row, line)| vec![own(row, line.input_toks)]).collect(),
            Some(path) => prompts(path, &lines)?,
        };
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let recorded = Recorded { name, requests: served(&lines, prompts), preemptions: None, unanswered: 0 };
        let mut engine = EngineConfig {
            model_name: meta.model,
            version: meta.vllm_version,
            max_num_seqs: meta.engine_kwargs.max_num_seqs,
            max_num_batched_tokens: meta.engine_kwargs.max_num_batched_tokens,
            max_model_len: meta.engine_kwargs.max_model_len.unwrap_or(DEFAULT_MODEL_LEN),
            // On since 0.14.
            async_scheduling: true,
            timing: Timing::Preset(preset),
            ..EngineConfig::default()
        };
        if let Some(cache) = &meta.kv_cache {
            engine.num_gpu_blocks = cache.num_gpu_blocks;
            engine.block_size = cache.block_size;
        }
        Ok(Self {
            recorded,
            engine,
            preset,
            ranks: meta.engine_kwargs.data_parallel_size,
            blocks_recorded: meta.kv_cache.is_some(),
            prefixes_known: workload.is_some(),
        })
    }
}

/// A prompt that shares nothing.
fn own(row: usize, tokens: u32) -> Piece {
    Piece::Synthetic { seed: u64::MAX - row as u64, tokens }
}

/// Prompts from the workload's prefix ids: equal ids are equal tokens.
fn prompts(path: &Path, lines: &[Line]) -> Result<Vec<Vec<Piece>>, FidelityError> {
    let asked: Vec<Asked> = json_lines(path)?;
    if asked.len() != lines.len() || asked.iter().zip(lines).any(|(asked, line)| asked.input_toks != line.input_toks) {
        let reason = "not the workload that was served: its requests are others; give the right file".into();
        return Err(FidelityError::Workload { path: path.into(), reason });
    }
    let prompt = |(row, asked): (usize, &Asked)| {
        let whole = asked.block16_ids.iter().take((asked.input_toks / WORKLOAD_BLOCK) as usize);
        let mut pieces: Vec<Piece> = whole.map(|id| Piece::Synthetic { seed: *id, tokens: WORKLOAD_BLOCK }).collect();
        let rest = asked.input_toks - WORKLOAD_BLOCK * pieces.len() as u32;
        if rest > 0 {
            pieces.push(own(row, rest));
        }
        pieces
    };
    Ok(asked.iter().enumerate().map(prompt).collect())
}

fn served(lines: &[Line], prompts: Vec<Vec<Piece>>) -> Vec<Served> {
    let first = lines.iter().map(|line| line.arrival_time).fold(f64::INFINITY, f64::min);
    let offset = lines.iter().map(|line| line.queued_ts - line.arrival_time).fold(f64::INFINITY, f64::min);
    let since = |stamp: f64, line: &Line| stamp - offset - line.arrival_time;
    let row = |(line, prompt): (&Line, Vec<Piece>)| Served {
        arrival_ns: ((line.arrival_time - first) * 1e9).round() as i64,
        prompt,
        output_tokens: line.output_toks,
        latency: Some(Latency {
            ttft: since(line.first_token_ts, line),
            tpot: (line.output_toks > 1)
                .then(|| (line.last_token_ts - line.first_token_ts) / f64::from(line.output_toks - 1)),
            e2e: since(line.last_token_ts, line),
        }),
    };
    let mut served: Vec<Served> = lines.iter().zip(prompts).map(row).collect();
    served.sort_by_key(|request| request.arrival_ns);
    served
}

fn text(path: &Path) -> Result<String, FidelityError> {
    std::fs::read_to_string(path).map_err(|source| FidelityError::File { path: path.into(), source })
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, FidelityError> {
    let malformed = |source: serde_json::Error| FidelityError::Json { path: path.into(), line: source.line(), source };
    serde_json::from_str(&text(path)?).map_err(malformed)
}

fn json_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, FidelityError> {
    let text = text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let malformed = |source| FidelityError::Json { path: path.into(), line: index + 1, source };
            serde_json::from_str(line).map_err(malformed)
        })
        .collect()
}
