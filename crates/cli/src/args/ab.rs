//! `firstcheck ab`.

use super::{AskArgs, OutputArgs, SeverityArg, SimArrivalArgs, WorkloadArgs, value::*};
use clap::Args;
use firstcheck_experiment::calibration::FILE;
use firstcheck_model::slo::Slo;
use std::{path::PathBuf, time::Duration};

/// Measure two deployments in interleaved pairs on one trace, and judge whether the second is worse
///
/// Base and candidate run in turn, in an order that is random and balanced, each after the same warm-up: what drifts
/// meets both alike. Each run leaves a bundle; the folder goes on where it was interrupted when the command is given
/// again, and compare reads it later. The section `ab` of firstcheck.toml holds where no option says otherwise; there
/// also stand commands that start and stop each side, for a machine that can hold only one of them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck ab --base http://old:8000 --candidate http://new:8000 --rate 4 --slo ttft=1s,itl=50ms
  firstcheck ab --base http://127.0.0.1:8000 --base-start 'vllm serve M --port 8000' \\
      --candidate http://127.0.0.1:8000 --candidate-start 'vllm serve M --port 8000 --enforce-eager' --rate 4
  firstcheck ab --base sim: --candidate 'sim:slow-replica:host_ms=8 --replicas 4' --sequential
  firstcheck ab --aa --base http://old:8000 --rate 4

Exit codes: 0 pass · 1 a gate failed, or a finding at --fail-on · 2 failure · 3 cannot tell, not comparable, interrupted")]
pub struct AbArgs {
    /// Which deployments.
    #[command(flatten)]
    pub sides: SidesArgs,
    /// How many pairs.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// How both are asked.
    #[command(flatten)]
    pub asked: AskArgs,
    /// What is offered.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// How requests arrive.
    #[command(flatten)]
    pub arrivals: SimArrivalArgs,
    /// How long.
    #[command(flatten)]
    pub period: AbPeriodArgs,
    /// What is recorded.
    #[command(flatten)]
    pub record: AbRecordArgs,
    /// Exit 1 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<SeverityArg>,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which deployments.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sides")]
pub struct SidesArgs {
    /// What is known to be good: an address, or sim: with faults and options of sim run behind it
    #[arg(long, value_name = "TARGET")]
    pub base: Option<String>,
    /// What is in question, likewise
    #[arg(long, value_name = "TARGET")]
    pub candidate: Option<String>,
    /// Command that starts base for each run, in the foreground; words are split at blanks, there is no shell (stop and
    /// ready commands, and words with blanks: firstcheck.toml)
    #[arg(long, value_name = "COMMAND")]
    pub base_start: Option<String>,
    /// Command that starts the candidate, likewise
    #[arg(long, value_name = "COMMAND")]
    pub candidate_start: Option<String>,
    /// How long a started server may take to be ready [default: 600s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub ready_timeout: Option<Duration>,
    /// Two devices that the sides swap between pairs: their names go where {device} stands in addresses and commands
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub devices: Vec<String>,
}

/// How many pairs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Plan")]
pub struct PlanArgs {
    /// Pairs to run, an even number; fewer than 8 cannot pass [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=16))]
    pub pairs: Option<u32>,
    /// Stop as soon as it is decided: look after 6, 8, 12 and 16 pairs (8, 12 and 16 on two devices)
    #[arg(long, conflicts_with_all = ["pairs", "looks"])]
    pub sequential: bool,
    /// Look after these numbers of pairs, at most five, and stop as soon as it is decided
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "pairs")]
    pub looks: Vec<u32>,
    /// Measure base against itself: how much it differs by chance
    #[arg(long, conflicts_with_all = ["candidate", "candidate_start", "sequential", "looks"])]
    pub aa: bool,
    /// Say what it will take, and do nothing: pairs, time, requests, and the smallest change that would be found
    #[arg(long)]
    pub plan: bool,
    /// File in which --aa keeps how much a deployment differs from itself, for later comparisons of the same deployment
    /// on the same trace
    #[arg(long, value_name = "FILE", default_value = FILE)]
    pub calibration: PathBuf,
}

/// How long.
#[derive(Debug, Args)]
#[command(next_help_heading = "How long")]
pub struct AbPeriodArgs {
    /// Length of each run's window, after its warm-up [default: 60s, or to the end of --requests or a file]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Most requests of a run, those of its warm-up included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub requests: Option<u32>,
    /// Time before each window [default: what a first run of base shows: open loop max(30 s, 3 × median E2E), closed loop
    /// 2 completions a stream, and 30 s more where the engine is cold]
    #[arg(long, value_name = "TIME", value_parser = duration_or_zero)]
    pub warm_up: Option<Duration>,
    /// How long answers are awaited after a run's last request
    #[arg(long, value_name = "TIME", value_parser = duration_or_zero, default_value = "60s")]
    pub drain: Duration,
}

/// What is recorded.
#[derive(Debug, Args)]
#[command(next_help_heading = "Record")]
pub struct AbRecordArgs {
    /// Folder of the ledger and the bundles, new or of the same experiment, which then goes on; without it ./firstcheck-ab,
    /// numbered where that is there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Objective of goodput: ttft, itl (or tpot), e2e, gap
    #[arg(long, value_name = "SLO")]
    pub slo: Option<Slo>,
    /// Offered rate over the highest rate without a growing queue, where a sweep has shown it; unknown, TTFT cannot pass
    #[arg(long, value_name = "SHARE", value_parser = load)]
    pub load: Option<f64>,
    /// Time between two readings of metrics pages
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5s")]
    pub scrape_interval: Duration,
}

fn load(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(load) if load > 0.0 && load < 10.0 => Ok(load),
        _ => Err("expected a share, as 0.6".into()),
    }
}
