//! Which deployment is simulated, and what goes wrong in it.

use clap::{Args, ValueEnum};
use firstcheck_sim::{fault::Severity, router::RoutingPolicy};

/// Which deployment.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Deployment")]
pub struct DeploymentArgs {
    /// Whose scheduler, cache and metrics
    #[arg(long, value_name = "ENGINE", default_value = "vllm")]
    pub engine: EngineArg,
    /// Release to be; without it the one whose defaults are built in
    #[arg(long, value_name = "VERSION")]
    pub version: Option<String>,
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
    /// Replicas, all alike
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub replicas: u32,
    /// Replicas that compute prompts and hand their KV over to those of --decode
    #[arg(long, value_name = "N", requires = "decode", conflicts_with = "replicas")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=512))]
    pub prefill: Option<u32>,
    /// Replicas that answer what those of --prefill have computed
    #[arg(long, value_name = "N", requires = "prefill", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub decode: Option<u32>,
    /// How requests are spread over the replicas
    #[arg(long, value_name = "POLICY", default_value = "round-robin")]
    pub router: RouterArg,
    /// Read the metrics through one address that shows another replica each time
    #[arg(long)]
    pub scrape_balanced: bool,
    /// Any parameter: max_num_seqs=64, noise.step_sd=0.1; replica-1.host_seconds=0.01 of one replica
    /// (prefill-0, decode-0 of two pools), routing.load_interval_seconds=5, transfer.bytes_per_second=1e9,
    /// client.retries=3
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// What goes wrong.
#[derive(Debug, Args)]
#[command(next_help_heading = "Faults")]
pub struct FaultArgs {
    /// Fault to let act, as kv-pool-shrank, slow-replica:replica=1,host_ms=8 or template-deploy@30s..90s; may be given
    /// several times (firstcheck sim faults lists them)
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<String>,
    /// How bad faults are that do not say so themselves
    #[arg(long, value_name = "SEVERITY", default_value = "moderate")]
    pub severity: SeverityOfFault,
    /// Set up what the faults need and let none of them act: the run that a faulty one is held against
    #[arg(long)]
    pub healthy: bool,
}

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    // vLLM V1
    Vllm,
    // SGLang
    Sglang,
}

/// How requests are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RouterArg {
    // In turn
    RoundRobin,
    // To the replica with the least load
    LeastLoaded,
    // To where cached prefix and load together cost least
    PrefixAware,
    // A session stays with its replica
    Session,
}

impl From<RouterArg> for RoutingPolicy {
    fn from(router: RouterArg) -> Self {
        match router {
            RouterArg::RoundRobin => Self::RoundRobin,
            RouterArg::LeastLoaded => Self::LeastLoaded,
            RouterArg::PrefixAware => Self::PrefixAware,
            RouterArg::Session => Self::Session,
        }
    }
}

/// How bad a fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SeverityOfFault {
    // Just worth finding
    Mild,
    // What an incident looks like
    Moderate,
    // Hard to miss
    Severe,
}

impl From<SeverityOfFault> for Severity {
    fn from(severity: SeverityOfFault) -> Self {
        match severity {
            SeverityOfFault::Mild => Self::Mild,
            SeverityOfFault::Moderate => Self::Moderate,
            SeverityOfFault::Severe => Self::Severe,
        }
    }
}
