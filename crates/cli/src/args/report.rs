//! `firstcheck report`.

use super::{OutputArgs, SeverityArg};
use clap::Args;
use firstcheck_model::slo::Slo;
use std::path::PathBuf;

/// Lay out a JSON report again, or describe a run
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck report comparison.json --format markdown
  firstcheck report comparison.json --redact --output shared.md
  firstcheck report runs/today --slo ttft=1s,itl=50ms

Exit codes: those of the verb that made the report")]
pub struct ReportArgs {
    /// A JSON report, a run bundle, or a result file of another tool
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Objective of goodput, for a run
    #[arg(long, value_name = "SLO")]
    pub slo: Option<Slo>,
    /// Take out what identifies whose it is: hosts, addresses, paths, models, users, and texts of requests
    #[arg(long)]
    pub redact: bool,
    /// Exit 1 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<SeverityArg>,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}
