//! `firstcheck ab`.

use super::{OutputArgs, SeverityArg, SimArrivalArgs, WorkloadArgs, sim::SimTargetArgs, value::*};
use clap::Args;
use firstcheck_model::slo::Slo;
use std::{path::PathBuf, time::Duration};

/// Measure two deployments in interleaved pairs on one trace, and judge whether the second is worse
///
/// Base and candidate run in turn, in an order that is random and balanced, each after the same warm-up: what drifts
/// meets both alike. Each run leaves a bundle; the folder goes on where it was interrupted when the command is given
/// again, and compare reads it later.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck ab --base sim: --candidate sim:kv-pool-shrank --rate 8 --duration 2m
  firstcheck ab --base sim: --candidate 'sim:slow-replica:host_ms=8 --replicas 4' --pairs 12

A simulated deployment is written sim: with faults and options of sim run behind it.
Exit codes: 0 pass · 1 a gate failed, or a finding at --fail-on · 2 failure · 3 cannot tell, not comparable, interrupted")]
pub struct AbArgs {
    /// Which deployments.
    #[command(flatten)]
    pub sides: SidesArgs,
    /// How many pairs.
    #[command(flatten)]
    pub plan: PlanArgs,
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
    /// What is known to be good: sim: with faults and options of sim run
    #[arg(long, value_name = "TARGET", value_parser = side)]
    pub base: SideArg,
    /// What is in question, likewise
    #[arg(long, value_name = "TARGET", value_parser = side)]
    pub candidate: SideArg,
}

/// How many pairs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Plan")]
pub struct PlanArgs {
    /// Pairs to run; an even number, fewer than 8 cannot pass
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=16))]
    pub pairs: u32,
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
    /// 2 completions a stream and 30 s]
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

/// One side.
#[derive(Debug, Clone)]
pub enum SideArg {
    /// A simulated deployment, with how it was written.
    Simulated(String, Box<SimTargetArgs>),
}

fn side(text: &str) -> Result<SideArg, String> {
    match text.trim().strip_prefix("sim:") {
        Some(words) => {
            let parsed = SimTargetArgs::parse_words(words)?;
            Ok(SideArg::Simulated(words.split_whitespace().collect::<Vec<_>>().join(" "), Box::new(parsed)))
        }
        None => Err("expected sim: with faults and options of sim run".into()),
    }
}

fn load(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(load) if load > 0.0 && load < 10.0 => Ok(load),
        _ => Err("expected a share, as 0.6".into()),
    }
}
