//! `firstcheck capture`.

use super::{OutputArgs, value::*};
use clap::Args;
use firstcheck_observe::Address;
use std::{path::PathBuf, time::Duration};

/// Take the black box before a rollback: what a deployment and its host say of themselves, within a minute
///
/// Reads /metrics twice, models, version and settings of an address, the end of logs, memory, command line, environment
/// and stacks of processes, the state of the GPUs and of the host. What cannot be got is listed and keeps nothing else
/// from being taken. No request is sent to the model. Prompts and secrets stay out: lines of a log that tell a request's
/// text are cut, variables that are none of an engine's are kept by name alone.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck capture --url http://127.0.0.1:8000 --log server.log --out incident.tar.zst
  firstcheck capture --url http://127.0.0.1:8000 --pid 77 --pid 78
  firstcheck diagnose incident.tar.zst

Give the process ids of all ranks (pgrep -f VLLM); stacks need py-spy on the path and the right to trace.

Exit codes: 0 something was captured · 2 failure · 3 nothing could be captured")]
pub struct CaptureArgs {
    /// Address of the deployment, without /v1
    #[arg(long, value_name = "URL")]
    pub url: Option<Address>,
    /// Environment variable that holds the key; it is sent and never stored
    #[arg(long, value_name = "NAME")]
    pub key_env: Option<String>,
    /// Further header of each request, NAME:VALUE; not stored
    #[arg(long, value_name = "HEADER", value_parser = header)]
    pub header: Vec<(String, String)>,
    /// PEM file of certificate authorities to accept besides the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// A log of the engine: its last 4 MiB are taken; may be given again
    #[arg(long, value_name = "FILE")]
    pub log: Vec<PathBuf>,
    /// A process of the engine on this host; may be given again
    #[arg(long, value_name = "N")]
    pub pid: Vec<u32>,
    /// Time between the two readings of metrics and memory
    #[arg(long, value_name = "TIME", value_parser = duration_or_zero, default_value = "5s")]
    pub gap: Duration,
    /// The archive; without it ./firstcheck-capture.tar.zst, numbered where that is there
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}
