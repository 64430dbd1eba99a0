//! `firstcheck diagnose`.

use super::{OutputArgs, SeverityArg};
use clap::Args;
use std::path::PathBuf;

/// Read everything that a deployment left, say what it is, and ask every check about it
///
/// Takes files and folders as they are: benchmark results, metrics pages with or without times, answers of endpoints,
/// logs, run bundles; compressed, in archives, or on standard input. What each is, its content tells. What cannot be read
/// is listed with its reason.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck diagnose incident/
  firstcheck diagnose metrics.txt.zst server.log bench.json
  kubectl logs vllm-0 | firstcheck diagnose -

Exit codes: 0 nothing found at --fail-on · 1 a finding at --fail-on · 2 failure · 3 nothing could be read")]
pub struct DiagnoseArgs {
    /// Files and folders, or `-` for standard input
    #[arg(required = true, num_args = 1.., value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// List the lines and series that were read and not understood
    #[arg(long, short)]
    pub verbose: bool,
    /// Exit 1 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<SeverityArg>,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}
