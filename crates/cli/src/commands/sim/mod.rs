//! `firstcheck sim`: the simulated engine by itself.

pub(super) mod deployment;
mod faults;
pub(super) mod run;
mod serve;

use crate::{
    app::Context,
    args::{SimArgs, SimVerb},
};

/// Calls the verb below `sim`.
///
/// # Errors
/// Those of the verbs: a deployment that would not start, a fault that there is not, an address that cannot be listened
/// on, a bundle that cannot be written.
pub fn run(args: SimArgs, context: &Context) -> anyhow::Result<u8> {
    match args.verb {
        SimVerb::Run(args) => run::run(*args, context),
        SimVerb::Serve(args) => serve::run(&args),
        SimVerb::Faults(args) => faults::run(&args),
    }
}
