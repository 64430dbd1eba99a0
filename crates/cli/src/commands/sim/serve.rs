//! `firstcheck sim serve`.

use super::deployment::{deployment, faults};
use crate::{args::ServeArgs, output};
use anyhow::Context as _;
use firstcheck_model::exit_code::FINE;
use firstcheck_sim::serve::{ServeOptions, Server};

/// Serves until it is ended.
///
/// # Errors
/// A deployment that would not start, or an address that cannot be listened on.
pub(super) fn run(args: &ServeArgs) -> anyhow::Result<u8> {
    let deployment = deployment(&args.deployment)?;
    let faults = faults(&args.faults)?;
    let options = ServeOptions {
        addr: args.addr,
        seed: args.seed,
        time_scale: args.time_scale,
        healthy: args.faults.healthy,
        ..ServeOptions::default()
    };
    let server = Server::start_deployment(&deployment, &faults, options)
        .with_context(|| format!("cannot serve on {}", args.addr))?;
    output::print(&format!("listening on http://{}\n", server.addr()))?;
    server.wait()?;
    Ok(FINE)
}
