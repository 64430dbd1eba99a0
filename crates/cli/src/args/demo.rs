//! `firstcheck demo`.

use super::OutputArgs;
use clap::Args;
use std::path::PathBuf;

/// Measure two simulated deployments, judge them and say why: needs nothing else
///
/// Base and candidate are simulated and differ in one thing. One live pair runs behind real HTTP (under a minute, shown
/// as it goes, kept out of the interval); pairs in virtual time then decide. Needs nothing but this program.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck demo
  firstcheck demo --fast --seed 7 --format json

Exit code: 0 unless the demonstration itself fails; the verdict is in the report")]
pub struct DemoArgs {
    /// Virtual time only: a few seconds, no live pair
    #[arg(long)]
    pub fast: bool,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Pairs in virtual time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub pairs: u32,
    /// Folder for the bundles; without it ./firstcheck-demo, numbered where that is there already
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}
