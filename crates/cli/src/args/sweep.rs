//! `firstcheck sweep`.

use super::{AbPeriodArgs, AbRecordArgs, AskArgs, OutputArgs, SimArrivalArgs, WorkloadArgs, value::*};
use clap::Args;
use std::time::Duration;

/// Find the rate at which a deployment breaks its objective, with its interval
///
/// Runs at rates that a search chooses: doubled or halved until the objective has broken and held, halved between, then
/// repeated on both sides until the rate is known well enough, each run on a trace of its own. Of all requests that were
/// offered so many have to meet all bounds of --slo. The report also says where the p95 TTFT leaves its level (the knee), up
/// to which rate no queue grows (what --load of ab counts from), and what a request that meets the objective costs. With
/// --length-cv it does so for each spread of the lengths.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck sweep --target http://127.0.0.1:8000 --slo ttft=1s,itl=50ms --share 0.95
  firstcheck sweep --target 'sim: --replicas 2' --slo ttft=500ms --length-cv 0,1,2 --plan
  firstcheck sweep --target http://127.0.0.1:8000 --slo ttft=1s --gpus 8 --cost-per-gpu-hour 2.5 --input-tokens lognormal:512,0.8

Exit codes: 0 the rate is known · 2 failure · 3 it is not, or interrupted")]
pub struct SweepArgs {
    /// What is swept.
    #[command(flatten)]
    pub what: SweepWhatArgs,
    /// How it is asked.
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
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What is swept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sweep")]
pub struct SweepWhatArgs {
    /// The deployment: an address, or sim: with faults and options of sim run behind it [default: target of ab.base in
    /// firstcheck.toml]
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Command that starts it for each run, in the foreground; words are split at blanks, there is no shell
    #[arg(long, value_name = "COMMAND")]
    pub start: Option<String>,
    /// How long a started server may take to be ready [default: 600s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub ready_timeout: Option<Duration>,
    /// Share of the offered requests that has to meet the objective
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.95")]
    pub share: f64,
    /// No lower rate is run
    #[arg(long, value_name = "R", value_parser = positive, default_value = "0.05")]
    pub lowest: f64,
    /// No higher rate is run
    #[arg(long, value_name = "R", value_parser = positive, default_value = "1000")]
    pub highest: f64,
    /// Half width of the rate's interval at which it is known well enough, relative
    #[arg(long, value_name = "PART", value_parser = share, default_value = "0.05")]
    pub precision: f64,
    /// Most runs of a search
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=200), default_value = "30")]
    pub runs: u32,
    /// Spreads of the lengths (standard deviation over mean), each with a search of its own
    #[arg(long, value_name = "CV,…", value_delimiter = ',', value_parser = not_negative)]
    pub length_cv: Vec<f64>,
    /// GPUs of the deployment, where it does not say
    #[arg(long, value_name = "N", value_parser = positive)]
    pub gpus: Option<f64>,
    /// Cost of a GPU for an hour
    #[arg(long, value_name = "COST", value_parser = positive)]
    pub cost_per_gpu_hour: Option<f64>,
    /// Say what it will take at most, and do nothing
    #[arg(long)]
    pub plan: bool,
}

fn number(text: &str, fits: impl Fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && fits(value) => Ok(value),
        _ => Err(format!("expected {expected}")),
    }
}

fn share(text: &str) -> Result<f64, String> {
    number(text, |value| value > 0.0 && value < 1.0, "a share between 0 and 1, as 0.95")
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, |value| value > 0.0, "a positive number")
}

fn not_negative(text: &str) -> Result<f64, String> {
    number(text, |value| (0.0..=10.0).contains(&value), "a number from 0 to 10")
}
