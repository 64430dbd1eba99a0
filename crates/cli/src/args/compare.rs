//! `firstcheck compare`.

use super::{OutputArgs, SeverityArg};
use clap::Args;
use firstcheck_experiment::calibration::FILE;
use firstcheck_model::slo::Slo;
use std::path::PathBuf;

/// Say whether the candidate is worse, by how much, how surely, and where the time went
///
/// A side is one or more runs: bundles of `firstcheck run`, folders of them, or result files of vllm bench serve, SGLang
/// bench, AIPerf, GuideLLM and inference-perf. Runs that were measured in pairs are compared in pairs; one run a side
/// shows effects and cannot pass. Gates and margins: the section `compare` of firstcheck.toml.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck compare --base old/ --candidate new/ --slo ttft=1s,itl=50ms
  firstcheck compare --base old.json --candidate new.json --format markdown
  firstcheck compare --base pairs/*-base --candidate pairs/*-candidate --policy firstcheck.toml
  firstcheck compare --base old/ --candidate new/ --add-case long-prompts

Exit codes: 0 pass · 1 a gate failed, or a finding at --fail-on · 2 failure · 3 cannot tell or not comparable")]
pub struct CompareArgs {
    /// Runs of what is known to be good
    #[arg(long, required = true, num_args = 1.., value_name = "RUN")]
    pub base: Vec<PathBuf>,
    /// Runs of what is in question
    #[arg(long, required = true, num_args = 1.., value_name = "RUN")]
    pub candidate: Vec<PathBuf>,
    /// Objective of goodput: ttft, itl (or tpot), e2e, gap
    #[arg(long, value_name = "SLO")]
    pub slo: Option<Slo>,
    /// File in which ab --aa has kept how much a deployment differs from itself
    #[arg(long, value_name = "FILE", default_value = FILE)]
    pub calibration: PathBuf,
    /// Keep the workload as a case of the gate: lengths, arrival times and what prompts share, no text; ab --config runs it
    #[arg(long, value_name = "NAME")]
    pub add_case: Option<String>,
    /// Folder of the cases
    #[arg(long, value_name = "DIR", default_value = "firstcheck-cases")]
    pub cases: PathBuf,
    /// Exit 1 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<SeverityArg>,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}
