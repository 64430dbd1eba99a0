//! Whether all deployments answer, asked before the first run: a dead one is not to cost the runs of the others.

use crate::{error::Error, plan::Plan, target::Target};
use firstcheck_model::{fingerprint::field, run::Role};

/// Asks every deployment that is not started here, on each device.
///
/// # Errors
/// The first that does not answer, or serves no model that could be asked for.
pub(super) fn all_answer(arms: &[Target], plan: &Plan) -> Result<(), Error> {
    let devices: Vec<Option<&str>> = match plan.devices.is_empty() {
        true => vec![None],
        false => plan.devices.iter().map(|device| Some(device.as_str())).collect(),
    };
    for (arm, target) in arms.iter().enumerate() {
        let Some(server) = target.server().filter(|server| server.hooks.is_none()) else { continue };
        for device in &devices {
            let there = server.on(*device)?.target;
            let name = name(arm, plan);
            let identity = firstcheck_load::identify(&there)
                .map_err(|source| Error::NoAnswer { name: name.clone(), source: Box::new(source) })?;
            if there.model.is_none() && identity.fingerprint.get(field::MODEL).is_none() {
                return Err(Error::NoModel { name, address: there.address.to_string() });
            }
        }
    }
    Ok(())
}

/// What the user calls an arm: base or candidate in a pair, its own name among several.
fn name(arm: usize, plan: &Plan) -> String {
    let role = if arm == 0 { Role::Base } else { Role::Candidate };
    plan.arms.get(arm).cloned().unwrap_or_else(|| role.name().into())
}
