//! `firstcheck capture`.

use super::{OutputArgs, value::*};
use clap::Args;
use firstcheck_observe::{Address, prometheus::Selector};
use std::{path::PathBuf, time::Duration};

/// Take the black box before a rollback: what a deployment and its host say of themselves, within a minute
///
/// Reads /metrics twice, models, version and settings of an address, series of a Prometheus, the end of logs, memory,
/// command line, environment and stacks of processes, the state of the GPUs and of the host. What cannot be got is listed and keeps nothing else
/// from being taken. No request is sent to the model. Prompts and secrets stay out: lines of a log that tell a request's
/// text are cut, variables that are none of an engine's are kept by name alone.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck capture --url http://127.0.0.1:8000 --log server.log --out incident.tar.zst
  firstcheck capture --url http://127.0.0.1:8000 --pid 77 --out incident.tar.zst
  firstcheck capture --prometheus http://prometheus:9090 --select 'job=\"vllm\"' --since 2h
  firstcheck diagnose incident.tar.zst

A process id stands for the process and all that it started: that of the API server takes the ranks as well. Stacks need
py-spy on the path and the right to trace.

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
    /// A Prometheus (Thanos, Mimir, VictoriaMetrics) that scrapes the deployment: its series are taken as well
    #[arg(long, value_name = "URL", requires = "select")]
    pub prometheus: Option<Address>,
    /// Whose series: label matchers, as 'job=\"vllm\"'; may be given several times
    #[arg(long, value_name = "MATCHERS", requires = "prometheus")]
    pub select: Vec<Selector>,
    /// How far back the series reach
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1h", requires = "prometheus")]
    pub since: Duration,
    /// Environment variable that holds a key of the Prometheus; it is sent and never stored
    #[arg(long, value_name = "NAME", requires = "prometheus")]
    pub prometheus_key_env: Option<String>,
    /// A log of the engine: its last 4 MiB are taken; may be given again
    #[arg(long, value_name = "FILE")]
    pub log: Vec<PathBuf>,
    /// A process of the engine on this host, with all that it started; may be given again
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
