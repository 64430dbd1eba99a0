//! `firstcheck sim faults`.

use clap::{Args, ValueEnum};

/// List the faults that can be made to act
///
/// Each names the symptom that it brings about, the cause that the symptom's check should support, where it acts, and
/// its parameters with their values when mild, moderate and severe.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck sim faults
  firstcheck sim faults S15
  firstcheck sim faults --format json")]
pub struct FaultsArgs {
    /// Only those of this symptom, or of this name; shown with their parameters
    #[arg(value_name = "SYMPTOM or FAULT")]
    pub only: Option<String>,
    /// How the list is laid out
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    pub format: FaultFormat,
}

/// How the list of faults is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FaultFormat {
    // For a person
    Terminal,
    // For programs
    Json,
    // For documents
    Markdown,
}
