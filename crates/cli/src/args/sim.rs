//! `firstcheck sim`.

use clap::{Args, Subcommand};
use std::net::SocketAddr;

/// The simulated engine by itself
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct SimArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub verb: SimVerb,
}

/// What to do with the simulated engine.
#[derive(Debug, Subcommand)]
pub enum SimVerb {
    Serve(ServeArgs),
}

/// Serve it: OpenAI endpoints with streaming, vLLM-named /metrics, /version, /v1/models
///
/// Continuous batching under a token budget, paged KV cache with prefix caching, preemption by recompute. It computes no
/// text: words stand for tokens.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck sim serve
  firstcheck sim serve --addr 127.0.0.1:8001 --blocks 1800 --max-model-len 8192")]
pub struct ServeArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8000")]
    pub addr: SocketAddr,
    /// Model name to serve under
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// KV blocks
    #[arg(long, value_name = "N")]
    pub blocks: Option<u32>,
    /// Tokens a KV block
    #[arg(long, value_name = "N")]
    pub block_size: Option<u32>,
    /// Most requests running at once
    #[arg(long, value_name = "N")]
    pub max_num_seqs: Option<u32>,
    /// Token budget of a step
    #[arg(long, value_name = "N")]
    pub max_num_batched_tokens: Option<u32>,
    /// Longest sequence, tokens
    #[arg(long, value_name = "N")]
    pub max_model_len: Option<u32>,
    /// Switch prefix caching off
    #[arg(long)]
    pub no_prefix_caching: bool,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Engine seconds a real second: 1 is real time, 10 ten times as fast, inf takes no time
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub time_scale: f64,
}
