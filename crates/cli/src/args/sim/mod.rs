//! `firstcheck sim`.

mod deployment;
mod faults;
mod run;
mod serve;
mod target;

pub use deployment::{DeploymentArgs, EngineArg, FaultArgs};
pub use faults::{FaultFormat, FaultsArgs};
pub use run::{SimArrivalArgs, SimRecordArgs, SimRunArgs};
pub use serve::ServeArgs;
pub use target::SimTargetArgs;

use clap::{Args, Subcommand};

/// The simulated engine by itself
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct SimArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub verb: SimVerb,
}

/// What to do with the simulated engine.
#[derive(Debug, Subcommand)]
pub enum SimVerb {
    Run(Box<SimRunArgs>),
    Serve(Box<ServeArgs>),
    Faults(FaultsArgs),
}
