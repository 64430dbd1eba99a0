//! A simulated deployment in one argument: `sim:FAULT … OPTIONS`.

use super::{
    DeploymentArgs,
    deployment::{FaultArgs, SeverityOfFault},
};
use clap::Parser;

/// What stands behind `sim:`.
#[derive(Debug, Clone, Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_version_flag = true)]
pub struct SimTargetArgs {
    /// Fault to let act
    #[arg(value_name = "FAULT")]
    fault: Vec<String>,
    /// How bad faults are that do not say so themselves
    #[arg(long, value_name = "SEVERITY", default_value = "moderate")]
    severity: SeverityOfFault,
    /// Which deployment.
    #[command(flatten)]
    pub deployment: DeploymentArgs,
}

impl SimTargetArgs {
    /// Reads words as `sim run` reads its arguments; one without dashes is a fault.
    ///
    /// # Errors
    /// What clap says, in one line.
    pub fn parse_words(words: &str) -> Result<Self, String> {
        Self::try_parse_from(words.split_whitespace()).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            format!("{}; behind sim: stand faults and options of sim run", first.trim_start_matches("error: "))
        })
    }

    /// What goes wrong.
    pub fn faults(&self) -> FaultArgs {
        FaultArgs { fault: self.fault.clone(), severity: self.severity, healthy: false }
    }
}
