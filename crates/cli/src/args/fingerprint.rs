//! `firstcheck fingerprint`.

use super::OutputArgs;
use clap::Args;

/// Ask a deployment what it is, or two what differs
///
/// Reads /version, /v1/models, /server_info and /metrics of an address, or what a run bundle recorded of them. Secrets
/// are left out. Sends no request to the model.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck fingerprint http://127.0.0.1:8000
  firstcheck fingerprint runs/before http://127.0.0.1:8000

Exit codes: 0 answered · 2 failure")]
pub struct FingerprintArgs {
    /// Address, run bundle or result file
    #[arg(value_name = "A")]
    pub first: String,
    /// Another one: shows what differs
    #[arg(value_name = "B")]
    pub second: Option<String>,
    /// Environment variable that holds the key for both addresses
    #[arg(long, value_name = "NAME")]
    pub key_env: Option<String>,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}
