//! `firstcheck sim serve`.

use super::{DeploymentArgs, FaultArgs};
use clap::Args;
use std::net::SocketAddr;

/// Serve it: OpenAI endpoints with streaming, /metrics under the engine's own names, /version, /v1/models
///
/// Continuous batching under a token budget, paged KV cache with prefix caching, preemption by recompute. It computes no
/// text: words stand for tokens.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck sim serve
  firstcheck sim serve --addr 127.0.0.1:8001 --blocks 1800 --max-model-len 8192
  firstcheck sim serve --replicas 4 --router least-loaded --fault slow-replica@60s..

With several replicas /metrics answers for one after the other, as behind a load balancer;
/replicas/N/metrics is the page of one")]
pub struct ServeArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8000")]
    pub addr: SocketAddr,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Engine seconds a real second: 1 is real time, 10 ten times as fast, inf takes no time
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub time_scale: f64,
    /// Which deployment.
    #[command(flatten)]
    pub deployment: DeploymentArgs,
    /// What goes wrong.
    #[command(flatten)]
    pub faults: FaultArgs,
}
