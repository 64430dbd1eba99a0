//! `firstcheck explain`.

use clap::Args;

/// What a check looks for and how it decides; without a code: all checks
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck explain
  firstcheck explain S15")]
pub struct ExplainArgs {
    /// Code or slug of a check
    #[arg(value_name = "CODE")]
    pub check: Option<String>,
}
