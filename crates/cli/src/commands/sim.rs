//! `firstcheck sim`: the simulated engine by itself.

use crate::{
    app::Context,
    args::{ServeArgs, SimArgs, SimVerb},
    output,
};
use anyhow::Context as _;
use firstcheck_model::exit_code::FINE;
use firstcheck_sim::{
    EngineConfig,
    serve::{ServeOptions, Server},
};

/// Calls the verb below `sim`.
///
/// # Errors
/// A configuration that the engine refuses, or an address that cannot be listened on.
pub fn run(args: SimArgs, context: &Context) -> anyhow::Result<u8> {
    match args.verb {
        SimVerb::Serve(args) => serve(args, context),
    }
}

fn serve(args: ServeArgs, _context: &Context) -> anyhow::Result<u8> {
    let config = config(&args);
    let options =
        ServeOptions { addr: args.addr, seed: args.seed, time_scale: args.time_scale, ..ServeOptions::default() };
    let server = Server::start(config, options).with_context(|| format!("cannot serve on {}", args.addr))?;
    output::print(&format!("listening on http://{}\n", server.addr()))?;
    server.wait()?;
    Ok(FINE)
}

fn config(args: &ServeArgs) -> EngineConfig {
    let mut config = EngineConfig::default();
    if let Some(model) = &args.model {
        config.model_name.clone_from(model);
    }
    let set = |to: &mut u32, value: Option<u32>| *to = value.unwrap_or(*to);
    set(&mut config.num_gpu_blocks, args.blocks);
    set(&mut config.block_size, args.block_size);
    set(&mut config.max_num_seqs, args.max_num_seqs);
    set(&mut config.max_num_batched_tokens, args.max_num_batched_tokens);
    set(&mut config.max_model_len, args.max_model_len);
    config.enable_prefix_caching &= !args.no_prefix_caching;
    config
}
