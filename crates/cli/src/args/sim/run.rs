//! `firstcheck sim run`.

use super::{DeploymentArgs, FaultArgs};
use crate::args::{WindowArgs, WorkloadArgs, value::*};
use clap::Args;
use firstcheck_model::slo::Slo;
use std::{path::PathBuf, time::Duration};

/// Simulate a run in virtual time: a workload, a deployment, and what goes wrong in it
///
/// Writes the bundle that a measured run would leave, and beside it, in a file of its own, what really happened: for
/// tests and for the curious, not for diagnosis. Equal arguments give equal bundles.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck sim run --rate 8 --duration 2m --out healthy
  firstcheck sim run --rate 8 --duration 2m --fault template-deploy@60s.. --out sick
  firstcheck sim run --replicas 8 --router prefix-aware --fault slow-replica:replica=3 --rate 40
  firstcheck sim run --engine sglang --workload mooncake:trace.jsonl --arrivals trace:0.5

Times of faults count from the run's start, its warm-up included")]
pub struct SimRunArgs {
    /// Which deployment.
    #[command(flatten)]
    pub deployment: DeploymentArgs,
    /// What goes wrong.
    #[command(flatten)]
    pub faults: FaultArgs,
    /// What is offered.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// How requests arrive.
    #[command(flatten)]
    pub arrivals: SimArrivalArgs,
    /// How long, and where it goes.
    #[command(flatten)]
    pub record: SimRecordArgs,
}

/// How requests arrive.
#[derive(Debug, Args)]
#[command(next_help_heading = "Arrivals")]
pub struct SimArrivalArgs {
    /// Open loop: requests (or sessions) a second [synthetic default: 4]
    #[arg(long, value_name = "R", conflicts_with = "concurrency")]
    pub rate: Option<f64>,
    /// Open loop: poisson, constant, gamma:CV, trace (the file's own times) or trace:SCALE [default: poisson]
    #[arg(long, value_name = "PROCESS", conflicts_with = "concurrency")]
    pub arrivals: Option<ArrivalsArg>,
    /// Closed loop: streams, each sending its next request when its last has ended
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub concurrency: Option<u32>,
}

/// How long, and where it goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Record")]
pub struct SimRecordArgs {
    /// How long.
    #[command(flatten)]
    pub window: WindowArgs,
    /// Folder for the bundle; without it ./firstcheck-sim, numbered where that is there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// File for what really happened; without it the bundle's folder with .truth.json behind its name
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// Objective of goodput: ttft, itl (or tpot), e2e, gap
    #[arg(long, value_name = "SLO")]
    pub slo: Option<Slo>,
    /// Time between two readings of the metrics pages
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5s")]
    pub scrape_interval: Duration,
    /// Keep no events, only each request's times: for runs of millions of requests
    #[arg(long)]
    pub no_events: bool,
}
