//! From what NCCL says of its network.

use super::redact::{Place, state};
use crate::hang::NcclNetwork;
use firstcheck_model::fingerprint::{Fingerprint, Group, field};
use std::collections::BTreeSet;

/// What collectives run over, and the variables that say so.
pub fn from_nccl(network: &NcclNetwork, from: &str, into: &mut Fingerprint) {
    let place = Place { from, line: Some(network.line) };
    if let Some(version) = &network.version {
        state(into, Group::Software, "nccl_version", version, place);
    }
    if let Some(name) = &network.network {
        state(into, Group::Network, "nccl_network", name, place);
    }
    let joined = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    for (name, names) in [("nccl_devices", &network.devices), ("nccl_paths", &network.paths)] {
        state(into, Group::Network, name, &joined(names), place);
    }
    for (name, value) in &network.given {
        state(into, Group::Given, &format!("{}{}{name}", field::GIVEN, field::ENV), value, place);
    }
}
