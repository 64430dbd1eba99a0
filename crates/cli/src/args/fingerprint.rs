//! `firstcheck fingerprint`.

use super::OutputArgs;
use clap::Args;

/// Say what a deployment is, or what differs between two
///
/// Of an address it reads /version, /v1/models, /server_info and /metrics, and sends no request to the model. Of a path
/// it takes whatever is there: a run, a result file, the engine's log, saved answers and pages, nvidia-smi's output, a
/// list of packages, the folder of a model, or a folder or archive with all of it. Each field says where it was read;
/// two sources that contradict each other are both shown. Secrets are left out.
///
/// With B: what differs, the most telling first. Each difference is `given` (somebody set it), `default changed`
/// (nobody did: the versions have different defaults), `environment` (hardware, driver, library) or `computed` (the
/// engine worked it out). What one side states alone is listed apart.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck fingerprint http://127.0.0.1:8000
  firstcheck fingerprint runs/before http://127.0.0.1:8000
  firstcheck fingerprint old-server.log new-server.log

Exit codes: 0 answered · 2 failure")]
pub struct FingerprintArgs {
    /// Address, or path of anything that says what a deployment is
    #[arg(value_name = "A")]
    pub first: String,
    /// Another one: shows what differs
    #[arg(value_name = "B")]
    pub second: Option<String>,
    /// Hash every byte of a model's weights, not only the layout of their tensors and their size: it reads them whole
    #[arg(long)]
    pub hash_weights: bool,
    /// Environment variable that holds the key for both addresses
    #[arg(long, value_name = "NAME")]
    pub key_env: Option<String>,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}
