//! `firstcheck diagnose`.

use super::{
    ApiArg, OutputArgs, SeverityArg,
    value::{BaseArg, When, duration, header},
};
use clap::Args;
use firstcheck_observe::prometheus::Selector;
use std::{path::PathBuf, time::Duration};

/// Read everything that a deployment left or says, say what it is, and ask every check about it
///
/// Takes files and folders as they are: benchmark results, metrics pages with or without times, answers of endpoints,
/// logs, run bundles; compressed, in archives, or on standard input. What each is, its content tells. Takes addresses as
/// well: of a Prometheus API (Thanos, Mimir, VictoriaMetrics), whose series --select names, or of an engine or a metrics
/// page, which is watched for a while. What cannot be read is listed with its reason.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck diagnose incident/
  firstcheck diagnose metrics.txt.zst server.log bench.json
  firstcheck diagnose incident/ --base healthy/
  firstcheck diagnose incident/ --symptom \"streams freeze\"
  kubectl logs vllm-0 | firstcheck diagnose -
  firstcheck diagnose --live http://127.0.0.1:8000 --for 2m
  firstcheck diagnose --live http://127.0.0.1:8000 --probe --endpoint completions
  firstcheck diagnose http://prometheus:9090 --select 'job=\"vllm\"' --since 40m --base 24h-ago
  firstcheck diagnose https://mimir/prometheus --header X-Scope-OrgID:team --key-env TOKEN \\
      --select 'namespace=\"llm\"' --since 2026-01-31T09:30:00Z --until 2026-01-31T10:10:00Z server.log

The first screen is for the night: what was read, what changed, at most three causes, what to do now, and what would
settle most. --all gives every fact with its source, every cause, and what could not be told.

Exit codes: 0 nothing found at --fail-on · 1 a finding at --fail-on · 2 failure · 3 nothing could be read, or the
--symptom cannot be told")]
pub struct DiagnoseArgs {
    /// Files, folders and addresses, or `-` for standard input
    #[arg(required_unless_present = "live", num_args = 1.., value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,
    /// What to compare with: files, folders and addresses of a healthy deployment; of a Prometheus an earlier span as
    /// long, so much earlier (24h-ago) or from the time at which it begins
    #[arg(long, value_name = "SOURCE or WHEN")]
    pub base: Vec<BaseArg>,
    /// Ask about one symptom alone: in your own words, or the code or name of a check
    #[arg(long, value_name = "SYMPTOM")]
    pub symptom: Option<String>,
    /// List the lines and series that were read and not understood
    #[arg(long, short)]
    pub verbose: bool,
    /// Exit 1 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<SeverityArg>,
    /// What is asked of addresses.
    #[command(flatten)]
    pub asked: LiveArgs,
    /// What a probe sends.
    #[command(flatten)]
    pub probe: ProbeArgs,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What a probe sends, where one is allowed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Probe")]
pub struct ProbeArgs {
    /// Send requests of one's own to the engine while it is watched, so many in all: prompts of 512 tokens sent three
    /// times, new ones, and new schemas, each for 32 tokens, one after another
    #[arg(long, value_name = "REQUESTS", num_args = 0..=1, require_equals = true, default_missing_value = "24",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub probe: Option<u32>,
    /// The model that a probe names [default: the first that the server lists]
    #[arg(long, value_name = "NAME", requires = "probe")]
    pub model: Option<String>,
    /// The endpoint that a probe asks
    #[arg(long, value_name = "ENDPOINT", requires = "probe", default_value = "chat")]
    pub endpoint: ApiArg,
}

/// What is asked of addresses.
#[derive(Debug, Args)]
#[command(next_help_heading = "Addresses")]
pub struct LiveArgs {
    /// Address of an engine or a metrics page that is watched, as if it were named as a SOURCE
    #[arg(long, value_name = "URL")]
    pub live: Vec<PathBuf>,
    /// Series of a Prometheus: label matchers, as 'job=\"vllm\"'; may be given several times
    #[arg(long, value_name = "MATCHERS")]
    pub select: Vec<Selector>,
    /// Start of the span asked of a Prometheus: so long before --until (40m), or a time (RFC 3339) [default: 30m]
    #[arg(long, value_name = "WHEN", requires = "select")]
    pub since: Option<When>,
    /// Its end: a time, or so long ago [default: now]
    #[arg(long, value_name = "WHEN", requires = "select")]
    pub until: Option<When>,
    /// One sample every so often instead of raw samples
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "select")]
    pub step: Option<Duration>,
    /// How long an engine or a metrics page is watched
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, default_value = "30s")]
    pub watched: Duration,
    /// Environment variable that holds a key, sent to each address as Authorization: Bearer
    #[arg(long, value_name = "NAME", conflicts_with = "user_env")]
    pub key_env: Option<String>,
    /// Environment variable that holds USER:PASSWORD, sent to each address as Authorization: Basic
    #[arg(long, value_name = "NAME")]
    pub user_env: Option<String>,
    /// Further header of each request, NAME:VALUE, as X-Scope-OrgID:team
    #[arg(long, value_name = "HEADER", value_parser = header)]
    pub header: Vec<(String, String)>,
    /// PEM file of certificate authorities to accept besides the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}
