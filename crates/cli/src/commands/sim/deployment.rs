//! From arguments to a deployment and its faults.

use crate::args::{DeploymentArgs, EngineArg, FaultArgs};
use firstcheck_sim::{
    Deployment, EngineConfig,
    deployment::ScrapeMode,
    fault::{Fault, FaultError},
};

/// The healthy deployment.
///
/// # Errors
/// A `--set` that does not fit, or a deployment that would not start.
pub(in crate::commands) fn deployment(args: &DeploymentArgs) -> anyhow::Result<Deployment> {
    let mut deployment = match (args.prefill, args.decode) {
        (Some(prefill), Some(decode)) => Deployment::disaggregated(&engine(args), prefill, decode),
        _ => Deployment::uniform(engine(args), args.replicas),
    };
    deployment.routing.policy = args.router.into();
    if args.scrape_balanced {
        deployment.scrape = ScrapeMode::LoadBalanced;
    }
    for patch in &args.set {
        deployment.set(patch)?;
    }
    deployment.validate()?;
    Ok(deployment)
}

/// The faults.
///
/// # Errors
/// The first that there is not, or that is given what it does not take.
pub(in crate::commands) fn faults(args: &FaultArgs) -> Result<Vec<Fault>, FaultError> {
    args.fault.iter().map(|text| Fault::parse(text, args.severity.into())).collect()
}

fn engine(args: &DeploymentArgs) -> EngineConfig {
    let mut config = match args.engine {
        EngineArg::Vllm => EngineConfig::default(),
        EngineArg::Sglang => EngineConfig::sglang(),
    };
    if let Some(version) = &args.version {
        config.version.clone_from(version);
    }
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
