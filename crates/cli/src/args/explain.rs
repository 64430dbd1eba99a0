//! `firstcheck explain`.

use clap::{Args, ValueEnum};

/// What a check looks for and how it decides; without a code: all checks
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck explain
  firstcheck explain S15
  firstcheck explain \"streams freeze\"
  firstcheck explain --format json")]
pub struct ExplainArgs {
    /// Code or name of a check, or a symptom in your own words
    #[arg(value_name = "CODE")]
    pub check: Option<String>,
    /// How it is laid out
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    pub format: ExplainFormat,
}

/// How checks are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    // For a person
    Terminal,
    // For programs
    Json,
    // For documents
    Markdown,
}
