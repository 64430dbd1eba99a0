//! `firstcheck run`.

use super::{OutputArgs, value::*};
use clap::{Args, ValueEnum};
use firstcheck_model::{run::CacheState, slo::Slo};
use firstcheck_observe::Address;
use firstcheck_workload::{distribution::Distribution, prefix::SharedPrefix};
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// Offer a known workload to a deployment and record every token and counter
///
/// Any OpenAI-compatible server will do. Requests are sent at planned times, whatever the server does (open loop), or by
/// a fixed number of streams (closed loop). The section `workload` of firstcheck.toml holds where no option says otherwise.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck run --url http://127.0.0.1:8000 --rate 4 --duration 60s --slo ttft=1s,itl=50ms
  firstcheck run --url https://host/llm --key-env API_KEY --model M --concurrency 16 --duration 2m
  firstcheck run --url http://127.0.0.1:8000 --workload mooncake:trace.jsonl --arrivals trace:0.5
  firstcheck run --url http://127.0.0.1:8000 --sweep-rate 1,2,4,8 --duration 60s
  firstcheck run --url http://127.0.0.1:8000 --rate 4 --otlp 4318

For spans start vLLM with --otlp-traces-endpoint http://127.0.0.1:4318/v1/traces and
OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf, or point a collector's otlphttp exporter there

Exit codes: 0 measured · 2 failure · 3 interrupted, or the client could not drive it as asked")]
pub struct RunArgs {
    /// Which deployment.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What is offered.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// How requests arrive.
    #[command(flatten)]
    pub arrivals: ArrivalArgs,
    /// How long.
    #[command(flatten)]
    pub period: PeriodArgs,
    /// What is recorded.
    #[command(flatten)]
    pub record: RecordArgs,
    /// Where it gives up.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which deployment.
#[derive(Debug, Args)]
#[command(next_help_heading = "Deployment")]
pub struct TargetArgs {
    /// Its address, without /v1
    #[arg(long, value_name = "URL")]
    pub url: Address,
    /// How it is asked.
    #[command(flatten)]
    pub asked: AskArgs,
}

/// How a deployment is asked.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Deployment")]
pub struct AskArgs {
    /// Model to ask for; without it the first that /v1/models names
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Interface to ask
    #[arg(long, value_name = "API", default_value = "chat")]
    pub endpoint: ApiArg,
    /// Environment variable that holds the key; it is sent and never stored
    #[arg(long, value_name = "NAME")]
    pub key_env: Option<String>,
    /// Further header of each request, NAME:VALUE; not stored
    #[arg(long, value_name = "HEADER", value_parser = header)]
    pub header: Vec<(String, String)>,
    /// Further fields of each request's body, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub extra_body: Option<Object>,
    /// Ask for whole answers instead of streams
    #[arg(long)]
    pub no_stream: bool,
    /// PEM file of certificate authorities to accept besides the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

/// What is offered.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct WorkloadArgs {
    /// Where requests come from: synthetic, mooncake:FILE, azure:FILE, sharegpt:FILE, bodies:FILE, access:FILE (the log of a
    /// gateway or of requests), run:BUNDLE (an earlier run)
    #[arg(long, value_name = "SOURCE", value_parser = source)]
    pub workload: Option<SourceArg>,
    /// Prompt lengths: fixed:512, uniform:100-500, lognormal:512,0.8,max=4096 [synthetic default: fixed:512]
    #[arg(long, value_name = "LENGTHS")]
    pub input_tokens: Option<Distribution>,
    /// Output lengths to force [synthetic default: fixed:128]
    #[arg(long, value_name = "LENGTHS")]
    pub output_tokens: Option<Distribution>,
    /// Shared prefixes: groups=4,tokens=1024,share=0.8
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<SharedPrefix>,
    /// Turns of a session; each asks with all that was said before
    #[arg(long, value_name = "NUMBERS")]
    pub turns: Option<Distribution>,
    /// Milliseconds between an answer and the session's next turn
    #[arg(long, value_name = "NUMBERS")]
    pub think_ms: Option<Distribution>,
    /// Ask all turns of each conversation (sharegpt)
    #[arg(long)]
    pub all_turns: bool,
    /// Leave out rows of the file that cannot be read, and say so
    #[arg(long)]
    pub skip_bad: bool,
    /// Of an access log that knows bytes alone: how many make a token of a prompt, and of an answer (of a stream every token
    /// brings its frame), as 4,180
    #[arg(long, value_name = "PROMPT,ANSWER", value_parser = bytes_per_token)]
    pub bytes_per_token: Option<BytesPerToken>,
    /// Rows of the file to leave out at the start
    #[arg(long, value_name = "N")]
    pub offset: Option<u32>,
    /// First words of each prompt, so that nothing is shared with an earlier run: auto, none or a text
    #[arg(long, value_name = "SALT", default_value = "auto")]
    pub salt: SaltArg,
    /// State of the prefix cache to note [default: cold with --salt auto, else unknown]
    #[arg(long, value_name = "STATE")]
    pub cache: Option<CacheArg>,
    /// Seed of everything random; without it a new one, which is printed
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// How requests arrive.
#[derive(Debug, Args)]
#[command(next_help_heading = "Arrivals")]
pub struct ArrivalArgs {
    /// Open loop: requests (or sessions) a second
    #[arg(long, value_name = "R", conflicts_with_all = ["concurrency", "sweep_concurrency", "sweep_rate"])]
    pub rate: Option<f64>,
    /// Open loop: poisson, constant, gamma:CV, trace (the file's own times) or trace:SCALE [default: poisson]
    #[arg(long, value_name = "PROCESS", conflicts_with_all = ["concurrency", "sweep_concurrency"])]
    pub arrivals: Option<ArrivalsArg>,
    /// Closed loop: streams, each sending its next request when its last has ended
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(conflicts_with_all = ["sweep_concurrency", "sweep_rate"])]
    pub concurrency: Option<u32>,
    /// A run at each of these rates, in this order
    #[arg(long, value_name = "R,…", value_delimiter = ',', conflicts_with = "sweep_concurrency")]
    pub sweep_rate: Vec<f64>,
    /// A run with each of these numbers of streams, in this order
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub sweep_concurrency: Vec<u32>,
    /// Closed loop: start the streams spread over this time
    #[arg(long, value_name = "TIME", value_parser = duration_or_zero, default_value = "0s")]
    pub ramp: Duration,
}

/// How long.
#[derive(Debug, Args)]
#[command(next_help_heading = "How long")]
pub struct PeriodArgs {
    /// Of what is sent.
    #[command(flatten)]
    pub window: WindowArgs,
    /// How long answers are awaited after the last request
    #[arg(long, value_name = "TIME", value_parser = duration_or_zero, default_value = "60s")]
    pub drain: Duration,
}

/// How long requests are sent. Its heading is that of the options around it.
#[derive(Debug, Args)]
pub struct WindowArgs {
    /// Length of the window that counts, after the warm-up [default: 60s, or to the end of --requests or a file]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Most requests, those of the warm-up included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub requests: Option<u32>,
    /// Time before the window; its requests are sent and do not count [default: 30s; none with --requests alone]
    #[arg(long, value_name = "TIME", value_parser = duration_or_zero)]
    pub warm_up: Option<Duration>,
}

/// What is recorded.
#[derive(Debug, Args)]
#[command(next_help_heading = "Record")]
pub struct RecordArgs {
    /// Folder for the bundle (for a sweep: of the bundles); without it ./firstcheck-run, numbered where that is there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Objective of goodput: ttft, itl (or tpot), e2e, gap
    #[arg(long, value_name = "SLO")]
    pub slo: Option<Slo>,
    /// Do not read the deployment's /metrics
    #[arg(long)]
    pub no_metrics: bool,
    /// Further metrics page, NAME=URL (a DCGM or node exporter)
    #[arg(long, value_name = "PAGE", value_parser = page)]
    pub scrape: Vec<(String, String)>,
    /// Time between two readings of metrics pages
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5s")]
    pub scrape_interval: Duration,
    /// Take spans that services export over OTLP/HTTP, here: an address, or a port of this machine; 0 is a free one
    #[arg(long, value_name = "ADDR", value_parser = listening, num_args = 0..=1, default_missing_value = "4318")]
    pub otlp: Option<SocketAddr>,
    /// How long late spans are awaited after the last answer; exporters send what they have each few seconds
    #[arg(long, value_name = "TIME", value_parser = duration_or_zero, default_value = "6s", requires = "otlp")]
    pub otlp_wait: Duration,
}

/// Where it gives up.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Longest time of a request
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "600s")]
    pub timeout: Duration,
    /// Longest time without a byte of an answer
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "120s")]
    pub stall_timeout: Duration,
    /// Most requests in flight
    #[arg(long, value_name = "N", default_value_t = 8192)]
    pub max_in_flight: usize,
    /// Failures after which the run ends as interrupted
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max_errors: u64,
    /// Threads that send and receive
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub shards: usize,
}

/// Interface to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApiArg {
    // /v1/chat/completions
    Chat,
    // /v1/completions
    Completions,
}

impl From<ApiArg> for firstcheck_load::Api {
    fn from(api: ApiArg) -> Self {
        match api {
            ApiArg::Chat => Self::Chat,
            ApiArg::Completions => Self::Completions,
        }
    }
}

/// State of the prefix cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheArg {
    // Nothing is shared with an earlier run
    Cold,
    // Prompts of an earlier run may be cached
    Warm,
    // Not known
    Unknown,
}

impl From<CacheArg> for CacheState {
    fn from(state: CacheArg) -> Self {
        match state {
            CacheArg::Cold => Self::Cold,
            CacheArg::Warm => Self::Warm,
            CacheArg::Unknown => Self::Unknown,
        }
    }
}
