//! `firstcheck import`.

use super::OutputArgs;
use clap::Args;
use std::path::PathBuf;

/// Write result files of other tools as run bundles
///
/// What a format knows is kept; what it does not is marked as missing. Every other verb reads these files as they are:
/// import them to keep them, or to read them with pandas, Polars or DuckDB.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  firstcheck import results.json --out runs/

Reads: vllm bench serve, SGLang bench, AIPerf, GuideLLM, inference-perf")]
pub struct ImportArgs {
    /// Result files, or folders with a result and its metrics pages
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Folder for the bundles, one a run; created if it is not there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}
